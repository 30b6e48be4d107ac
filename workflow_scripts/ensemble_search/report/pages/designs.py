"""How far the designs that searches draw by k-DPPs are from uniform draws."""

import pandas as pd

from ensemble_search.analysis import designs
from ensemble_search.analysis.load import Results
from ensemble_search.report.papers.agreement import number
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells

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
    """Tabulate log det of the designs beside that of uniform ones."""
    draws = designs.drawn(results)
    if draws.empty:
        return "no search has drawn a design by a k-DPP"
    table = designs.by_search(draws)
    text = (
        "A k-DPP draws configurations that differ from each other: the larger the determinant of "
        "their similarities, the likelier is the design. The last number of a row says by how many "
        "standard deviations the log of the determinant lies above the mean of uniform designs. "
        "Near 0, the design is one that uniform draws give as well."
    )
    return [Section("How far are they from uniform draws?", [text, _table(table)])]


def _table(table: pd.DataFrame) -> Table:
    rows = []
    for line in table.to_dict("records"):
        values = [number(line["points"], 0), *(_short(line[key]) for key in designs.KEYS)]
        verdict = "are not distinguishable from uniform draws" if line["like_uniform"] else "–"
        row = [line["dataset"], line["search"], str(line["draw"]), str(line["repeats"]), *values]
        rows.append(cells(*row, number(line["distance"], 1).replace("-", "−"), verdict))
    columns = ["data set", "search", "draw", "repeats", *HEADINGS.values(), "warning"]
    notes = [
        "Medians over repeats. A search that draws batches has several draws. Points: those of the "
        "draw that were evaluated. σ: length scale of the kernel, in unit scales of the "
        "hyperparameters. Similarity: median of the kernel between uniform points. Log det: of all "
        "points drawn, together with what was evaluated before them. Where it varies over uniform "
        f"designs by less than {designs.LIKE_UNIFORM}, all designs are about equally likely, and "
        "the k-DPP are not distinguishable from uniform draws."
    ]
    caption = "Log determinants of the designs and of uniform ones"
    return Table("distances", caption, columns, rows, table, notes)


def _short(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
