"""Tables 1 to 3 of the BOASF paper: balanced accuracy, cross-validated and on the test rows."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.verdict import p_value
from ensemble_search.papers import printed
from ensemble_search.papers.boasf import checks
from ensemble_search.papers.variants import PARTS, scope
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table, by_method, cells, number, spread

TITLE, ORDER = "Balanced accuracy", 171
PAPER = "Tables 1 to 3 of Zhu et al. (2020)"
METRIC = "balanced-error"
HEADINGS = {"test_error": "On the test rows", "validation_error": "Validation"}
#: The paper's tables by space.
PRINTED = {
    "boasf": "models",
    "random-forest-hpo": "random-forest",
    "logistic-regression-hpo": "logistic-regression",
}
#: Its names of data sets that are not its ``openml_<id>``, by their source in a study.
NAMED = {"openml_1590": "adult", "sklearn_digits": "digits", "sklearn_wine": "wine"}
#: Methods of the studies by the paper's names.
OURS = {
    "BOASF": "BOASF",
    "AutoSklearn": "BO",
    "SelectBest": "SelectBest",
    "RandomForest&TPE": "RF-TPE",
    "Hyperopt-full": "Hyperopt",
    "BOHB": "BOHB",
}
#: Digits of the paper's accuracies.
DIGITS = 3
CAUTION = (
    "The paper's figures are only for orientation: its searches ran for hours, on other splits, "
    "and some printed numbers are implausible"
)
#: Entries of ``inconsistencies.yaml`` about such numbers.
IMPLAUSIBLE = ("jumps", "zeros", "gisette")


def build(results: Results, publish) -> list[Section] | str:
    """Show accuracies as the paper does: data sets in rows, methods in columns."""
    study = results.study
    if study.get("metric", "error") != METRIC:
        return "the study does not measure balanced accuracy"
    optimizers = {study["searches"][m["search"]]["optimizer"] for m in study["methods"].values()}
    if "boasf" not in optimizers:
        return "no method searches with boasf"
    compared = results.compared
    if not compared.methods:
        return "no method has finished on a data set"
    sections: list[Section] = []
    for column in ("validation_error", "test_error"):
        parts = [] if sections else [scope(results, compared)]
        sections.append(Section(HEADINGS[column], [*parts, _table(results, compared, column)]))
    return [*sections, *_beside(results, compared)]


def _beside(results: Results, compared: ranks.Comparison) -> list[Section]:
    """Show the paper's rows of the same data sets; empty if it has no such table."""
    name = PRINTED.get(results.study.get("space", ""))
    if not name:
        return []
    column = "test_error" if column_of(name) == "test" else "validation_error"
    final = ranks.spreads(ranks.final_errors(compared, column))
    ours = 1 - final.pivot(index="dataset", columns="method", values="mean")
    lines = beside(results.study, ours.loc[compared.datasets])
    if lines.empty:
        return []
    entry = printed.load("boasf")[name]
    found = (printed.inconsistencies("boasf")[key] for key in IMPLAUSIBLE)
    wrong = [f"{own.where}: {own.what}" for own in found if _is_about(own.where, entry["where"])]
    head, *rows = in_rows(lines)
    caption = f"{entry['what'].capitalize()} after 2 and 4 hours, in parentheses"
    caption += f"; before them ours, {PARTS[column]}"
    table = Table("published", caption, head, [cells(*row) for row in rows], lines)
    text = ". ".join([CAUTION, *wrong]) + "."
    return [Section(f"{entry['where']} of the paper, on the same data sets", [text, table])]


def _is_about(where: str, table: str) -> bool:
    """Whether tables in text such as ``Tables 2 and 3`` include one such as ``Table 2``."""
    return table.rsplit(maxsplit=1)[-1] in re.findall(r"\d+", where)


def column_of(table: str) -> str:
    """Return the rows that a table of the paper is compared with.

    Tables 2 and 3 are cross-validated. Of Table 1 the paper does not say it: ``test``.
    """
    return "test" if table == checks.TABLES[0] else "validation"


