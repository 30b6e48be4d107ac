"""Evaluations shared between searches: one search fits, the others look up the result."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.evaluation import table as tables
from ensemble_search.evaluation.base import Evaluation, Evaluator, EvaluatorError
from ensemble_search.problems.base import Problem
from ensemble_search.runtime import files, locks, schema
from ensemble_search.runtime.files import Missing, Unusable
from ensemble_search.runtime.names import OK, PARTS, SHARED, Status
from ensemble_search.runtime.schema import Amount, Stored


class About(Stored):
    """The text in the file of an evaluation."""

    configuration: dict[str, Any]
    fidelity: Amount
    status: Status
    fit_seconds: Amount
    cpu_seconds: Amount
    predict_seconds: Amount | None
    memory_mb: Amount
    error_type: str | None
    message: str | None


class Store:
    """Evaluations on one split under the same conditions, one file each.

    Those of a folder have the same fingerprint (data, space, limits, threads, versions, code).
    ``shapes`` are those, (n_samples, n_columns), of the stored validation and test predictions.
    ``check`` is called before an evaluation is stored; if it raises, the evaluation is not stored.
    """

    def __init__(
        self,
        folder: Path,
        problem: Problem,
        shapes: tuple[tuple[int, int], tuple[int, int]],
        check: Callable[[], None] = lambda: None,
    ):
        self.folder, self._problem, self._shapes, self._check = folder, problem, shapes, check

    def path(self, values: Mapping[str, Any], fidelity: float) -> Path:
        """File of an evaluation, named after the digest of configuration and fidelity."""
        name = files.digest({"configuration": dict(values), "fidelity": float(fidelity)})
        return self.folder / f"{name}.npz"

    def read(self, values: Mapping[str, Any], fidelity: float) -> Evaluation | None:
        """Return a stored evaluation; None if it is missing or, with a note, if it is damaged."""
        path = self.path(values, fidelity)
        try:
            return self._read(path, dict(values), fidelity)
        except Missing:
            return None
        except Unusable as error:
            print(f"'{path}' is damaged ({error.reason}): fits again", file=sys.stderr)
            return None

    def _read(self, path: Path, values: dict[str, Any], fidelity: float) -> Evaluation:
        text = files.read_npz(path, ["about"])["about"].tobytes()
        with files.reading(path):
            about = schema.fitting(About, json.loads(text), path)
            if (about.pop("configuration"), about.pop("fidelity")) != (values, fidelity):
                raise ValueError("it is of another configuration")
            arrays: dict[str, Any] = dict.fromkeys(PARTS)
            if about["status"] == OK:
                stored = files.read_npz(path, PARTS)
                for array, shape in zip(stored.values(), self._shapes, strict=True):
                    if array.dtype != np.float32 or array.shape != shape:
                        raise ValueError(f"it holds {array.dtype} {array.shape}, not {shape}")
                arrays = {part: self._problem.expand(array) for part, array in stored.items()}
            return Evaluation(**about, **arrays, origin=SHARED)

    def write(self, values: Mapping[str, Any], fidelity: float, evaluation: Evaluation) -> None:
        """Store an evaluation."""
        about = {"configuration": dict(values), "fidelity": float(fidelity), **vars(evaluation)}
        del about["origin"]
        arrays = {part: about.pop(part) for part in PARTS}
        arrays = {part: self._problem.compress(a) for part, a in arrays.items() if a is not None}
        text = np.frombuffer(json.dumps(about, allow_nan=False).encode(), dtype=np.uint8)
        self._check()
        with files.atomic(self.path(values, fidelity)) as temporary:
            np.savez(temporary, allow_pickle=False, about=text, **arrays)


class SharedEvaluator:
    """Look up evaluations in a table and a store; fit those in neither; an ``Evaluator``.

    The table has evaluations under the same conditions; fitted evaluations are added to the store.
    If another search is fitting a configuration, wait for its result, but at most ``patience``
    seconds.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        store: Store,
        patience: float,
        table: tables.TableEvaluator | None = None,
    ):
        self._evaluator, self._store, self._table = evaluator, store, table
        self._patience, self._cancelled = patience, False

    def __enter__(self) -> "SharedEvaluator":
        self._evaluator.__enter__()
        return self

    def __exit__(self, *exception) -> None:
        self._evaluator.__exit__(*exception)

    def cancel(self) -> None:
        """See :meth:`Evaluator.cancel`."""
        self._cancelled = True
        self._evaluator.cancel()

    def _check_cancelled(self) -> None:
        if self._cancelled:
            raise EvaluatorError("the evaluation was cancelled")

    def evaluate(self, values: Mapping[str, Any], fidelity: float = 1.0) -> Evaluation:
        """Return the measurements from when the configuration was fitted; see ``Evaluator``."""
        if self._table and self._table.has(values, fidelity):
            return self._table.evaluate(values, fidelity)
        lock = self._store.path(values, fidelity).with_suffix(".lock")
        with locks.turn(lock, self._patience, self._check_cancelled):
            found = self._store.read(values, fidelity)
            if found is None:
                found = self._evaluator.evaluate(values, fidelity)
                self._store.write(values, fidelity, found)
        return found
