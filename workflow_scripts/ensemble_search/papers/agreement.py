"""Figures printed in the DivBO paper, compared with ours.

Data sets and methods are matched by name.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.data import paper_sets
from ensemble_search.papers import printed
from ensemble_search.report.tables import Cell, Table, by_method

AGREES, DIFFERS, INCOMPARABLE = "agrees", "differs", "cannot be compared"
#: Marks in the cells of a table.
MARKS = {AGREES: "≈", DIFFERS: "≠", INCOMPARABLE: ""}
HOW = (
    "The first number is ours, the one in parentheses the paper's. ≈: they agree, that is, differ "
    "by at most two standard errors (of both sets of repeats and of the test rows, which were "
    "drawn differently); ≠: they differ; no mark: they cannot be compared. Methods are matched by "
    "name."
)


def entry(name: str) -> dict[str, Any]:
    """Return an entry: ``where`` it is printed, ``what`` it is, ``values``, possibly ``unit``."""
    return printed.load("divbo")[name]


def settings(name: str) -> dict[str, Any]:
    """Return the settings of an entry: ``repeats``, ``evaluations``, ``space`` and more."""
    return entry("settings")["values"] | entry(name).get("settings", {})


def values(study: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the values of an entry for comparison with a study.

    Empty unless the study's metric is ``error``, the paper's only metric.
    """
    return entry(name)["values"] if study.get("metric", "error") == "error" else {}


def errors(name: str) -> pd.DataFrame:
    """Return an entry of errors by data set and method as a data frame.

    The columns are ``dataset``, ``method``, ``mean`` and ``std``: fractions.
    """
    values = entry(name)["values"]
    rows = [(d, m, *pair) for d, methods in values.items() for m, pair in methods.items()]
    frame = pd.DataFrame(rows, columns=["dataset", "method", "mean", "std"])
    return frame.assign(mean=frame["mean"] / 100, std=frame["std"] / 100)


def obstacles(study: Mapping[str, Any], name: str, datasets: list[str] | None = None) -> list[str]:
    """Return the reasons why a study cannot be compared with the printed figures of an entry.

    ``study`` has ``datasets``, ``budget``, ``repeats``, ``space``, ``split`` and ``sources``.
    ``datasets`` are the paper's data sets that the figure covers; None: all. Empty if there is no
    known obstacle.
    """
    paper = settings(name)
    budget = study["budget"].get("evaluations")
    reasons = []
    if budget != paper["evaluations"]:
        unit = "full fits" if study["budget"].get("fits") else "seconds"
        ours = f"{budget} evaluations" if budget else f"a budget in {unit}"
        reasons.append(f"{ours} instead of {paper['evaluations']}")
    if study["repeats"] != paper["repeats"]:
        reasons.append(f"{study['repeats']} repeats instead of {paper['repeats']}")
    if study.get("space") != paper["space"]:
        reasons.append(f"space {study.get('space')} instead of {paper['space']}")
    resample = (study.get("split") or {}).get("resample", "never")
    if resample not in ("never", 1):
        splits = "a split for every repeat" if resample == "per-repeat" else f"{resample} splits"
        reasons.append(f"{splits} instead of one")
    if (study.get("split") or {}).get("folds"):
        reasons.append("validation by folds instead of a part of the rows")
    known = paper_sets.IDS
    sources = study.get("sources") or {}
    if datasets is None:
        datasets = [d for d in study["datasets"] if d in known]
        if len(datasets) < len(known):
            reasons.append(f"{len(datasets)} of the paper's {len(known)} data sets")
        if others := [d for d in study["datasets"] if d not in known]:
            reasons.append(f"other data sets ({', '.join(others)})")
    for dataset in datasets:
        if dataset not in study["datasets"]:
            reasons.append(f"without {dataset}")
        elif sources.get(dataset, {}).get("openml") != known.get(dataset):
            reasons.append(f"{dataset} is not OpenML's {known.get(dataset)}")
    return reasons


def verdict(ours: float, theirs: float, error: float) -> str:
    """Return whether two figures differ by at most two standard errors of their difference."""
    if not np.isfinite([ours, theirs, error]).all():
        return INCOMPARABLE
    return AGREES if abs(ours - theirs) <= 2 * error + 1e-12 else DIFFERS


