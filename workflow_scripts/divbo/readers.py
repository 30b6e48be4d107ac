"""What lies below ``results/``, read back: one reader and one schema for each kind of file.

A reader returns what the file holds, or raises :class:`divbo.files.Unusable` with one line that
names the file, what is wrong with it and how it is made again. Keys and columns that are not named
here are left as they are: other versions of the project may know them.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from divbo import files
from divbo.files import Unusable

if TYPE_CHECKING:
    import pyarrow as pa

    from divbo.data import normalise

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[FiniteFloat, Field(ge=0)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]

#: Columns of the tables, by kind of value; see docs/architecture.md.
OBSERVATIONS = {
    "iteration": "int64",
    "status": "string",
    "error": "double",
    "suggest_seconds": "double",
    "fit_seconds": "double",
    "cpu_seconds": "double",
    "predict_seconds": "double",
    "memory_mb": "double",
    "error_type": "string",
    "message": "string",
    "why": "string",
    "config.algorithm": "string",
}
SCORES = {
    "iteration": "int64",
    "validation_error": "double",
    "test_error": "double",
    "members": "int64",
    "cost": "double",
}
MEMBERS = {"iteration": "int64", "member": "int64", "weight": "double"}
QUALITY = {
    "observations": "int64",
    "protocol": "string",
    "pairs": "int64",
    **dict.fromkeys(
        ("tau", "within_1", "within_2", "absolute_error", "spread",
         "fit_cpu_seconds", "predict_cpu_seconds"), "double"),
}  # fmt: skip


class _Stored(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class Limits(_Stored):
    """Limits of one evaluation."""

    seconds: Amount
    memory_mb: Amount


class Figures(_Stored):
    """The largest figures of evaluations; see :func:`divbo.limits.peaks`."""

    cpu_seconds: Amount
    fit_seconds: Amount
    memory_mb: Amount


class Budget(_Stored):
    """Of a search."""

    evaluations: Count | None = None
    seconds: Amount | None = None


class Data(_Stored):
    """What a fingerprint says of the data."""

    data: str


class Search(_Stored):
    """``search.json``."""

    dataset: str
    search: str
    repeat: Count
    seed: Count
    settings: dict[str, Any]
    space: str
    limits: Limits
    evaluations: Count
    best_error: Share | None
    status: dict[str, Count]
    fingerprint: Data
    commit: str | None
    dirty: bool | None
    versions: dict[str, str]
    machine: dict[str, str | int | None]
    started: str
    finished: str
    wall_seconds: Amount
    suggest_seconds: Amount
    cpu_seconds: Amount
    # What older versions of the project did not write.
    threads: Count = 1
    budget: Budget = Budget()
    rest_seconds: Amount | None = None
    peaks: dict[str, Figures] = {}
    same_with: Limits | None = None
    files: dict[str, str] = {}


class Progress(_Stored):
    """``progress.json``."""

    evaluations: Count
    unit: Literal["evaluations", "seconds"]
    done: Amount
    failed: Count
    seconds: Amount
    best_error: Share | None
    updated: Amount = 0.0


class Classes(_Stored):
    """Rows of each part by class."""

    train: dict[str, Count]
    validation: dict[str, Count]
    test: dict[str, Count]


class Split(_Stored):
    """``split.json``."""

    checksum: str
    classes: Classes


class Ensemble(_Stored):
    """``ensemble.json``."""

    settings: dict[str, Any]
    search: dict[str, str]


class Dataset(_Stored):
    """``dataset.json``."""

    name: str
    source: dict[str, Any]
    version: int | None
    md5: str | None
    checksum: str
    rows: Count
    features: Count
    target: str
    columns: dict[str, str]
    classes: dict[str, Count]
    # What older versions of the project did not write.
    asked: dict[str, str] = {}
    left_out: dict[str, str] = {}
    prepared: Count = 0
    notes: list[str] = []


class AutoGluon(_Stored):
    """``scores.json`` of AutoGluon."""

    status: str
    reason: str = ""
    validation_error: Share | None = None
    test_error: Share | None = None

    @model_validator(mode="after")
    def _errors_if_ok(self):
        if self.status == "ok" and None in (self.validation_error, self.test_error):
            raise ValueError("status is 'ok', but an error is missing")
        return self


def fitting(model: type[BaseModel], content: Any, path: Path, remedy: str = "") -> Any:
    """Return ``content`` if it fits a schema.

    Raises
    ------
    Unusable
        Naming the first key that does not.
    """
    try:
        model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise Unusable(path, f"{key}: {first['msg']}" if key else first["msg"], remedy) from None
    return content


def _json(path: Path, model: type[BaseModel], remedy: str = "") -> dict[str, Any]:
    return fitting(model, files.read_json(path, remedy), path, remedy)


def search(folder: Path) -> dict[str, Any]:
    """Read the ``search.json`` of a finished search."""
    return _json(folder / "search.json", Search)


def split(folder: Path) -> dict[str, Any]:
    """Read ``split.json``."""
    return _json(folder / "split.json", Split)


def ensemble(folder: Path) -> dict[str, Any]:
    """Read ``ensemble.json``."""
    return _json(folder / "ensemble.json", Ensemble)


def described(folder: Path) -> dict[str, Any]:
    """Read ``dataset.json``."""
    return _json(folder / "dataset.json", Dataset)


def dataset(folder: Path) -> "tuple[normalise.Stored, dict[str, Any]]":
    """Read a fetched data set: ``dataset.parquet``, with the values that ``dataset.json`` names.

    Raises
    ------
    Unusable
        Also if the values are others.
    """
    from divbo.data import normalise

    description = described(folder)
    path = folder / "dataset.parquet"
    stored = normalise.Stored(path)
    with files.reading(path):
        if normalise.checksum(stored, description["columns"]) != description["checksum"]:
            raise ValueError("it does not hold the values that dataset.json was written for")
    return stored, description


def progress(folder: Path) -> dict[str, Any]:
    """Read the ``progress.json`` of a search that may be running."""
    path = folder / "progress.json"
    remedy = f"remove '{path}': the search's next evaluation writes it again"
    return _json(path, Progress, remedy)


def autogluon(folder: Path) -> dict[str, Any]:
    """Read the ``scores.json`` of AutoGluon."""
    return _json(folder / "scores.json", AutoGluon)


def observations(
    folder: Path, names: Iterable[str], others: str | None = None, rows: int | None = None
) -> "pa.Table":
    """Read columns of the ``observations.parquet`` of a search.

    Parameters
    ----------
    names
        Of :data:`OBSERVATIONS`; ``iteration`` is read in any case.
    others
        As in :func:`divbo.files.read_parquet`.
    rows
        Number of its evaluations, where it is known.
    """
    path = folder / "observations.parquet"
    wanted = {name: OBSERVATIONS[name] for name in ("iteration", *names)}
    table = files.read_parquet(path, wanted, others)
    _counts(path, table["iteration"])
    if rows not in (None, table.num_rows):
        raise Unusable(path, f"it has {table.num_rows} rows, but search.json {rows} evaluations")
    if {"status", "error"} <= wanted.keys():
        from divbo.history import OK, STATUSES  # which imports the libraries of spaces

        statuses = table["status"].to_pylist()
        if unknown := set(statuses) - set(STATUSES):
            raise Unusable(path, f"column 'status' holds {min(map(repr, unknown))}")
        errors = _numbers(table["error"])
        ok = np.array([status == OK for status in statuses], dtype=bool)
        if not _shares(errors[ok]) or not np.isnan(errors[~ok]).all():
            raise Unusable(path, "column 'error' must be a share where 'status' is ok, else empty")
    return table


def predictions(folder: Path, part: str, rows: int) -> np.ndarray:
    """Map the predictions of a search's ``rows`` evaluations: float32, of three dimensions."""
    path = folder / f"predictions-{part}.npy"
    array = files.read_npy(path, map_only=True)
    if array.ndim != 3 or array.dtype != np.float32 or len(array) != rows:
        raise Unusable(
            path, f"it holds {array.dtype} {array.shape}, not float32 ({rows}, rows, columns)"
        )
    return array


