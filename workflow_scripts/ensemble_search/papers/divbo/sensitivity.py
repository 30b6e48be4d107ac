"""Figure 7: sensitivity to DivBO's two settings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.papers import variants
from ensemble_search.report.build import stems
from ensemble_search.report.plots import charts
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Cell, Table, cells

TITLE, ORDER = "Sensitivity to β and τ", 100
PAPER = "Figure 7 of Shen et al. (2022)"
COLUMNS = {"validation_error": "validation", "test_error": "test"}


def build(results: Results, publish) -> list[Section] | str:
    """Show the losses of DivBO with different beta and tau."""
    found = variants.families(
        results.study,
        {"search.beta", "search.tau"}.__contains__,
        lambda s: s["search.optimizer"] == "divbo" and s.get("search.weight") is None,
    )
    if not found:
        return "no two methods differ in DivBO's beta and tau only"
    family = found[0]
    losses = results.losses
    compared = results.comparison(family)
    if len(compared.methods) < 2:
        return "fewer than two settings of beta and tau have finished on the same data set"
    grids = {
        column: grid(results.study, ranks.spreads(ranks.final_errors(compared, column)))
        for column in COLUMNS
    }
    texts = [
        "The weight of diversity grows from 0 towards β / 2; the larger τ, the sooner.",
        variants.scope(results, compared),
        *_spread(grids["validation_error"], losses),
    ]
    parts = [_table(grid, COLUMNS[column], losses) for column, grid in grids.items()]
    panels = _panels(grids["validation_error"], losses, publish)
    return [Section(variants.heading(results.study, family), [*texts, panels, *parts])]


def _panels(grid: pd.DataFrame, losses: Losses, publish) -> Panels:
    """Draw the validation loss of each data set."""
    found = []
    loss = f"validation {losses.title}"
    datasets = list(grid["dataset"].unique())
    for dataset, stem in zip(datasets, stems(datasets), strict=True):
        mine = grid[grid["dataset"] == dataset]
        values = losses.scale * mine.pivot(index="beta", columns="tau", values="mean")
        values = values.rename_axis(index="β", columns="τ").rename("{:g}".format, axis=0)
        values = values.rename("{:g}".format, axis=1)
        limits = float(np.nanmin(values)), float(np.nanmax(values))
        figure = charts.heat_map(values, losses.heading(loss), limits, f".{losses.digits}f")
        best = mine.loc[mine["mean"].idxmin()]
        alt = f"Lowest: {losses.text(best['mean'])} with β = {best['beta']:g}, τ = {best['tau']:g}"
        title = f"{dataset}: {loss} over β and τ"
        found.append((dataset, publish(figure, stem, mine, title, alt)))
    return Panels(found)


def _spread(grid: pd.DataFrame, losses: Losses) -> list[str]:
    """Compare the range of the grid with the spread over repeats, data set by data set."""
    lines = []
    for dataset, mine in grid.groupby("dataset", sort=False):
        best, worst = mine.loc[mine["mean"].idxmin()], mine.loc[mine["mean"].idxmax()]
        noise = np.sqrt(np.square(mine["std"]).mean())
        text = (
            f"{dataset}: from {losses.text(best['mean'])} (β = {best['beta']:g}, τ = "
            f"{best['tau']:g}) to {losses.text(worst['mean'])} (β = {worst['beta']:g}, τ = "
            f"{worst['tau']:g}), a range of {losses.size(worst['mean'] - best['mean'], 'points')}"
        )
        if np.isfinite(noise):
            text += f"; one setting varies by {losses.size(noise, 'points')} (standard deviation) "
            text += "over repeats"
        lines.append(text + ".")
    return lines


def _table(grid: pd.DataFrame, part: str, losses: Losses) -> Table:
    """Show one row per data set and beta, one column per tau."""
    taus = sorted(grid["tau"].unique())
    rows = []
    for (dataset, beta), mine in grid.groupby(["dataset", "beta"], sort=False):
        lowest = grid.loc[grid["dataset"] == dataset, "mean"].min()
        row = cells(dataset, f"{beta:g}")
        for tau in taus:
            cell = mine[mine["tau"] == tau]
            if cell.empty:
                row.append(Cell("–"))
                continue
            mean, std = cell.iloc[0][["mean", "std"]]
            text = losses.spread(mean, std)
            row.append(Cell(text, bool(np.isclose(mean, lowest, rtol=0, atol=1e-12))))
        rows.append(row)
    notes = ["Mean ± standard deviation over repeats; bold: lowest of the data set; –: not run."]
    caption = f"{part.capitalize()} {losses.title}{losses.in_percent}"
    columns = ["data set", "β", *(f"τ = {tau:g}" for tau in taus)]
    return Table(f"{part}-error", caption, columns, rows, grid, notes)


def grid(study: Mapping[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """Add ``beta`` and ``tau`` of each method's search to a table of mean losses.

    Sorted by data set (in the study's order), ``beta`` and ``tau``.
    """
    of = {m: variants.settings(study, m) for m in table["method"].unique()}
    for key in ("beta", "tau"):
        table = table.assign(**{key: table["method"].map({m: of[m][f"search.{key}"] for m in of})})
    order = pd.Categorical(table["dataset"], table["dataset"].unique())
    table = table.assign(_order=order).sort_values(["_order", "beta", "tau"])
    columns = ["dataset", "beta", "tau", "method", "mean", "std", "repeats"]
    return table[columns].reset_index(drop=True)
