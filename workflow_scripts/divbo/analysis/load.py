"""Read what exists of a study below its results folder, and list what does not."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from divbo.analysis import outdated
from divbo.errors import of_machine

if TYPE_CHECKING:
    from divbo.analysis.ranks import Comparison

SCORES = ("iteration", "validation_error", "test_error", "members", "cost")
OBSERVATIONS = (
    "iteration",
    "status",
    "error",
    "suggest_seconds",
    "fit_seconds",
    "cpu_seconds",
    "error_type",
    "message",
)
ALGORITHM = "config.algorithm"
SETTINGS = b"divbo.settings"  # metadata of scores.parquet


@dataclass(frozen=True)
class Results:
    """What a study has produced so far, as tidy frames.

    Attributes
    ----------
    study
        The study: names, settings.
    scores
        One row per method, data set, repeat and iteration: ``validation_error`` and ``test_error``
        of the ensemble built after that iteration (fractions; NaN before the first success), and
        ``members`` and ``cost`` (seconds in which they predict validation and test rows). Only
        runs that have reached the budget, made with the study's settings. With a budget in seconds
        shorter runs repeat their last row until the longest one's end.
    observations
        One row an evaluation: ``dataset``, ``search``, ``repeat``, ``iteration``, ``status``,
        ``error``, seconds, ``error_type``, ``message``, ``algorithm``.
    manifests
        One row a search with what ``search.json`` holds (dictionaries stay dictionaries).
    datasets
        One row a data set: ``rows`` of its three parts, ``classes``, ``majority_error``: test error
        of always predicting the most frequent training class. NaN where ``split.json`` is missing.
    missing
        One row a file that is not usable: ``stage``, ``dataset``, ``search``, ``ensemble``,
        ``repeat``, ``file`` (below the results folder), ``reason``.
    expected
        How many files of each stage the study consists of.
    folder
        The study's results folder.
    """

    study: dict[str, Any]
    scores: pd.DataFrame
    observations: pd.DataFrame
    manifests: pd.DataFrame
    datasets: pd.DataFrame
    missing: pd.DataFrame
    expected: dict[str, int]
    folder: Path
    _read: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order of the study."""
        return list(self.study["methods"])

    @property
    def reference(self) -> str:
        """The method that the others are compared with."""
        named = (self.study.get("report") or {}).get("reference")
        return named or ("DivBO" if "DivBO" in self.methods else self.methods[-1])

    @cached_property
    def compared(self) -> "Comparison":
        """The runs that all compared methods have finished."""
        from divbo.analysis import ranks

        return ranks.comparison(self.scores, self.methods)

    @property
    def resampled(self) -> bool:
        """Whether every repeat has a split of its own."""
        return (self.study.get("split") or {}).get("resample", "never") != "never"

    def random_errors(self) -> dict[str, np.ndarray]:
        """Read the validation errors of the random configurations that surrogates are judged on.

        Returns
        -------
        errors
            By data set, those that could be fitted; without data sets that have none.
        """
        found = {}
        for dataset in self.study["datasets"] if self.study.get("surrogates") else []:
            path = self.folder / "configurations" / dataset / "observations.parquet"
            try:
                errors = self._once(partial(pd.read_parquet, columns=["error"]), path)["error"]
            except Absent:
                continue
            found[dataset] = errors.dropna().to_numpy(float)
        return found

    def predictions(self, dataset: str, search: str, repeat: int, part: str) -> np.ndarray:
        """Map the stored class probabilities of a search from their file.

        Parameters
        ----------
        dataset, search, repeat
            The search.
        part
            ``validation`` or ``test``.

        Returns
        -------
        predictions
            float32, of shape (n_evaluations, n_samples, n_columns) with one column for two
            classes; row t belongs to iteration t + 1; NaN for failed evaluations; read-only.

        Raises
        ------
        Absent
            If the file is not there or cannot be read.
        """
        folder = search_folder(self.study, self.folder, dataset, search, repeat)
        return self._once(
            partial(np.load, mmap_mode="r", allow_pickle=False),
            folder / f"predictions-{part}.npy",
        )

    def members(self, dataset: str, search: str, ensemble: str, repeat: int) -> pd.DataFrame:
        """Read the members of an ensemble at every iteration at which it changed.

        Returns
        -------
        members
            Columns ``iteration``, ``member`` (iteration of the evaluation) and ``weight``.

        Raises
        ------
        Absent
            If the file is not there or cannot be read.
        """
        folder = self.folder / "ensembles" / dataset / search / ensemble / str(repeat)
        return self._once(pd.read_parquet, folder / "members.parquet")

    def diversities(
        self, dataset: str, search: str, repeat: int, rows: list[int], columns: list[int]
    ) -> np.ndarray:
        """Diversity of evaluations on the validation part (DivBO paper, Eq. 3).

        Parameters
        ----------
        dataset, search, repeat
            The search.
        rows, columns
            Iterations (from 1) of evaluations.

        Returns
        -------
        diversities
            In [0, 1], of shape (len(rows), len(columns)); NaN where an evaluation failed.

        Raises
        ------
        Absent
            If the predictions are not there or cannot be read.
        """
        predictions = self.predictions(dataset, search, repeat, "validation")
        return diversities(predictions, np.asarray(rows, int) - 1, np.asarray(columns, int) - 1)

    def _once(self, read, path: Path):
        """Read a file at its first use."""
        if path not in self._read:
            if not path.is_file():
                raise Absent("not there")
            try:
                self._read[path] = read(path)
            except (OSError, ValueError, EOFError, pa.ArrowException) as error:
                if of_machine(error):
                    raise
                raise Absent(f"unreadable: {type(error).__name__}") from error
        return self._read[path]


