"""Read the existing results of a study, and list the missing ones.

Methods of :class:`Results` that read a file raise Missing if it does not exist, and Unusable if it
is damaged.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ensemble_search.analysis import losses
from ensemble_search.analysis.losses import Losses
from ensemble_search.problems.tasks import PROBLEMS
from ensemble_search.results import layout, outdated, readers
from ensemble_search.runtime.files import Missing, Unusable, check, reading
from ensemble_search.runtime.names import CLASSIFICATION
from ensemble_search.runtime.names import OBSERVATIONS as OBSERVATIONS_FILE

if TYPE_CHECKING:
    from ensemble_search.analysis.ranks import Comparison

OBSERVATIONS = (
    "iteration",
    "status",
    "error",
    "fidelity",
    "suggest_seconds",
    "fit_seconds",
    "cpu_seconds",
    "error_type",
    "message",
)
ALGORITHM = "config.algorithm"


@dataclass(frozen=True)
class Results:
    """Results of a study so far, as tidy data frames."""

    study: dict[str, Any]  #: the study's names and settings
    #: One row per method, data set, repeat and iteration: ``validation_error`` and ``test_error``
    #: of the ensemble built after that iteration (losses by the study's metric, shares as
    #: fractions; NaN before the first success), and ``members`` and ``predict_seconds`` (their time
    #: to predict validation and test rows). Only runs that reached the budget and were made with
    #: the study's settings. If the budget is not in evaluations, shorter runs repeat their last row
    #: up to the length of the longest. Iterations do not count given evaluations (warm starts).
    scores: pd.DataFrame
    #: One row per evaluation, except given ones: ``dataset``, ``search``, ``repeat``,
    #: ``iteration``, ``status``, ``error``, ``fidelity``, seconds, ``error_type``, ``message``,
    #: ``algorithm``.
    observations: pd.DataFrame
    #: One row per search with the content of ``search.json`` (dictionaries stay dictionaries).
    manifests: pd.DataFrame
    #: One row per data set: ``rows`` of its three parts, ``classes``, ``majority_error`` (test
    #: error of always predicting the most frequent training class) and, in regression,
    #: ``mean_errors`` (by split, squared test error of always predicting the training rows' mean).
    #: NaN if ``split.json`` is missing.
    datasets: pd.DataFrame
    #: One row per unusable file: ``stage``, ``dataset``, ``search``, ``ensemble``, ``repeat``,
    #: ``file`` (relative to the results folder), ``reason``.
    missing: pd.DataFrame
    damaged: list[str]  #: one line per file that exists but cannot be read, with the remedy
    expected: dict[str, int]  #: number of files of each stage in the whole study
    folder: Path  #: the study's results folder
    _read: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order of the study."""
        return list(self.study["methods"])

    @property
    def single(self) -> list[str]:
        """The methods that deliver the best single pipeline instead of an ensemble."""
        types = {name: e["type"] for name, e in self.study["ensembles"].items()}
        return [m for m, p in self.study["methods"].items() if types[p["ensemble"]] == "best"]

    @property
    def reference(self) -> str:
        """The method to compare the others with."""
        named = (self.study.get("report") or {}).get("reference")
        return named or ("DivBO" if "DivBO" in self.methods else self.methods[-1])

    @cached_property
    def losses(self) -> Losses:
        """Format of losses by the study's metric."""
        return losses.of(self.study)

    @cached_property
    def compared(self) -> "Comparison":
        """The runs that all compared methods finished."""
        return self.comparison(self.methods)

    def comparison(self, methods: list[str]) -> "Comparison":
        """Compare the given methods, in this order, as ``ranks.comparison`` does."""
        from ensemble_search.analysis import ranks

        scores = self.scores[self.scores["method"].isin(methods)]
        return ranks.comparison(scores, methods, self.losses)

    @property
    def splits(self) -> list[str]:
        """The split of every repeat; repeats with the same split share all rows."""
        return layout.splits(self.study)

    @property
    def resampled(self) -> bool:
        """Whether there are several splits."""
        return len(set(self.splits)) > 1

    def given(self, dataset: str, search: str, repeat: int) -> int:
        """Return the number of given evaluations (warm start), which come first in files."""
        folder = layout.search_folder(self.folder, self.study, dataset, search, repeat)
        return readers.given(self.once(readers.search, folder))

    def errors(self, dataset: str, search: str, repeat: int) -> np.ndarray:
        """Return the validation errors of all evaluations of a search, given ones first.

        Of shape (n_evaluations,); NaN where they failed or had a share of the training rows.
        """
        folder = layout.search_folder(self.folder, self.study, dataset, search, repeat)
        table = self.once(readers.observations, folder, ("error", "fidelity")).to_pandas()
        return table["error"].where(table["fidelity"] == 1).to_numpy(float)

    def predictions(self, dataset: str, search: str, repeat: int, part: str) -> np.ndarray:
        """Memory-map the stored predictions of a search for a part, ``validation`` or ``test``.

        float32, of shape (n_evaluations, n_samples, n_columns), with one column for two classes,
        given evaluations first; NaN for failed evaluations; read-only.
        """
        folder = layout.search_folder(self.folder, self.study, dataset, search, repeat)
        rows = self.once(readers.search, folder)["evaluations"]
        return self.once(readers.predictions, folder, part, rows)

    def members(self, method: str, dataset: str, repeat: int) -> pd.DataFrame:
        """Read the members of a run's ensemble at every iteration at which it changed.

        The columns are ``iteration``, ``member`` (iteration of the evaluation) and ``weight``.
        Both iterations count given evaluations, too.
        """
        folder = self.ensemble_folder(method, dataset, repeat)
        return self.once(readers.members, folder).to_pandas()

    def sample_losses(
        self, method: str, dataset: str, repeat: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Read ``readers.losses`` of a run's ensemble; they are not cached.

        Iterations do not count given evaluations: those up to 0 are of ensembles of given ones.
        Results of older versions do not have these losses: Missing.
        """
        iterations, losses = readers.losses(self.ensemble_folder(method, dataset, repeat))
        search = self.study["methods"][method]["search"]
        return iterations - self.given(dataset, search, repeat), losses

    def ensemble(self, method: str, dataset: str, repeat: int) -> dict[str, Any]:
        """Read the ``ensemble.json`` of a run's ensemble."""
        return self.once(readers.ensemble, self.ensemble_folder(method, dataset, repeat))

    def reasons(self, run: Mapping[str, Any], *keys: str) -> list[dict[str, Any]]:
        """Read these keys of the reasons for a search's suggestions, where they have the first one.

        ``run`` has the ``dataset``, ``search`` and ``repeat``. Raises Unusable also if a reason
        lacks one of the other keys.
        """
        folder = layout.search_folder(self.folder, self.study, **run)
        texts = self.once(readers.observations, folder, ("why",))["why"].to_pylist()
        with reading(folder / OBSERVATIONS_FILE):
            found = (json.loads(text) for text in texts)
            return [{key: why[key] for key in keys} for why in found if keys[0] in why]

    def ensemble_folder(self, method: str, dataset: str, repeat: int) -> Path:
        """Return the folder of a run's ensemble."""
        parts = self.study["methods"][method]
        return layout.path(self.folder, layout.ENSEMBLE, dataset=dataset, repeat=repeat, **parts)

    def diversities(
        self, dataset: str, search: str, repeat: int, rows: list[int], columns: list[int]
    ) -> np.ndarray:
        """Diversity of evaluations on the validation part (DivBO paper, Eq. 3).

        ``rows`` and ``columns`` are iterations, from 1, including given ones. The result is in
        [0, 1], of shape (len(rows), len(columns)); NaN for failed evaluations.
        """
        predictions = self.predictions(dataset, search, repeat, "validation")
        i, j = (np.asarray(places, int) - 1 for places in (rows, columns))
        return diversities(predictions, i, j, self.losses.task)

    def once(self, read: Callable, *what: Any) -> Any:
        """Read a file on first use, by ``read(*what)``, and cache it."""
        key = read, *what
        if key not in self._read:
            self._read[key] = read(*what)
        return self._read[key]


class Outdated(Exception):
    """A file whose content does not match the study, with the reason."""


def diversities(
    predictions: np.ndarray, rows: np.ndarray, columns: np.ndarray, task: str = CLASSIFICATION
) -> np.ndarray:
    """Diversity of every pair (row, column) of stored predictions (DivBO paper, Eq. 3).

    ``predictions`` are of shape (n, n_samples, n_columns); ``rows`` and ``columns`` are positions
    among the n evaluations. The result is float64, of shape (len(rows), len(columns)).
    """
    problem = PROBLEMS[task]
    others = problem.expand(np.asarray(predictions[columns]))
    result = np.empty((len(rows), len(columns)))
    for place, row in enumerate(rows):
        one = problem.expand(np.asarray(predictions[row]))
        result[place] = problem.diversity(others, one)
    return result


def load(study: Mapping[str, Any], results: Path) -> Results:
    """Read all results of a study, and list missing and damaged files.

    ``results`` is the folder ``results/<study>``; ``study`` has ``study``, ``datasets``,
    ``searches``, ``ensembles``, ``methods``, ``repeats`` and ``budget``. ``write.write`` rejects
    damaged files.
    """
    study = dict(study)
    study["datasets"] = list(study["datasets"])
    results = Path(results)
    missing: list[dict[str, Any]] = []
    damaged: list[str] = []
    expected = dict.fromkeys(("split", "search", "ensemble"), 0)

    def attempt(read, path: Path, **where):
        expected[where["stage"]] += 1
        try:
            if not path.exists():
                raise Missing(path, "it does not exist")
            return read(path.parent)
        except Outdated as error:
            reason = str(error)
        except Missing:
            reason = "not there"
        except Unusable as error:
            reason = f"unreadable: {error.reason}"
            damaged.append(str(error))
        file = Path(os.path.relpath(path, results)).as_posix()
        missing.append({**where, "file": file, "reason": reason})
        return None

    datasets = _datasets(study, results, attempt)
    observations, manifests = _searches(study, results, attempt)
    scores = _scores(study, results, attempt, manifests)
    columns = ["stage", "dataset", "search", "ensemble", "repeat", "file", "reason"]
    lost = pd.DataFrame(missing, columns=columns)
    lost["repeat"] = lost["repeat"].astype("Int64")
    return Results(
        study, scores, observations, manifests, datasets, lost, damaged, expected, results
    )


def _datasets(study: dict[str, Any], results: Path, attempt) -> pd.DataFrame:
    splits = layout.splits(study)
    repeats = [None] if splits[0] == "fixed" else range(len(set(splits)))
    rows = []
    for dataset in study["datasets"]:
        found = []
        for repeat in repeats:
            first = next(iter(study["methods"].values()))["search"]
            folder = layout.split_folder(results, study, dataset, first, repeat or 0)
            where = {"stage": "split", "dataset": dataset, "repeat": repeat}
            read = partial(_split, study, dataset, splits[repeat or 0])
            summary = attempt(read, folder / "split.json", **where)
            found += [{"split": splits[repeat or 0], **summary}] if summary else []
        mean = pd.DataFrame(found).mean(numeric_only=True) if found else {}
        mean_errors = {summary["split"]: summary.get("mean_error") for summary in found}
        rows.append({"dataset": dataset, **mean, "mean_errors": mean_errors})
    columns = ["dataset", "train", "validation", "test", "classes", "majority_error", "mean_errors"]
    return pd.DataFrame(rows).reindex(columns=columns)


def _split(study: Mapping[str, Any], dataset: str, name: str, folder: Path) -> dict[str, float]:
    found = readers.split(folder)
    if reason := outdated.split(found, layout.drawn(study, dataset, name)):
        raise Outdated(reason)
    return split_summary(found)


def split_summary(split: Mapping[str, Any]) -> dict[str, float]:
    """Sizes of the parts, classes, and majority-class error on the test part of a split.

    In regression, the sizes and the squared error of predicting the training rows' mean. Weights of
    rows count, as in all losses.
    """
    if scale := split.get("target"):
        return {**split["sizes"], "mean_error": scale.get("test_square", float("nan"))}
    table = pd.DataFrame(split["classes"])[["train", "validation", "test"]]
    weights = pd.DataFrame(split.get("weights") or table)
    majority = weights["train"].to_numpy().argmax()
    error = 1 - weights["test"].iloc[majority] / weights["test"].sum()
    return {**table.sum(), "classes": len(table), "majority_error": error}


def _searches(study: dict[str, Any], results: Path, attempt) -> tuple[pd.DataFrame, pd.DataFrame]:
    budget = study["budget"].get("evaluations")  # None if in another unit: use whole runs
    tables, manifests = [], []
    for dataset in study["datasets"]:
        for search in dict.fromkeys(m["search"] for m in study["methods"].values()):
            for repeat in range(study["repeats"]):
                where = {"dataset": dataset, "search": search, "repeat": repeat}
                folder = layout.search_folder(results, study, dataset, search, repeat)
                split = layout.split_folder(results, study, dataset, search, repeat)
                check = partial(_manifest, study, where, split)
                manifest = attempt(check, folder / "search.json", stage="search", **where)
                read = partial(_observations, manifest) if manifest else _of_no_search
                frame = attempt(read, folder / "observations.parquet", stage="search", **where)
                if frame is not None:
                    own = _own(frame, readers.given(manifest), budget)
                    tables.append(_tagged(own, where))
                if manifest is not None:
                    manifests.append({**manifest, **where})
    columns = ["dataset", "search", "repeat", *OBSERVATIONS, "algorithm"]
    return _joined(tables, columns), pd.DataFrame(manifests)


def _own(table: pa.Table, given: int, budget: int | None) -> pa.Table:
    """Return the rows of a search's own iterations within the budget, counted from 1."""
    own = table.slice(given, budget)
    place = own.schema.get_field_index("iteration")
    return own.set_column(place, "iteration", pc.subtract(own["iteration"], given))


def _manifest(
    study: dict[str, Any], of: dict[str, Any], split: Path, folder: Path
) -> dict[str, Any]:
    manifest = readers.search(folder, of)
    reason = outdated.search(manifest, study, of["search"])
    if not reason:
        with suppress(Unusable):  # listed as such
            found = readers.split(split)
            reason = outdated.split(found, layout.drawn(study, of["dataset"], split.name), manifest)
    if reason:
        raise Outdated(reason)
    return manifest


def _of_no_search(folder: Path) -> None:
    raise Outdated("its search is not usable")


def _scores(study: dict[str, Any], results: Path, attempt, manifests: pd.DataFrame) -> pd.DataFrame:
    whole = study["budget"].get("evaluations")
    usable = {
        (run["dataset"], run["search"], run["repeat"]): (run["evaluations"], readers.given(run))
        for run in manifests.to_dict("records")
    }

    def read(ensemble: str, budget: int, given: int, folder: Path) -> pa.Table:
        table, written = readers.scores(folder)
        if written and (reason := outdated.ensemble(written, study, ensemble)):
            raise Outdated(reason)
        if table.num_rows < given + budget:
            raise Outdated(f"{max(table.num_rows - given, 0)} of {budget} iterations")
        return _own(table, given, budget).replace_schema_metadata()

    tables = []
    cache: dict[tuple[str, str, str, int], pa.Table | None] = {}
    for dataset in study["datasets"]:
        for method, parts in study["methods"].items():
            for repeat in range(study["repeats"]):
                search, ensemble = parts["search"], parts["ensemble"]
                key = (dataset, search, ensemble, repeat)
                if key not in cache:
                    where = dict(zip(("dataset", "search", "ensemble", "repeat"), key, strict=True))
                    folder = layout.path(results, layout.ENSEMBLE, **where)
                    reader: Callable = _of_no_search
                    if run := usable.get((dataset, search, repeat)):
                        evaluations, given = run
                        reader = partial(read, ensemble, whole or evaluations - given, given)
                    cache[key] = attempt(
                        reader, folder / "scores.parquet", stage="ensemble", **where
                    )
                if cache[key] is not None:
                    where = {"method": method, "dataset": dataset, "repeat": repeat}
                    tables.append(_tagged(cache[key], where))
    if whole is None and tables:
        longest = max(table.num_rows for table in tables)
        tables = [_padded(table, longest) for table in tables]
    frame = _joined(tables, ["method", "dataset", "repeat", *readers.SCORES])
    names = {"method": list(study["methods"]), "dataset": study["datasets"]}
    for column, categories in names.items():
        frame[column] = pd.Categorical(frame[column], categories)
    return frame


def _padded(table: pa.Table, rows: int) -> pa.Table:
    """Repeat the last row, with increasing iterations, up to ``rows`` rows."""
    indices = pa.array([min(i, table.num_rows - 1) for i in range(rows)])
    iterations = pa.array(range(1, rows + 1), pa.int64())
    place = table.schema.get_field_index("iteration")
    return table.take(indices).set_column(place, "iteration", iterations)


def _observations(manifest: dict[str, Any], folder: Path) -> pa.Table:
    check(folder / "search.json", ["observations.parquet"])
    rows = manifest["evaluations"]
    table = readers.observations(folder, OBSERVATIONS, others=ALGORITHM, rows=rows)
    columns = {name: table[name] for name in OBSERVATIONS}
    empty = pa.nulls(table.num_rows, pa.string())
    columns["algorithm"] = table[ALGORITHM] if ALGORITHM in table.column_names else empty
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
