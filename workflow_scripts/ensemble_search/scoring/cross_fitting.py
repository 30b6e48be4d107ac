"""Cross-fitting of a search's pipelines on the training rows, for ensembles that are fitted.

The worker sees a fold as a split: it fits the other training rows, uses the fold as validation
rows, and uses validation and test rows together as test rows. For a bag, the fold is everything
outside the bag. Limits, failures and predictions therefore work as in the search.

Every fold has a journal, to which each fit is written before the next one starts, so that a killed
job can be resumed. A change of data, folds, limits or code starts a new journal.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ensemble_search.data.split import Inputs, load_inputs
from ensemble_search.ensembles.base import Pool, Refit
from ensemble_search.evaluation import live
from ensemble_search.evaluation import table as tables
from ensemble_search.evaluation.base import EvaluatorError, MakeEvaluator
from ensemble_search.problems.tasks import PROBLEMS
from ensemble_search.results import readers
from ensemble_search.runtime import locks, plugins
from ensemble_search.runtime.code_version import Guard, code_version
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import atomic
from ensemble_search.runtime.names import CONFIGURATION, OK
from ensemble_search.search import fingerprint
from ensemble_search.search.journal import Journal, Record


@dataclass(frozen=True)
class Refitting:
    """Settings for refitting pipelines."""

    space: str  #: name of the space
    limits: Mapping[str, float]  #: ``seconds`` and ``memory_mb`` of a fit; see ``LiveEvaluator``
    threads: int  #: threads of the learners
    folder: Path  #: folder of the folds' journals; created if missing
    make_evaluator: MakeEvaluator = live.make  #: creates the evaluators; default: worker processes

    @property
    def modules(self) -> list[str]:
        """Modules whose code determines a fit's predictions."""
        return [plugins.module_name("spaces", self.space), "ensemble_search.evaluation.live"]

    def enable(self, pool: Pool, search: Path, split: Path) -> Pool:
        """Add ``refit`` and the training rows to the pool of a finished search.

        If validation uses folds, the search's predictions are used and nothing is fitted.
        """
        inputs = load_inputs(split / "inputs.npz")
        if inputs.folds.size:
            return self._from_folds(pool, search, inputs)
        table = readers.observations(search, [], others=CONFIGURATION)
        configurations = tables.configurations(table)

        def refit(indices: Sequence[int], held: Sequence[np.ndarray]) -> list[Refit | None]:
            wanted = {_key(configurations[i]): configurations[i] for i in indices}
            fitted = self.fit(wanted, inputs, held)
            found = [fitted[_key(configurations[i])] for i in indices]
            if failed := [str(i + 1) for i, own in zip(indices, found, strict=True) if own is None]:
                print(
                    f"not refitted: evaluations {', '.join(failed)}. Stacks omit them; bags are "
                    "replaced by the pipeline itself",
                    file=sys.stderr,
                )
            return found

        return replace(pool, refit=refit, train_inputs=inputs.X_train, train_labels=inputs.y_train)

    @staticmethod
    def _from_folds(pool: Pool, search: Path, inputs: Inputs) -> Pool:
        """Use the search's own folds as refits."""
        own, seconds = pool.predictions, pool.predict_seconds
        test = readers.predictions(search, "test", len(own))

        def refit(indices: Sequence[int], held: Sequence[np.ndarray]) -> list[Refit | None]:
            assert seconds is not None
            return [Refit(own[i], own[i], test[i], float(seconds[i])) for i in indices]

        return replace(pool, refit=refit, train_labels=inputs.y_train, folds=inputs.folds)

    def fit(
        self, wanted: Mapping[str, dict[str, Any]], inputs: Inputs, rows: Sequence[np.ndarray]
    ) -> dict[str, Refit | None]:
        """Fit every configuration once per set of held-out rows, until its first failure.

        Raises UserError if the memory limit is too low for the worker, or it does not start; if
        another job is writing a journal, or it cannot be written; if the code changes during the
        run.
        """
        guard = Guard(*self.modules)
        found: dict[str, list[Record]] = {key: [] for key in wanted}
        for number, held in enumerate(rows):
            left = {k: wanted[k] for k, records in found.items() if len(records) == number}
            fold = fold_inputs(inputs, held)
            labels = inputs.y_train[held]
            title = f"refit {number + 1} of {len(rows)}"
            records = self._fit_fold(number, title, fold, labels, left, guard.check)
            for key, record in records.items():
                if record.status == OK:
                    found[key].append(record)
                else:
                    reason = record.message or record.error_type
                    print(f"{title}: {record.status} of {key}: {reason}", file=sys.stderr)
        return {
            key: _merged(records, rows, inputs) if len(records) == len(rows) else None
            for key, records in found.items()
        }

    def _fit_fold(
        self,
        number: int,
        title: str,
        inputs: Inputs,
        labels: np.ndarray,
        wanted: Mapping[str, dict[str, Any]],
        check: Callable[[], None],
    ) -> dict[str, Record]:
        conditions = fingerprint.conditions(
            self.space,
            self.limits,
            inputs.checksum(),
            self.threads,
            plugins.load("spaces", self.space).libraries,
        )
        identity = {**conditions, "code": code_version(*self.modules)}
        folder = self.folder / f"fold-{number}-{fingerprint.short(identity)}"
        columns = PROBLEMS[inputs.task].columns(inputs.n_outputs)
        shapes = (len(inputs.X_validation), columns), (len(inputs.X_test), columns)
        with Journal(folder, identity, shapes, locks.WAIT in os.environ) as journal:
            known = {_key(record.configuration) for record in journal.records}
            if missing := [values for key, values in wanted.items() if key not in known]:
                print(f"{title}: {len(missing)} of {len(wanted)} pipelines to fit", file=sys.stderr)
                for record in self._evaluated(missing, inputs, labels, folder / "inputs.npz"):
                    check()
                    journal.append(record)
            done = {_key(record.configuration): record for record in journal.records}
        return {key: done[key] for key in wanted}

    def _evaluated(
        self, configurations: list[dict[str, Any]], inputs: Inputs, labels: np.ndarray, file: Path
    ) -> Iterable[Record]:
        """Evaluate configurations on inputs that are written to the temporary ``file``."""
        try:
            with atomic(file) as temporary:
                np.savez(temporary, allow_pickle=False, **vars(inputs))
            evaluator = self.make_evaluator(self.space, file, self.limits, self.threads)
            with evaluator, threadpool_limits(1):
                for values in configurations:
                    found = evaluator.evaluate(values)
                    yield Record.of(values, found, labels, PROBLEMS[inputs.task])
        except EvaluatorError as error:
            raise UserError(str(error)) from error
        finally:
            file.unlink(missing_ok=True)


