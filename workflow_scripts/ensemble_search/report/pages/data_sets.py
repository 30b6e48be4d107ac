"""Descriptions of the data sets, and what happened to their columns."""

import pandas as pd

from ensemble_search.analysis import datasets
from ensemble_search.analysis.load import Results
from ensemble_search.data import prepare
from ensemble_search.report import overview_tables
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells

TITLE, ORDER = "Data sets", 200


def build(results: Results, publish) -> list[Section] | str:
    """Show sizes, classes and kinds, then the columns left out, then other notes."""
    study, folder = results.study, results.folder
    table = datasets.table(study, folder)
    if table.empty:
        return "no data set has been fetched"
    sections = [Section("Sizes, classes, columns", [_sizes(table, results.resampled)])]
    for name, frame, title, caption in (
        ("left-out", datasets.gone(study, folder), "Columns left out",
         "Columns of the sources that no search sees"),
        ("columns", datasets.reading(study, folder), "Columns",
         f"How columns are read (up to {prepare.SHOWN} per data set)"),
        ("notes", datasets.notes(study, folder), "Notes",
         "Notes from fetching and from the first split"),
    ):  # fmt: skip
        if len(frame):
            sections.append(Section(title, [overview_tables.plain(name, caption, frame)]))
    return sections


def _sizes(table: pd.DataFrame, resampled: bool) -> Table:
    rows = []
    for row in table.to_dict("records"):
        kinds = [f"{row[kind]:,} {kind}" for kind in datasets.KINDS if row[kind]]
        known = not pd.isna(row["prepared"])
        rows.append(
            cells(
                *(row["dataset"], f"{row['rows']:,}", f"{row['features']:,}", ", ".join(kinds)),
                f"{row['prepared']:,.0f}" if known else "–",
                f"{row['left_out']:,}",
                f"{row['classes']:,}" if row["classes"] else "numbers",
                f"{100 * row['smallest_class']:.1f} %" if row["classes"] else "–",
                f"{100 * row['missing']:.1f} %" if row["missing"] else "none",
            )
        )
    columns = ["data set", "rows", "features", "kinds", "prepared", "left out", "classes"]
    columns += ["smallest class", "missing values"]
    notes = [
        "Features: columns other than the target, as fetched. Prepared: columns that the searches "
        "see, after dates became numbers, categories became one-hot columns and constant columns "
        f"were dropped{'; in the first split' if resampled else ''}. Left out: columns of the "
        "source that no search sees. Smallest class: its share of the rows."
    ]
    return Table("sizes", "The data sets", columns, rows, table, notes)
