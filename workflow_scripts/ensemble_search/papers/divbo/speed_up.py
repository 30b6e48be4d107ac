"""Speed-up of the reference in reaching the other methods' final validation loss."""

import numpy as np
import pandas as pd

from ensemble_search.analysis import curves
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.papers import agreement
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells
from ensemble_search.report.view import view

TITLE, ORDER = "Speed-up", 50


def build(results: Results, publish) -> list[Section] | str:
    """Show the speed-up on each data set, and the printed ones of two data sets."""
    if results.study["budget"].get("evaluations") is None:
        return "the budget is not in evaluations: methods make different numbers of iterations"
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    errors = curves.error_curves(seen.compared.scores, "validation_error")
    speed = curves.speed_up(errors, seen.reference)
    parts: list = [speed_table(speed, seen.reference, seen.losses)]
    printed = agreement.values(results.study, "speed-up")
    named = [m for m in printed if m in seen.others]
    if seen.reference == "DivBO" and named:
        ranges = " and ".join(f"{printed[m][0]} to {printed[m][1]} against {m}" for m in named)
        parts.append(f"{agreement.source('speed-up')}: {ranges}, on pollen and wind.")
        parts += agreement.caution(results.study, "speed-up", ["pollen", "wind"])
    return [Section(f"How much sooner does {seen.reference} get there?", parts)]


def speed_table(speed: pd.DataFrame, reference: str, losses: Losses) -> Table:
    """Show the factor by which the reference needs fewer iterations, data sets × methods."""
    wide = speed.pivot(index="dataset", columns="method", values="speed_up")
    wide = wide.reindex(index=speed["dataset"].unique(), columns=speed["method"].unique())
    rows = [cells(d, *map(_times, row)) for d, row in zip(wide.index, wide.to_numpy(), strict=True)]
    reached = wide.fillna(0)
    median = reached.median().where(reached.quantile(0.5, interpolation="lower") > 0)
    rows.append(cells("median", *map(_times, median)))
    notes = [
        f"The budget in iterations, divided by the iteration at which {reference}'s mean "
        f"best-observed validation {losses.title} is first as low as the other method's final one. "
        "< 1: it does not get there within the budget. Median: of an even number of data sets, the "
        "mean of the middle two, or < 1 if one of these is."
    ]
    what = f"how much sooner it reaches a method's final {losses.title}"
    caption = f"Speed-up of {reference}: {what}"
    return Table("", caption, ["data set", *wide.columns], rows, speed, notes, foot=1)


def _times(value: float) -> str:
    return f"{value:.1f}×" if np.isfinite(value) else "< 1"