def compare_errors(
    study: Mapping[str, Any], name: str, ours: pd.DataFrame, rows: Mapping[str, float]
) -> pd.DataFrame:
    """Compare mean errors, fractions, with the printed ones of an entry of :func:`errors`.

    The standard error of a difference has three parts: our repeats, the paper's repeats, and the
    ``rows`` of each data set on which errors were measured (such as those of the test part), which
    both drew differently: twice p (1 - p) / rows. For ``study``, see :func:`obstacles`; ``ours``
    has ``dataset``, ``method``, ``mean``, ``std`` and ``repeats``.

    Rows that exist in both: ``dataset``, ``method``, ``ours``, ``ours_std``, ``published``,
    ``published_std``, ``difference``, ``error`` (its standard error), ``verdict`` (:data:`AGREES`,
    :data:`DIFFERS`, :data:`INCOMPARABLE`) and ``reason`` of the last.
    """
    paper = errors(name).rename(columns={"mean": "published", "std": "published_std"})
    table = ours.rename(columns={"mean": "ours", "std": "ours_std"}).astype({"dataset": str})
    table = table.merge(paper, on=["dataset", "method"], how="inner")
    repeats = settings(name)["repeats"]
    share = (table["ours"] + table["published"]) / 2
    size = table["dataset"].map(rows).astype(float)
    table["difference"] = table["ours"] - table["published"]
    table["error"] = np.sqrt(
        table["ours_std"].fillna(0) ** 2 / table["repeats"]
        + table["published_std"] ** 2 / repeats
        + 2 * share * (1 - share) / size
    )
    reasons = {d: "; ".join(obstacles(study, name, [d])) for d in table["dataset"].unique()}
    table["reason"] = table["dataset"].map(reasons)
    table["verdict"] = [
        INCOMPARABLE if reason else verdict(a, b, e)
        for reason, a, b, e in zip(
            table["reason"], table["ours"], table["published"], table["error"], strict=True
        )
    ]
    columns = ["dataset", "method", "ours", "ours_std", "published", "published_std"]
    return table[[*columns, "difference", "error", "verdict", "reason"]]


def source(name: str) -> str:
    """Name the place where an entry is printed."""
    return f"{entry(name)['where']} of the paper"


def caution(study: Mapping[str, Any], name: str, datasets: list[str] | None = None) -> list[str]:
    """Return a sentence on why the figures cannot be compared; none if they can."""
    reasons = obstacles(study, name, datasets)
    shown = "; ".join(reasons[:6]) + ("; and more" if len(reasons) > 6 else "")
    text = f"Ours cannot be compared with {source(name)} ({shown}); its figures are shown for "
    return [f"{text}orientation only."] if reasons else []


def error_table(name: str, comparison: pd.DataFrame, caption: str) -> Table:
    """Show errors in percent next to the printed ones, data sets × methods.

    ``comparison`` comes from :func:`compare_errors`; ``name`` is the stem of the files.
    """

    def show(line: dict) -> Cell:
        text = f"{100 * line['ours']:.2f} ({100 * line['published']:.2f})"
        return Cell(f"{text} {MARKS[line['verdict']]}".strip())

    reasons = comparison.loc[comparison["reason"] != "", ["dataset", "reason"]].drop_duplicates()
    notes = [HOW]
    if len(reasons):
        same = reasons.groupby("reason", sort=False)["dataset"].agg(", ".join)
        text = "; ".join(f"{where}: {reason}" for reason, where in same.items())
        notes.append(f"Cannot be compared: {text}.")
    return Table(name, caption, *by_method(comparison, show), comparison, notes)


def tally(comparison: pd.DataFrame) -> str:
    """Return a sentence that counts the figures that agree, differ or cannot be compared."""
    counts = comparison["verdict"].value_counts()
    agree, differ, rest = (int(counts.get(v, 0)) for v in MARKS)
    n = len(comparison)
    if not agree + differ:
        return f"None of the {n} figures that both have can be compared."
    text = f"Of {n} figures that both have, {agree} agree and {differ} differ"
    return f"{text}; {rest} cannot be compared." if rest else f"{text}."
