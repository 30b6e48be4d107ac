"""Read what exists of a study below its results folder, and list what does not."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from divbo.analysis import outdated

SCORES = ("iteration", "validation_error", "test_error", "members")
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
        ``members``. Only runs that have reached the budget, made with the study's settings.
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
    """

    study: dict[str, Any]
    scores: pd.DataFrame
    observations: pd.DataFrame
    manifests: pd.DataFrame
    datasets: pd.DataFrame
    missing: pd.DataFrame
    expected: dict[str, int]

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order of the study."""
        return list(self.study["methods"])

    @property
    def reference(self) -> str:
        """The method that the others are compared with."""
        named = (self.study.get("report") or {}).get("reference")
        return named or ("DivBO" if "DivBO" in self.methods else self.methods[-1])

    @property
    def resampled(self) -> bool:
        """Whether every repeat has a split of its own."""
        return (self.study.get("split") or {}).get("resample", "never") != "never"


class _Absent(Exception):
    """A file that cannot be used, with the reason."""


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

    def attempt(read, file: str, **where):
        expected[where["stage"]] += 1
        try:
            path = results / file
            if not path.is_file():
                raise _Absent("not there")
            return read(path)
        except _Absent as error:
            reason = str(error)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            reason = f"unreadable: {type(error).__name__}"
        missing.append({**where, "file": file, "reason": reason})
        return None

    datasets = _datasets(study, attempt)
    observations, manifests = _searches(study, attempt)
    scores = _scores(study, attempt, manifests)
    columns = ["stage", "dataset", "search", "ensemble", "repeat", "file", "reason"]
    lost = pd.DataFrame(missing, columns=columns)
    lost["repeat"] = lost["repeat"].astype("Int64")
    return Results(study, scores, observations, manifests, datasets, lost, expected)


def _datasets(study: dict[str, Any], attempt) -> pd.DataFrame:
    resample = (study.get("split") or {}).get("resample", "never") != "never"
    repeats = range(study["repeats"]) if resample else [None]
    rows = []
    for dataset in study["datasets"]:
        found = []
        for repeat in repeats:
            name = "fixed" if repeat is None else f"repeat-{repeat}"
            file = f"splits/{dataset}/{name}/split.json"
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


def _searches(study: dict[str, Any], attempt) -> tuple[pd.DataFrame, pd.DataFrame]:
    budget = study["budget"]["evaluations"]
    tables, manifests = [], []
    for dataset in study["datasets"]:
        for search in _used(study, "search"):
            for repeat in range(study["repeats"]):
                where = {"dataset": dataset, "search": search, "repeat": repeat}
                folder = f"searches/{dataset}/{search}/{repeat}"
                manifest = attempt(
                    partial(_manifest, study, search),
                    f"{folder}/search.json",
                    stage="search",
                    **where,
                )
                read = _observations if manifest else _of_no_search
                frame = attempt(read, f"{folder}/observations.parquet", stage="search", **where)
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
        raise _Absent(reason)
    return manifest


def _of_no_search(path: Path) -> None:
    raise _Absent("its search is not usable")


def _scores(study: dict[str, Any], attempt, manifests: pd.DataFrame) -> pd.DataFrame:
    budget = study["budget"]["evaluations"]
    keys = ["dataset", "search", "repeat"]
    usable = set(manifests.reindex(columns=keys).itertuples(index=False, name=None))

    def read(ensemble: str, path: Path) -> pa.Table:
        table = pq.read_table(path, columns=list(SCORES), partitioning=None)
        written = (table.schema.metadata or {}).get(SETTINGS)  # older files do not say
        if written and (reason := outdated.ensemble(json.loads(written), study, ensemble)):
            raise _Absent(reason)
        if table.num_rows < budget:
            raise _Absent(f"{table.num_rows} of {budget} iterations")
        return table.slice(0, budget).replace_schema_metadata()

    tables = []
    cache: dict[tuple[str, str, str, int], pa.Table | None] = {}
    for dataset in study["datasets"]:
        for method, parts in study["methods"].items():
            for repeat in range(study["repeats"]):
                search, ensemble = parts["search"], parts["ensemble"]
                key = (dataset, search, ensemble, repeat)
                if key not in cache:
                    file = f"ensembles/{dataset}/{search}/{ensemble}/{repeat}/scores.parquet"
                    where = dict(zip(("dataset", "search", "ensemble", "repeat"), key, strict=True))
                    known = (dataset, search, repeat) in usable
                    reader = partial(read, ensemble) if known else _of_no_search
                    cache[key] = attempt(reader, file, stage="ensemble", **where)
                if cache[key] is not None:
                    where = {"method": method, "dataset": dataset, "repeat": repeat}
                    tables.append(_tagged(cache[key], where))
    frame = _joined(tables, ["method", "dataset", "repeat", *SCORES])
    names = {"method": list(study["methods"]), "dataset": study["datasets"]}
    for column, categories in names.items():
        frame[column] = pd.Categorical(frame[column], categories)
    return frame


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
