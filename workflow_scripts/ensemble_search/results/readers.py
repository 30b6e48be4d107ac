"""Readers of the files below ``results/``: one reader and one schema per kind of file.

A reader returns the content, or raises ``Unusable`` with one line that names the file, the problem
and how to recompute it. Unknown keys and columns are ignored: other versions of the project may use
them.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from ensemble_search.data import fetched
from ensemble_search.evaluation import table as tables
from ensemble_search.evaluation.table_checks import REMEDY
from ensemble_search.runtime import files, schema
from ensemble_search.runtime.errors import one_line
from ensemble_search.runtime.files import Missing, Unusable
from ensemble_search.runtime.names import GIVEN, OK, STATUSES
from ensemble_search.runtime.names import OBSERVATIONS as OBSERVATIONS_FILE
from ensemble_search.runtime.schema import Amount, Count, Share, Stored
from ensemble_search.search.budget import Unit
from ensemble_search.search.limits import Limits

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: Maximum characters of the reason of a failure.
LONGEST_REASON = 150
#: Columns of the tables, by type; see docs/architecture.md.
OBSERVATIONS = {
    "iteration": "int64",
    "error": "double",
    "suggest_seconds": "double",
    "why": "string",
    **tables.COLUMNS,
}
SCORES = {
    "iteration": "int64",
    "validation_error": "double",
    "test_error": "double",
    "members": "int64",
    "predict_seconds": "double",
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
SPREAD = {
    "size": "int64",
    "sample": "int64",
    **dict.fromkeys(("discrepancy", "centre", "origin"), "double"),
}
DIVISIONS = {
    "ensemble": "string",
    "division": "int64",
    "validation_error": "double",
    "test_error": "double",
}


class Budget(Stored):
    """Budget of a search."""

    evaluations: Count | None = None
    fits: Count | None = None
    seconds: Amount | None = None
    cpu_seconds: Amount | None = None


class Data(Stored):
    """Data in a fingerprint."""

    data: str


class Table(Stored):
    """Table that a search was replayed on."""

    folder: str
    checksum: str
    entries: Count


class Search(Stored):
    """``search.json``."""

    dataset: str
    search: str
    repeat: Count
    seed: Count
    settings: dict[str, Any]
    space: str
    metric: str
    limits: Limits
    threads: Count
    budget: Budget
    evaluations: Count
    best_error: Amount | None
    status: dict[str, Count]
    origin: dict[str, Count] = Field(default_factory=dict)  # older versions did not store it
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
    rest_seconds: Amount
    table: Table | None = None
    files: dict[str, str] = Field(default_factory=dict)


class Progress(Stored):
    """``progress.json``."""

    evaluations: Count
    unit: Unit
    done: Amount
    failed: Count
    seconds: Amount
    best_error: Amount | None
    updated: Amount = 0.0


class Automl(Stored):
    """``automl.json``, from `make ensemble`."""

    study: dict[str, Any]
    searched: Amount
    data: str = ""  # older versions of the project did not store it


class Classes(Stored):
    """Number of rows per part and class."""

    train: dict[str, Count]
    validation: dict[str, Count]
    test: dict[str, Count]


class Weights(Stored):
    """Sums of the rows' weights per part and class."""

    train: dict[str, Amount]
    validation: dict[str, Amount]
    test: dict[str, Amount]


class Scale(Stored):
    """How the target of a regression is standardised, and the mean square of the test labels."""

    mean: float
    std: float
    test_square: float = float("nan")  # older versions of the project did not store it


class Split(Stored):
    """``split.json``."""

    checksum: str
    classes: Classes
    sizes: dict[str, Count] = Field(default_factory=dict)
    target: Scale | None = None
    # Older versions of the project did not store these.
    weights: Weights | None = None  # in classification, if rows have weights
    source_checksum: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)


class Diversity(Stored):
    """How different the members of an ensemble are."""

    iteration: Count
    validation: dict[str, FiniteFloat | None]
    test: dict[str, FiniteFloat | None]


class Ensemble(Stored):
    """``ensemble.json``."""

    settings: dict[str, Any]
    search: dict[str, str]
    # Older versions of the project did not store these.
    diversity: Diversity | None = None
    failed_refits: list[Count] = Field(default_factory=list)
    iterations_with_failed_refits: int = Field(0, ge=0)