def beside(study: Mapping[str, Any], ours: pd.DataFrame) -> pd.DataFrame:
    """Compare balanced accuracies with the paper's on the data sets that it has, too.

    ``ours`` are shares, shape (data sets, methods). The result has a row per data set and method of
    the paper's table: ``dataset``, ``published`` (the paper's name of it), ``method`` (the paper's
    name of it), ``ours`` (NaN without such a method), and ``2 h`` and ``4 h`` of the paper.
    """
    halves = [checks.accuracies(PRINTED[study["space"]], hours) for hours in checks.HOURS]
    lines = []
    for dataset, own in ours.iterrows():
        sources = (f"{key}_{value}" for key, value in study["sources"][dataset].items())
        for name in (NAMED.get(source, source) for source in sources):
            if name in halves[0].index:
                lines += [
                    [dataset, name, method, own.get(OURS[method], np.nan)]
                    + [half.loc[name, method] for half in halves]
                    for method in OURS
                    if method in halves[0]
                ]
    return pd.DataFrame(lines, columns=["dataset", "published", "method", "ours", *_hours()])


def _hours() -> list[str]:
    return [f"{hours} h" for hours in checks.HOURS]


def _title(method: str) -> str:
    """Name a method of the paper as ours, with the paper's name if that is another."""
    return method if OURS[method] == method else f"{OURS[method]} ({method})"


def in_rows(lines: pd.DataFrame, percent: bool = False) -> list[list[str]]:
    """Return the heading and the rows, one per data set, of a table of :func:`beside`.

    Cells are ours and, in parentheses, the paper's after 2 and 4 hours.
    """
    methods = [*dict.fromkeys(lines["method"])]
    scale, digits = (100, DIGITS - 2) if percent else (1, DIGITS)
    rows = [["data set", "in the paper", *map(_title, methods)]]
    for (dataset, name), own in lines.groupby(["dataset", "published"], sort=False):
        values = (own.set_index("method")[["ours", *_hours()]] * scale).loc[methods].to_numpy()
        shown = [[number(value, digits) for value in row] for row in values]
        rows.append([dataset, name, *(f"{mine} ({', '.join(rest)})" for mine, *rest in shown)])
    return rows


def outcomes(lines: pd.DataFrame) -> list[list[str]]:
    """Count the data sets on which BOASF is better than, equal to and worse than each other method.

    Of the accuracies of :func:`beside`, with as many digits as the paper's. One row per other
    method: its name, and counts with p of ``checks.sign_test`` for ours and for the paper's after 2
    and 4 hours.
    """

    def text(counts: dict[str, int]) -> str:
        return f"{'/'.join(map(str, counts.values()))}: {p_value(checks.sign_test(counts))}"

    lines = lines.assign(ours=lines["ours"].round(ranks.DIGITS)).round(DIGITS)
    wide = lines.pivot(index="dataset", columns="method", values=["ours", *_hours()])
    return [
        [_title(other)]
        + [
            text(checks.count(wide[part, "BOASF"] - wide[part, other]))
            for part in ("ours", *_hours())
        ]
        for other in dict.fromkeys(lines["method"])
        if other != "BOASF"
    ]


def _table(results: Results, compared: ranks.Comparison, column: str) -> Table:
    losses = ranks.spreads(ranks.final_errors(compared, column))
    found = losses.assign(mean=(1 - losses["mean"]).round(ranks.DIGITS))
    found["best"] = found["mean"] == found.groupby("dataset")["mean"].transform("max")
    columns, rows = by_method(
        found, lambda line: Cell(spread(line["mean"], line["std"], 3), bool(line["best"]))
    )
    wide = losses.pivot(index="dataset", columns="method", values="mean")[columns[1:]]
    foot = cells("average rank", *map(number, ranks.rank(wide.to_numpy()).mean(axis=0)))
    notes = ["Mean ± standard deviation over repeats; bold: the highest of the data set."]
    if column == "validation_error":
        folds = (results.study.get("split") or {}).get("folds")
        how = f"on the pooled out-of-fold predictions of {folds} folds" if folds else ""
        notes.append(
            f"Best observed so far {how}".strip() + "; optimistic, especially for ensembles."
        )
    part = PARTS[column]
    caption = f"{part.capitalize()} balanced accuracy"
    return Table(part, caption, columns, [*rows, foot], found, notes, foot=1)
