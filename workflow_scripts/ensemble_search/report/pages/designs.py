"""How far designs that searches draw by k-DPPs are from uniform draws."""

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells, number

TITLE, ORDER = "Designs drawn by k-DPPs", 175
HEADINGS = {
    "points": "points",
    "sigma": "σ",
    "similarity": "similarity",
    "log_det": "log det",
    "uniform_log_det": "log det of uniform designs",
    "spread": "its standard deviation",
    "distance": "deviations apart",
}


def build(results: Results, publish) -> list[Section] | str:
    """Tabulate log det of the designs beside that of uniform designs."""
    draws = drawn(results)
    if draws.empty:
        return "no search has drawn a design by a k-DPP"
    table = by_search(draws)
    text = (
        "A k-DPP draws configurations that differ from each other: the larger the determinant of "
        "their similarities, the likelier the design. The last number of a row is how many "
        "standard deviations the log determinant lies above its mean over uniform designs. "
        "Near 0, the design is no different from uniform draws."
    )
    return [Section("How far are they from uniform draws?", [text, _table(table)])]


def _table(table: pd.DataFrame) -> Table:
    rows = []
    for line in table.to_dict("records"):
        values = [number(line["points"], 0), *(_short(line[key]) for key in KEYS)]
        verdict = "are not distinguishable from uniform draws" if line["like_uniform"] else "–"
        row = [line["dataset"], line["search"], str(line["draw"]), str(line["repeats"]), *values]
        rows.append(cells(*row, number(line["distance"], 1).replace("-", "−"), verdict))
    columns = ["data set", "search", "draw", "repeats", *HEADINGS.values(), "warning"]
    notes = [
        "Medians over repeats. A search that draws batches has several draws. Points: those of the "
        "draw that were evaluated. σ: length scale of the kernel, in unit scales of the "
        "hyperparameters. Similarity: median of the kernel between uniform points. Log det: of all "
        "points drawn, together with what was evaluated before them. Where it varies over uniform "
        f"designs by less than {LIKE_UNIFORM}, all designs are about equally likely, and "
        "the k-DPP are not distinguishable from uniform draws."
    ]
    caption = "Log determinants of the designs and of uniform ones"
    return Table("distances", caption, columns, rows, table, notes)


def _short(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


KEYS = ("sigma", "similarity", "log_det", "uniform_log_det", "spread")
#: If log det varies less than this over uniform designs (standard deviation), uniform is as good.
LIKE_UNIFORM = 0.1


def drawn(results: Results) -> pd.DataFrame:
    """Read the draws of k-DPPs from the stored reasons of suggestions, one row per draw.

    The columns are ``dataset``, ``search``, ``repeat``, ``draw`` (its number in the search, from
    1), ``points`` (how many of its points were evaluated), :data:`KEYS` as described in
    ``optimizers._designs.k_dpp``, and ``distance``: log det of the design minus the mean over
    uniform ones, in standard deviations of these; NaN if log det does not vary over uniform
    designs.
    """
    rows = []
    where = ["dataset", "search", "repeat"]
    for run in results.manifests.reindex(columns=where).to_dict("records"):
        rows += [{**run, **why} for why in results.reasons(run, "log_det", *KEYS)]
    table = pd.DataFrame(rows, columns=[*where, *KEYS]).astype(dict.fromkeys(KEYS, float))
    draws = table.groupby(list(table.columns), sort=False).size().rename("points").reset_index()
    draws.insert(3, "draw", draws.groupby(where, sort=False).cumcount() + 1)
    spread = draws["spread"].replace(0, np.nan)
    return draws.assign(distance=(draws["log_det"] - draws["uniform_log_det"]) / spread)


def by_search(draws: pd.DataFrame) -> pd.DataFrame:
    """Compute medians over repeats, one row per draw of a search on a data set.

    The columns are ``points``, :data:`KEYS` and ``distance``, the number of ``repeats``, and
    ``like_uniform``: whether the spread is too small to distinguish a design from uniform draws.
    """
    groups = draws.groupby(["dataset", "search", "draw"], sort=False)
    table = groups[["points", *KEYS, "distance"]].median()
    table["repeats"] = groups["repeat"].nunique()
    return table.assign(like_uniform=table["spread"] < LIKE_UNIFORM).reset_index()
