"""Our figures beside the published ones, with a mark for whether they agree."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.report.papers import published
from ensemble_search.report.tables import Cell, Table, by_method

#: Marks in the cells of a table.
MARKS = {published.AGREES: "≈", published.DIFFERS: "≠", published.INCOMPARABLE: ""}
HOW = (
    "First figure: ours; in parentheses: the paper's. ≈ they agree: not more than two standard "
    "errors apart (of both sets of repeats and of the part of the data, which was drawn "
    "differently); ≠ they differ; no mark: they cannot be compared. Methods are matched by name."
)


def source(name: str) -> str:
    """Name the place where an entry is printed."""
    return f"{published.entry(name)['where']} of the paper"


def caution(
    study: Mapping[str, Any], name: str, datasets: list[str] | None = None, values: bool = True
) -> str:
    """Explain in a sentence why the figures cannot be compared; empty if they can."""
    reasons = published.obstacles(study, name, datasets)
    if not reasons:
        return ""
    shown = "; ".join(reasons[:6]) + ("; and more" if len(reasons) > 6 else "")
    text = f"Ours cannot be compared with {source(name)} ({shown})"
    return f"{text}; its figures stand beside ours for orientation only." if values else f"{text}."


def error_table(name: str, comparison: pd.DataFrame, caption: str) -> Table:
    """Show errors in percent beside the printed ones, data sets × methods.

    Parameters
    ----------
    name
        Stem of the files.
    comparison
        Of ``published.compare_errors``.
    caption
        What it shows.
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
    """Count in a sentence how many figures agree, differ or cannot be compared."""
    counts = comparison["verdict"].value_counts()
    agree, differ, rest = (int(counts.get(v, 0)) for v in MARKS)
    n = len(comparison)
    if not agree + differ:
        return f"None of the {n} figures that both have can be compared."
    text = f"Of {n} figures that both have, {agree} agree and {differ} differ"
    return f"{text}; {rest} cannot be compared." if rest else f"{text}."


def number(value: float, digits: int = 2) -> str:
    """Write a number, or a dash where there is none."""
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def spread(mean: float, std: float, digits: int = 2) -> str:
    """Write mean ± deviation, or only the mean where there is one repeat."""
    return number(mean, digits) + (f" ± {std:.{digits}f}" if np.isfinite(std) else "")
