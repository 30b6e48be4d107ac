"""Tables of evaluated configurations, and an evaluator that looks up instead of fitting.

A table belongs to one data set and split. It is a folder with the files of a finished search,
``observations.parquet`` and ``predictions-*.npy`` (one row per configuration and fidelity), but
with the manifest ``table.json``.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import field_validator

from ensemble_search.evaluation import table_checks
from ensemble_search.evaluation.base import Evaluation
from ensemble_search.evaluation.table_checks import REMEDY
from ensemble_search.problems import tasks
from ensemble_search.problems.base import Problem
from ensemble_search.runtime import files, plugins, schema, shares
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import Unusable
from ensemble_search.runtime.names import CONFIGURATION, OBSERVATIONS, OK, PARTS, PREDICTIONS, TABLE
from ensemble_search.runtime.schema import Amount, Count, Stored

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "table.json"
FILES = (OBSERVATIONS, *PREDICTIONS)
#: Columns of ``observations.parquet`` that are read.
COLUMNS = {
    "status": "string",
    "error": "double",
    "fit_seconds": "double",
    "cpu_seconds": "double",
    "predict_seconds": "double",
    "memory_mb": "double",
    "fidelity": "double",
    "error_type": "string",
    "message": "string",
}


class Manifest(Stored):
    """``table.json``."""

    dataset: str
    space: str
    metric: str = "error"  # not written by older versions of the project
    data: str
    limits: dict[str, Amount]
    threads: Count
    versions: dict[str, str]
    entries: Count
    status: dict[str, Count]
    fit_seconds: Amount
    files: dict[str, str]

    @field_validator("metric")
    @classmethod
    def _known(cls, metric: str) -> str:
        plugins.checked("metrics", metric)
        return metric

    @field_validator("files")
    @classmethod
    def _all(cls, sums: dict[str, str]) -> dict[str, str]:
        if missing := [name for name in FILES if name not in sums]:
            raise ValueError(f"has no sha256 of '{missing[0]}'")
        if more := [name for name in sums if name not in FILES]:
            raise ValueError(f"names '{more[0]}', which is not a file of a table")
        return sums


@dataclass(frozen=True, eq=False)
class Table:
    """Evaluated configurations of one data set and split; see the module."""

    folder: Path  #: folder of the table
    manifest: dict[str, Any]  #: content of ``table.json``
    configurations: list[dict[str, Any]]  #: active hyperparameters by name, one mapping per entry
    columns: dict[str, list]  #: the columns :data:`COLUMNS`, one value per entry
    #: Stored predictions, float32, of shape (n_entries, n_samples, n_columns), memory-mapped.
    validation: np.ndarray
    test: np.ndarray

    @classmethod
    def read(cls, folder: Path) -> "Table":
        """Read a table and check everything except its losses; see :meth:`check_losses`.

        Raises Unusable if a file is missing, damaged or not the one that ``table.json`` was written
        with, or if its content is impossible (``evaluation.table_checks``).
        """
        about = manifest(folder)
        check(folder)
        path = folder / OBSERVATIONS
        try:
            needed = {"iteration": "int64", **COLUMNS}
            found = files.read_parquet(path, needed, CONFIGURATION, rows=about["entries"])
            arrays = [mapped(folder, part, found.num_rows) for part in PARTS]
        except Unusable as error:  # the remedy differs from that for results
            raise Unusable(error.path, error.reason, REMEDY) from None
        columns = {name: found[name].to_pylist() for name in COLUMNS}
        table_checks.check_numbers(path, found["iteration"].to_pylist())
        table_checks.check_columns(path, columns)
        if arrays[0].shape[2] != arrays[1].shape[2]:
            said = f"it has {arrays[1].shape[2]} columns, '{PREDICTIONS[0]}' {arrays[0].shape[2]}"
            raise Unusable(folder / PREDICTIONS[1], f"{said}; must be alike", REMEDY)
        task = tasks.problem(about.get("metric", "error")).task
        for name, array in zip(PREDICTIONS, arrays, strict=True):
            table_checks.check_predictions(folder / name, array, columns["status"], task)
        table = cls(folder, about, configurations(found), columns, *arrays)
        table_checks.check_unique(path, table.keys)
        table_checks.check_counts(folder / MANIFEST, about, columns)
        return table

    @property
    def keys(self) -> list[tuple[frozenset, float]]:
        """The :func:`key` of every entry."""
        return list(map(key, self.configurations, self.columns["fidelity"]))

    @cached_property
    def rows(self) -> dict[tuple[frozenset, float], int]:
        """Position of every entry, by its :func:`key`."""
        return {entry: row for row, entry in enumerate(self.keys)}

    @property
    def whole(self) -> list[dict[str, Any]]:
        """Configurations evaluated on all training rows."""
        return self.at([1.0])

    def at(self, fidelities: Collection[float]) -> list[dict[str, Any]]:
        """Return the configurations evaluated at each of these fidelities, in order."""
        first, *others = fidelities
        return [
            values
            for values, fidelity in zip(self.configurations, self.columns["fidelity"], strict=True)
            if fidelity == first and all(key(values, other) in self.rows for other in others)
        ]

    @property
    def description(self) -> dict[str, Any]:
        """Description of the table for the ``search.json`` of a search in it."""
        return {
            "folder": self.folder.as_posix(),
            "checksum": checksum(self.manifest),
            "entries": len(self.whole),
        }

    def check(
        self,
        space: str,
        data: str,
        limits: Mapping[str, float],
        shapes: tuple[tuple[int, int], tuple[int, int]],
    ) -> None:
        """Check that the evaluations match a search.

        ``data`` is the checksum of its split's arrays; ``shapes`` are those, (n_samples,
        n_columns), of its stored validation and test predictions. Raises UserError if space, split
        or limits differ, with one line that names the differences.
        """
        same = self.manifest["data"] == data
        differ = [] if same else ["data, split or seed are others"]
        differ += unlike(self.manifest, space, limits)
        found = self.validation.shape[1:], self.test.shape[1:]
        if not differ and found != shapes:
            differ.append(f"predictions are of shapes {found}, the split's {shapes}")
        if differ:
            raise UserError(f"the table '{self.folder}' is not of this study: {'; '.join(differ)}")

    def check_space(self, make: Callable[[Sequence[Mapping[str, Any]]], Any]) -> None:
        """Check that all configurations belong to the space with this method ``configurations``.

        Raises Unusable with the first row that does not.
        """
        table_checks.check_space(self.folder / OBSERVATIONS, self.configurations, make)

    @cached_property
    def _compared(self) -> set[bytes]:
        """Labels for which the losses have been checked."""
        return set()

    def check_losses(self, labels: np.ndarray) -> None:
        """Check that the errors are the losses of the predictions, once per set of labels.

        ``labels`` are the validation labels of the split, of shape (n_validation,). Raises Unusable
        with the first row whose error is not its loss.
        """
        if labels.tobytes() in self._compared:
            return
        if len(labels) != self.validation.shape[1]:
            said = f"it has {self.validation.shape[1]} validation rows, the split {len(labels)}"
            raise Unusable(self.folder / PREDICTIONS[0], said, REMEDY)
        path, problem = (
            self.folder / OBSERVATIONS,
            tasks.problem(self.manifest.get("metric", "error")),
        )
        table_checks.check_losses(path, self.columns, self.validation, labels, problem)
        self._compared.add(labels.tobytes())

    def check_classes(self, number: int) -> None:
        """Check that predictions have this number of classes (0: regression).

        Raises Unusable if they have a different number of columns.
        """
        columns = tasks.problem(self.manifest.get("metric", "error")).columns(number)
        if self.validation.shape[2] != columns:
            said = f"it has {self.validation.shape[2]} columns, the classes need {columns}"
            raise Unusable(self.folder / PREDICTIONS[0], said, REMEDY)

    def row(self, values: Mapping[str, Any], fidelity: float) -> int:
        """Return the position of an evaluation.

        Raises UserError if it is not in the table.
        """
        row = self.rows.get(key(values, fidelity))
        if row is not None:
            return row
        known = sorted({f for v, f in self.rows if v == frozenset(values.items())})
        if known:
            raise UserError(
                f"the table '{self.folder}' has a configuration at fidelity "
                f"{shares.names(known)} only, and the optimizer asks for {shares.name(fidelity)}; "
                "choose another optimizer, or make a table with that fidelity (tables.fidelities)"
            )
        raise UserError(f"the table '{self.folder}' has no configuration {dict(values)}")


def manifest(folder: Path) -> dict[str, Any]:
    """Read the ``table.json`` of a table."""
    return schema.read_json(folder / MANIFEST, Manifest, REMEDY)


def glance(folder: Path) -> dict[str, Any]:
    """Read the ``table.json`` of a table, and check that its other files exist and are complete.

    The result also has ``fidelities``, the number of configurations at each fidelity, and
    ``usable``, the number that succeeded on all training rows. Raises Unusable with the first file
    that is missing or damaged; :func:`check` detects changed bytes.
    """
    about = manifest(folder)
    try:
        names = ("fidelity", "status")
        own = {name: COLUMNS[name] for name in names}
        found = files.read_parquet(folder / OBSERVATIONS, own, rows=about["entries"])
        for part in PARTS:
            mapped(folder, part, about["entries"])
    except Unusable as error:
        raise Unusable(error.path, error.reason, REMEDY) from None
    fidelities, statuses = (found[name].to_pylist() for name in names)
    usable = list(zip(fidelities, statuses, strict=True)).count((1.0, OK))
    return {**about, "fidelities": Counter(fidelities), "usable": usable}


def check(folder: Path) -> None:
    """If the folder is a table, compare its files with the checksums in its ``table.json``."""
    if (folder / MANIFEST).exists():
        manifest(folder)
        files.check(folder / MANIFEST, FILES, REMEDY)


def unlike(there: Mapping[str, Any], space: str, limits: Mapping[str, float]) -> list[str]:
    """List the differences between a table's manifest and a study."""
    lines = []
    if there["space"] != space:
        lines.append(f"space is '{there['space']}', the study's '{space}'")
    for name, limit in limits.items():
        if (found := there["limits"].get(name)) != limit:
            lines.append(f"limits.{name} is {found}, the study's {limit}")
    return lines