class AutoGluon(Stored):
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


def search(folder: Path, of: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read the ``search.json`` of a finished search.

    ``of`` has expected values of ``dataset``, ``search``, ``repeat`` (default: any); others mean
    that the folder was moved, or two were swapped, and also raise ``Unusable``.
    """
    path = folder / "search.json"
    manifest = schema.read_json(path, Search)
    if other := {key: value for key, value in (of or {}).items() if manifest[key] != value}:
        said = "; ".join(f"{key} is {manifest[key]!r}, not {other[key]!r}" for key in other)
        raise Unusable(path, f"it is of another search: {said}")
    return manifest


def given(manifest: Mapping[str, Any]) -> int:
    """Return how many evaluations were given to a search; they come first in its files."""
    origin = manifest.get("origin")  # older versions did not store it
    return origin.get(GIVEN, 0) if isinstance(origin, dict) else 0


def checked_search(
    folder: Path, of: Mapping[str, Any] | None = None, data: str | None = None
) -> dict[str, Any]:
    """Read ``search.json``; compare the files of the search, and of its table, with checksums.

    ``of`` is as in :func:`search`, ``data`` the checksum of the split that it must have used
    (default: any).
    """
    files.check(folder / "search.json")
    manifest = search(folder, of)
    if data not in (None, manifest["fingerprint"]["data"]):
        raise Unusable(folder / "search.json", "it is of another split, or of other data")
    if table := manifest.get("table"):
        tables.check(Path(table["folder"]))
    return manifest


def split(folder: Path) -> dict[str, Any]:
    """Read ``split.json``."""
    return schema.read_json(folder / "split.json", Split)


def checked_split(folder: Path, data: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Read ``split.json``; it must be of the data set in ``data``, if that exists, by ``settings``.

    Otherwise, its folder was moved, or two were swapped, which also raises ``Unusable``.
    """
    found = split(folder)
    if (data / "dataset.json").exists():
        rows = fetched.description(data)["checksum"]
        if found.get("source_checksum", rows) != rows:
            raise Unusable(folder / "split.json", f"it is not a split of the data in '{data}'")
    if found.get("settings", settings) != settings:
        raise Unusable(folder / "split.json", "it was drawn by other settings, or another seed")
    return found


def ensemble(folder: Path) -> dict[str, Any]:
    """Read ``ensemble.json``."""
    return schema.read_json(folder / "ensemble.json", Ensemble)


def progress(folder: Path) -> dict[str, Any]:
    """Read the ``progress.json`` of a search that may be running."""
    path = folder / "progress.json"
    remedy = f"remove '{path}': the search's next evaluation writes it again"
    return schema.read_json(path, Progress, remedy)


def automl(folder: Path) -> dict[str, Any]:
    """Read the ``automl.json`` of the results of `make ensemble`."""
    path = folder / "automl.json"
    remedy = f"remove '{path}': the search continues, for all of its minutes"
    return schema.read_json(path, Automl, remedy)


def autogluon(folder: Path) -> dict[str, Any]:
    """Read the ``scores.json`` of AutoGluon."""
    return schema.read_json(folder / "scores.json", AutoGluon)


def observations(
    folder: Path, names: Iterable[str], others: str | None = None, rows: int | None = None
) -> "pa.Table":
    """Read ``iteration`` and columns of the ``observations.parquet`` of a search.

    ``names`` are among :data:`OBSERVATIONS`, ``others`` is as in ``files.read_parquet``, and
    ``rows`` is the number of its evaluations, if known.
    """
    path = folder / OBSERVATIONS_FILE
    wanted = {name: OBSERVATIONS[name] for name in ("iteration", *names)}
    # Older versions of the project fitted on all training rows.
    table = files.read_parquet(path, wanted, others, defaults={"fidelity": 1.0})
    _counts(path, table["iteration"])
    if rows not in (None, table.num_rows):
        raise Unusable(path, f"it has {table.num_rows} rows, but search.json {rows} evaluations")
    if {"status", "error"} <= wanted.keys():
        statuses = table["status"].to_pylist()
        if unknown := set(statuses) - set(STATUSES):
            raise Unusable(path, f"column 'status' holds {min(map(repr, unknown))}")
        errors = _numbers(table["error"])
        ok = np.array([status == OK for status in statuses], dtype=bool)
        if not _losses(errors[ok]) or not np.isnan(errors[~ok]).all():
            raise Unusable(path, "column 'error' must be a loss where 'status' is ok, else empty")
    return table


def failures(folder: Path) -> str:
    """Describe how many evaluations failed, and why, most frequent first; empty if none did."""
    found = observations(folder, ("status", "error_type", "message")).to_pylist()
    failed = [
        (row["error_type"] or row["status"], row["message"] or "")
        for row in found
        if row["status"] != OK
    ]
    whys = Counter(_cut(one_line(": ".join(why))) for why in failed)
    said = [f"{count} × {why}" for why, count in whys.most_common(3)]
    said += ["other reasons"] * (len(whys) > len(said))
    return f"{len(failed)} of {len(found)} pipelines failed: {'; '.join(said)}" * bool(failed)


def _cut(why: str) -> str:
    return why if len(why) <= LONGEST_REASON else f"{why[: LONGEST_REASON - 1].rstrip()}…"


def predictions(folder: Path, part: str, rows: int) -> np.ndarray:
    """Read the predictions of a search's ``rows`` evaluations: float32, three-dimensional.

    They are memory-mapped, or copied from the table that the search was replayed on. Predictions of
    failed evaluations are NaN.
    """
    path = folder / OBSERVATIONS_FILE
    if (table := search(folder).get("table")) is None:
        failed = np.isnan(_numbers(files.read_parquet(path, {"error": "double"})["error"]))
        if len(failed) != rows:
            raise Unusable(path, f"it has {len(failed)} rows, not {rows}")
        return tables.mapped(folder, part, rows, failed)
    entries = files.read_parquet(path, {"entry": "int64"})["entry"].to_numpy()
    source = Path(table["folder"])
    about = tables.manifest(source)
    if tables.checksum(about) != table["checksum"]:
        raise Unusable(path, f"the table '{source}' is another than it was")
    try:
        stored = tables.mapped(source, part, about["entries"])
    except Unusable as error:  # the study may not be able to make it again
        raise Unusable(error.path, error.reason, REMEDY) from None
    if len(entries) != rows or not ((entries >= 0) & (entries < len(stored))).all():
        raise Unusable(path, f"column 'entry' must hold {rows} entries of '{source}'")
    return stored[entries].astype(np.float32, copy=False)


def scores(folder: Path) -> tuple["pa.Table", dict[str, Any] | None]:
    """Read the ``scores.parquet`` of an ensemble, and its settings (None: older files)."""
    path = folder / "scores.parquet"
    files.check(folder / "ensemble.json", [path.name])
    table = _with_errors(path, SCORES)
    _counts(path, table["iteration"])
    return table, _settings(path, table, "ensemble_search.settings")


def members(folder: Path) -> "pa.Table":
    """Read the ``members.parquet`` of an ensemble."""
    path = folder / "members.parquet"
    files.check(folder / "ensemble.json", [path.name])
    table = files.read_parquet(path, MEMBERS)
    iterations, found, weights = (_numbers(table[name]) for name in MEMBERS)
    if not ((found >= 1) & (found <= iterations) & (weights > 0)).all():
        raise Unusable(path, "an ensemble has members of its iterations with positive weights only")
    return table


def losses(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the ``losses.npz`` of an ensemble: its losses on individual test samples.

    Returns the iterations at which the ensemble changed, int64, ascending, of shape (n_changes,);
    and the losses, of shape (n_changes, n_test): bool (True: wrong label) if all are 0 or 1, else
    float32; of shape (n_changes, 0) if the metric has no losses of individual samples.
    """
    path = folder / "losses.npz"
    files.check(folder / "ensemble.json", [path.name])
    arrays = files.read_npz(path, ["iterations", "samples", "losses"])
    iterations, samples, stored = arrays.values()
    if iterations.dtype != np.int64 or iterations.ndim != 1 or samples.dtype != np.int64:
        raise Unusable(path, "'iterations' and 'samples' must be integers")
    if samples.ndim or samples < 0 or not (np.diff(iterations, prepend=0) > 0).all():
        raise Unusable(path, "'iterations' must ascend from 1 on, and 'samples' be a number")
    bits = stored.dtype == np.uint8
    shape = len(iterations), -(-int(samples) // 8) if bits else int(samples)
    if stored.shape != shape or not (bits or stored.dtype == np.float32):
        raise Unusable(path, f"'losses' holds {stored.dtype} {stored.shape}, not {shape}")
    if bits:
        return iterations, np.unpackbits(stored, axis=1, count=int(samples)).view(bool)
    if not _losses(stored):
        raise Unusable(path, "'losses' holds something else than losses")
    return iterations, stored


def quality(folder: Path) -> tuple["pa.Table", dict[str, Any]]:
    """Read the ``quality.parquet`` of a surrogate, and its job."""
    path = folder / "quality.parquet"
    table = files.read_parquet(path, QUALITY)
    return table, _job(path, table)


def spread(folder: Path) -> tuple["pa.Table", dict[str, Any]]:
    """Read the ``spread.parquet`` of a sampler of designs, and its job."""
    path = folder / "spread.parquet"
    table = files.read_parquet(path, SPREAD)
    sizes, _, *measures = (_numbers(table[name]) for name in SPREAD)
    if not (sizes >= 1).all() or not all(((m >= 0) & (m <= 1)).all() for m in measures):
        raise Unusable(path, "sizes must be at least 1, and measures from 0 to 1")
    return table, _job(path, table)


def divisions(folder: Path) -> tuple["pa.Table", dict[str, Any]]:
    """Read the ``divisions.parquet`` of a search, and its job."""
    path = folder / "divisions.parquet"
    table = _with_errors(path, DIVISIONS)
    return table, _job(path, table)


def of_jobs(
    read: Callable[[Path], tuple["pa.Table", dict[str, Any]]],
    results: Path,
    pattern: str,
    jobs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
    columns: Sequence[str],
) -> tuple["pd.DataFrame", list[str]]:
    """Read the tables of jobs, with :func:`quality`, :func:`spread` or :func:`divisions`.

    ``pattern`` is the path of a table in the study's folder ``results``, with names of fields in
    braces; ``jobs`` has, per job, the fields, and the expected job by key. Returns the rows of all
    finished jobs, with the fields as additional columns, or none with these ``columns``; and the
    tables that do not exist or belong to another job, with the reason.
    """
    import pandas as pd

    tables, missing = [], []
    for fields, asked in jobs:
        file = pattern.format(**fields)
        try:
            table, job = read((results / file).parent)
        except Missing:
            missing.append(f"{file}: not there")
            continue
        if changed := other(job, asked):
            missing.append(f"{file}: made with other settings ({', '.join(changed)})")
        else:
            tables.append(table.to_pandas().assign(**fields))
    if not tables:
        return pd.DataFrame(columns=columns), missing
    return pd.concat(tables, ignore_index=True), missing


def other(job: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """List the keys whose values differ between a stored job and the one ``asked`` for."""
    return [key for key, value in asked.items() if job.get(key) != value]


def _with_errors(path: Path, columns: Mapping[str, str]) -> "pa.Table":
    """Read a table with validation and test errors; these may be missing, but must be losses."""
    table = files.read_parquet(path, columns)
    for name in ("validation_error", "test_error"):
        errors = _numbers(table[name])
        if not _losses(errors[~np.isnan(errors)]):
            raise Unusable(path, f"column '{name}' holds something else than losses")
    return table


def _job(path: Path, table: "pa.Table") -> dict[str, Any]:
    if (job := _settings(path, table, "ensemble_search.job")) is None:
        raise Unusable(path, "its metadata do not say what it was made for")
    return job


def _settings(path: Path, table: "pa.Table", key: str) -> dict[str, Any] | None:
    """Read JSON in the metadata of a table."""
    if (text := (table.schema.metadata or {}).get(key.encode())) is None:
        return None
    with files.reading(path):
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError(f"its metadata '{key}' are not a mapping")
    return content


def _counts(path: Path, iterations: "pa.ChunkedArray") -> None:
    n = len(iterations)
    if iterations.to_pylist() != list(range(1, n + 1)):
        raise Unusable(path, f"column 'iteration' must count 1, 2, ... {n}")


def _numbers(column: "pa.ChunkedArray") -> np.ndarray:
    return np.array(column.to_pylist(), dtype=float)  # None becomes NaN; pandas is not imported


def _losses(values: np.ndarray) -> bool:
    return bool(((values >= 0) & np.isfinite(values)).all())