class Absent(Exception):
    """A file that cannot be used, with the reason."""


def search_folder(
    study: Mapping[str, Any], results: Path, dataset: str, search: str, repeat: int
) -> Path:
    """Return the folder of a search: the study's own, or that of the study it is shared with.

    See :func:`home`.
    """
    folder = home(study, results, dataset, search, repeat) / "searches"
    return folder / dataset / search / str(repeat)


def home(study: Mapping[str, Any], results: Path, dataset: str, search: str, repeat: int) -> Path:
    """Return the results folder of the study that a search, and its split, belong to.

    ``homes`` of the study says which searches it shares with the study that it extends, and how
    many repeats that one has: ``{search: {dataset: {"study": name, "repeats": n}}}``.
    """
    shared = study.get("homes", {}).get(search, {}).get(dataset)
    if shared and repeat < shared["repeats"]:
        return results.parent / shared["study"]
    return results


def diversities(predictions: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Diversity of every pair (row, column) of stored predictions (DivBO paper, Eq. 3).

    Mean over the samples of the Euclidean distance of two probability vectors, over sqrt(2); for
    two classes, stored as one column, that is the mean absolute difference.

    Parameters
    ----------
    predictions
        Of shape (n, n_samples, n_columns).
    rows, columns
        Positions among the n.

    Returns
    -------
    diversities
        float64, of shape (len(rows), len(columns)).
    """
    result = np.empty((len(rows), len(columns)))
    others = np.asarray(predictions[columns])
    for place, row in enumerate(rows):
        difference = others - predictions[row]
        if difference.shape[-1] == 1:
            result[place] = np.abs(difference[..., 0]).mean(axis=1, dtype=float)
        else:
            distance = np.sqrt(np.square(difference).sum(axis=-1))
            result[place] = distance.mean(axis=1, dtype=float) / np.sqrt(2)
    return result


def load(study: Mapping[str, Any], results: Path) -> Results:
    """Read everything a study has below ``results``; whatever is missing is listed, not refused.

    Parameters
    ----------
    study
        ``study``, ``datasets``, ``searches``, ``ensembles``, ``methods``, ``repeats``, ``budget``.
    results
        Folder of the study, ``results/<study>``.
    """
    study = dict(study)
    study["datasets"] = list(study["datasets"])
    results = Path(results)
    missing: list[dict[str, Any]] = []
    expected = dict.fromkeys(("split", "search", "ensemble"), 0)

    def attempt(read, path: Path, **where):
        expected[where["stage"]] += 1
        try:
            if not path.is_file():
                raise Absent("not there")
            return read(path)
        except Absent as error:
            reason = str(error)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            if of_machine(error):
                raise
            reason = f"unreadable: {type(error).__name__}"
        file = Path(os.path.relpath(path, results)).as_posix()
        missing.append({**where, "file": file, "reason": reason})
        return None

    datasets = _datasets(study, results, attempt)
    observations, manifests = _searches(study, results, attempt)
    scores = _scores(study, results, attempt, manifests)
    columns = ["stage", "dataset", "search", "ensemble", "repeat", "file", "reason"]
    lost = pd.DataFrame(missing, columns=columns)
    lost["repeat"] = lost["repeat"].astype("Int64")
    return Results(study, scores, observations, manifests, datasets, lost, expected, results)


def _datasets(study: dict[str, Any], results: Path, attempt) -> pd.DataFrame:
    resample = (study.get("split") or {}).get("resample", "never") != "never"
    repeats = range(study["repeats"]) if resample else [None]
    rows = []
    for dataset in study["datasets"]:
        found = []
        for repeat in repeats:
            name = "fixed" if repeat is None else f"repeat-{repeat}"
            folder = home(study, results, dataset, _used(study, "search")[0], repeat or 0)
            file = folder / "splits" / dataset / name / "split.json"
            where = {"stage": "split", "dataset": dataset, "repeat": repeat}
            summary = attempt(lambda path: split_summary(_json(path)), file, **where)
            found += [summary] if summary else []
        mean = pd.DataFrame(found).mean(numeric_only=True) if found else {}
        rows.append({"dataset": dataset, **mean})
    columns = ["dataset", "train", "validation", "test", "classes", "majority_error"]
    return pd.DataFrame(rows).reindex(columns=columns)


def split_summary(split: Mapping[str, Any]) -> dict[str, float]:
    """Sizes of the parts, classes, and majority-class error on the test part of a split."""
    table = pd.DataFrame(split["classes"])[["train", "validation", "test"]]
    rows = table.sum()
    majority = table["train"].to_numpy().argmax()
    error = 1 - table["test"].iloc[majority] / rows["test"]
    return {**rows, "classes": len(table), "majority_error": error}


def _searches(study: dict[str, Any], results: Path, attempt) -> tuple[pd.DataFrame, pd.DataFrame]:
    budget = study["budget"].get("evaluations")  # None, if it is in seconds: whole runs
    tables, manifests = [], []
    for dataset in study["datasets"]:
        for search in _used(study, "search"):
            for repeat in range(study["repeats"]):
                where = {"dataset": dataset, "search": search, "repeat": repeat}
                folder = search_folder(study, results, dataset, search, repeat)
                manifest = attempt(
                    partial(_manifest, study, search),
                    folder / "search.json",
                    stage="search",
                    **where,
                )
                read = _observations if manifest else _of_no_search
                frame = attempt(read, folder / "observations.parquet", stage="search", **where)
                if frame is not None:
                    frame = frame.slice(0, budget)
                    tables.append(_tagged(frame, where))
                if manifest is not None:
                    manifests.append({**manifest, **where})
    columns = ["dataset", "search", "repeat", *OBSERVATIONS, "algorithm"]
    return _joined(tables, columns), pd.DataFrame(manifests)


def _manifest(study: dict[str, Any], search: str, path: Path) -> dict[str, Any]:
    manifest = _json(path)
    if reason := outdated.search(manifest, study, search):
        raise Absent(reason)
    return manifest


def _of_no_search(path: Path) -> None:
    raise Absent("its search is not usable")


def _scores(study: dict[str, Any], results: Path, attempt, manifests: pd.DataFrame) -> pd.DataFrame:
    whole = study["budget"].get("evaluations")
    columns = ["dataset", "search", "repeat", "evaluations"]
    rows = manifests.reindex(columns=columns).itertuples(index=False, name=None)
    usable = {tuple(key): evaluations for *key, evaluations in rows}

    def read(ensemble: str, budget: int, path: Path) -> pa.Table:
        table = pq.read_table(path, columns=list(SCORES), partitioning=None)
        written = (table.schema.metadata or {}).get(SETTINGS)  # older files do not say
        if written and (reason := outdated.ensemble(json.loads(written), study, ensemble)):
            raise Absent(reason)
        if table.num_rows < budget:
            raise Absent(f"{table.num_rows} of {budget} iterations")
        return table.slice(0, budget).replace_schema_metadata()

    tables = []
    cache: dict[tuple[str, str, str, int], pa.Table | None] = {}
    for dataset in study["datasets"]:
        for method, parts in study["methods"].items():
            for repeat in range(study["repeats"]):
                search, ensemble = parts["search"], parts["ensemble"]
                key = (dataset, search, ensemble, repeat)
                if key not in cache:
                    folder = results / "ensembles" / dataset / search / ensemble / str(repeat)
                    where = dict(zip(("dataset", "search", "ensemble", "repeat"), key, strict=True))
                    evaluations = usable.get((dataset, search, repeat))
                    reader = partial(read, ensemble, whole or evaluations)
                    if evaluations is None:
                        reader = _of_no_search
                    cache[key] = attempt(
                        reader, folder / "scores.parquet", stage="ensemble", **where
                    )
                if cache[key] is not None:
                    where = {"method": method, "dataset": dataset, "repeat": repeat}
                    tables.append(_tagged(cache[key], where))
    if whole is None and tables:
        longest = max(table.num_rows for table in tables)
        tables = [_padded(table, longest) for table in tables]
    frame = _joined(tables, ["method", "dataset", "repeat", *SCORES])
    names = {"method": list(study["methods"]), "dataset": study["datasets"]}
    for column, categories in names.items():
        frame[column] = pd.Categorical(frame[column], categories)
    return frame


def _padded(table: pa.Table, rows: int) -> pa.Table:
    """Repeat the last row, with iterations that count on, until there are so many rows."""
    indices = pa.array([min(i, table.num_rows - 1) for i in range(rows)])
    iterations = pa.array(range(1, rows + 1), pa.int64())
    place = table.schema.get_field_index("iteration")
    return table.take(indices).set_column(place, "iteration", iterations)


def _observations(path: Path) -> pa.Table:
    file = pq.ParquetFile(path)
    known = ALGORITHM in file.schema_arrow.names
    table = file.read(columns=[*OBSERVATIONS, *([ALGORITHM] if known else [])])
    text = ("status", "error_type", "message")
    columns = {c: table[c].cast(pa.string() if c in text else pa.float64()) for c in OBSERVATIONS}
    empty = pa.nulls(table.num_rows, pa.string())
    columns["algorithm"] = table[ALGORITHM].cast(pa.string()) if known else empty
    return pa.table(columns)


def _tagged(table: pa.Table, where: Mapping[str, Any]) -> pa.Table:
    """Put constant columns in front of a table."""
    for place, (name, value) in enumerate(where.items()):
        table = table.add_column(place, name, pa.repeat(value, table.num_rows))
    return table


def _joined(tables: list[pa.Table], columns: list[str]) -> pd.DataFrame:
    if not tables:
        return pd.DataFrame(columns=columns)
    frame = pa.concat_tables(tables, promote_options="permissive").to_pandas()
    return frame[columns].astype({"iteration": int, "repeat": int})


def _json(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise TypeError("not a mapping")
    return content


def _used(study: Mapping[str, Any], kind: str) -> list[str]:
    return list(dict.fromkeys(m[kind] for m in study["methods"].values()))