def fold_inputs(inputs: Inputs, held: np.ndarray) -> Inputs:
    """Make the split of a fold, which fits all training rows except those held out.

    It contains no labels of predicted rows.
    """
    left = np.delete(np.arange(len(inputs.y_train)), held)
    return replace(
        inputs,
        X_train=inputs.X_train[left],
        y_train=inputs.y_train[left],
        X_validation=inputs.X_train[held],
        y_validation=inputs.y_validation[:0],
        X_test=np.concatenate([inputs.X_validation, inputs.X_test]),
    )


def _merged(records: list[Record], rows: Sequence[np.ndarray], inputs: Inputs) -> Refit:
    """Merge the records of a configuration, one per fold, in order."""
    found = [(r.validation, r.test, r.predict_seconds) for r in records]
    whole = [(v, t, s) for v, t, s in found if v is not None and t is not None and s is not None]
    sums = np.zeros((len(inputs.y_train), whole[0][0].shape[1]))
    models = np.zeros((len(sums), 1))
    seconds = 0.0
    for held, (validation, test, took) in zip(rows, whole, strict=True):
        sums[held] += validation
        models[held] += 1
        seconds += took * len(test) / (len(test) + len(held))
    mean = np.asarray(np.mean([test for _, test, _ in whole], axis=0, dtype=np.float64))
    mean = mean.astype(np.float32)
    n = len(inputs.y_validation)
    with np.errstate(invalid="ignore"):
        out_of_fold = (sums / models).astype(np.float32)
    return Refit(out_of_fold, mean[:n], mean[n:], seconds)


def _key(configuration: Mapping[str, Any]) -> str:
    return json.dumps(configuration, sort_keys=True)