def checksum(manifest: Mapping[str, Any]) -> str:
    """Digest of a table's content, computed from the checksums of its files."""
    return files.digest(manifest["files"])


def mapped(folder: Path, part: str, rows: int, failed: np.ndarray | None = None) -> np.ndarray:
    """Memory-map the predictions of the ``rows`` evaluations of a search or table, read-only.

    float32, of shape (rows, n_samples, n_columns). ``failed`` marks the evaluations of a search
    that failed, bool, of shape (rows,): their predictions are set to NaN, as in tables.
    """
    path = folder / f"predictions-{part}.npy"
    array = files.read_npy(path, map_only=True)
    if array.ndim != 3 or array.dtype != np.float32 or len(array) != rows:
        raise Unusable(
            path, f"it holds {array.dtype} {array.shape}, not float32 ({rows}, rows, columns)"
        )
    if failed is not None:
        array[failed] = np.nan
    array.flags.writeable = False
    return array


def configurations(observations: "pa.Table") -> list[dict[str, Any]]:
    """Return the active hyperparameters, by name, of every row of observations.

    Its columns :data:`CONFIGURATION` must have been read with ``files.read_parquet``.
    """
    names = [name for name in observations.column_names if name.startswith(CONFIGURATION)]
    return [
        {name.removeprefix(CONFIGURATION): v for name, v in row.items() if v is not None}
        for row in observations.select(names).to_pylist()
    ]