def scores(folder: Path) -> tuple["pa.Table", dict[str, Any] | None]:
    """Read the ``scores.parquet`` of an ensemble, and its settings (None: older files)."""
    path = folder / "scores.parquet"
    files.check(folder / "ensemble.json", [path.name])
    table = files.read_parquet(path, SCORES)
    _counts(path, table["iteration"])
    for name in ("validation_error", "test_error"):
        errors = _numbers(table[name])
        if not _shares(errors[~np.isnan(errors)]):
            raise Unusable(path, f"column '{name}' holds something else than shares")
    return table, _settings(path, table, "divbo.settings")


def members(folder: Path) -> "pa.Table":
    """Read the ``members.parquet`` of an ensemble."""
    path = folder / "members.parquet"
    files.check(folder / "ensemble.json", [path.name])
    table = files.read_parquet(path, MEMBERS)
    iterations, found, weights = (_numbers(table[name]) for name in MEMBERS)
    if not ((found >= 1) & (found <= iterations) & (weights > 0)).all():
        raise Unusable(path, "an ensemble has members of its iterations with positive weights only")
    return table


def quality(folder: Path) -> tuple["pa.Table", dict[str, Any]]:
    """Read the ``quality.parquet`` of a surrogate, and the task that it was made for."""
    path = folder / "quality.parquet"
    table = files.read_parquet(path, QUALITY)
    if (task := _settings(path, table, "divbo.task")) is None:
        raise Unusable(path, "its metadata do not say what it was made for")
    return table, task


def _settings(path: Path, table: "pa.Table", key: str) -> dict[str, Any] | None:
    """Read JSON in the metadata of a table."""
    text = (table.schema.metadata or {}).get(key.encode())
    if text is None:
        return None
    with files.reading(path):
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError(f"its metadata '{key}' are no mapping")
    return content


def _counts(path: Path, iterations: "pa.ChunkedArray") -> None:
    n = len(iterations)
    if iterations.to_pylist() != list(range(1, n + 1)):
        raise Unusable(path, f"column 'iteration' must count 1, 2, ... {n}")


def _numbers(column: "pa.ChunkedArray") -> np.ndarray:
    return np.array(column.to_pylist(), dtype=float)  # None becomes NaN; pandas is not imported


def _shares(values: np.ndarray) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())