def key(values: Mapping[str, Any], fidelity: float) -> tuple[frozenset, float]:
    """Identify an evaluation by its configuration and fidelity."""
    return frozenset(values.items()), fidelity


class TableEvaluator:
    """Look up evaluations in a table; an ``Evaluator``."""

    def __init__(self, table: Table, problem: Problem):
        self._table, self._problem = table, problem

    def __enter__(self) -> "TableEvaluator":
        return self

    def __exit__(self, *_) -> None:
        pass

    def cancel(self) -> None:
        """Do nothing, because lookups take no time."""

    def has(self, values: Mapping[str, Any], fidelity: float) -> bool:
        """Whether the table contains an evaluation."""
        return key(values, fidelity) in self._table.rows

    def evaluate(self, values: Mapping[str, Any], fidelity: float = 1.0) -> Evaluation:
        """Return the measurements from when the configuration was evaluated.

        Raises UserError if the table has no such entry.
        """
        row = self._table.row(values, fidelity)
        measured = {name: column[row] for name, column in self._table.columns.items()}
        del measured["fidelity"], measured["error"]  # the loss follows from the predictions
        measured["origin"] = TABLE
        if measured["status"] != OK:
            return Evaluation(**measured | {"predict_seconds": None}, validation=None, test=None)
        measured |= {"error_type": None, "message": None}
        stored = (self._table.validation[row], self._table.test[row])
        validation, test = (
            self._problem.expand(np.array(array, dtype=np.float32)) for array in stored
        )
        return Evaluation(**measured, validation=validation, test=test)
