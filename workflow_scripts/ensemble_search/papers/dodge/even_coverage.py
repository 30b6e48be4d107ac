"""Figure 1: how evenly designs cover a range."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ensemble_search.analysis.load import Results
from ensemble_search.dpp.coverage import SAMPLERS
from ensemble_search.report.plots import figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Cell, Table, number
from ensemble_search.results import layout, readers

TITLE, ORDER = "How evenly designs cover a range", 170
PAPER = "Figure 1 of Dodge et al. (2017)"
NAMES = {
    "discrepancy": "star discrepancy",
    "centre": "squared distance to the centre",
    "origin": "squared distance to the origin",
}
MEASURES = (*NAMES,)
#: Maximum number of columns of the table.
SIZES = 6
UNIFORM = "uniform, by formula"
ABOUT = (
    "All four samplers draw k points from 0 to 1. uniform: independent points. sobol: the first k "
    "points of the Sobol sequence, all shifted by one uniform number modulo 1. seq-pv: one point "
    "after the other from 10 000 candidates, with probability proportional to the posterior "
    "variance of a Gaussian process. This is what Dodge et al. (2017) draw and call a k-DPP, "
    "which it is not exactly. k-dpp: an exact k-DPP on 2000 equal cells, with a uniform point in "
    "each cell drawn. The last two have the same kernel, RBF with σ = √2 / k."
)
READING = (
    "Star discrepancy: the largest difference, over all intervals that begin at 0, between the "
    "share of the points in an interval and its length. It is at least 1 / (2k), the dash-dotted "
    "line. For uniform points it shrinks like 1 / √k, for a Sobol sequence at worst like "
    "log k / k. A k-DPP is between them: with many points it also shrinks like 1 / √k, but by a "
    "constant factor below uniform points, because σ shrinks like 1 / k, so that designs of all "
    "sizes look alike except for their scale.",
    "Distances: from the centre, 1/2, and from the origin to the nearest point, as if the optimum "
    "were there. With every sampler the squared distances shrink like 1 / k²; only the factors "
    "differ. Points that repel each other leave smaller gaps, and are pushed to the ends of the "
    "range, where they have neighbours on one side only. The dotted lines are exact medians for "
    "uniform points; the line of the sampler uniform should agree with them.",
    "With several hundred points, squared distances below 10⁻⁷ also reflect the cells of the "
    "k-DPP, of width 1 / 2000, and the steps of the grid of seq-pv, 1 / 9999.",
)


def build(results: Results, publish) -> list[Section] | str:
    """Draw medians and quartiles over k, and tabulate some of them."""
    section = results.study.get("spread")
    if not section:
        return "the study measures no designs (key spread)"
    designs, missing = load(results.study, results.folder)
    if designs.empty:
        return "no sampler of designs has finished"
    found = summary(designs)
    how = (
        "Lines: medians; bands: from the lower to the upper quartile; "
        f"{section['samples']} designs of each sampler and size. In all panels lower is better."
    )
    lack = [f"Missing: {'; '.join(missing)}."] if missing else []
    parts: list[Any] = [ABOUT, how, *lack, _panels(found, publish), _table(found)]
    return [
        Section("How evenly do they cover the range?", parts),
        Section("What to look for", list(READING)),
    ]


def _panels(summary: pd.DataFrame, publish) -> Panels:
    look = figures.styles(list(dict.fromkeys(summary["sampler"])))
    sizes = np.unique(summary["size"])
    exact = uniform_medians(sizes)
    drawings = []
    for measure, name in NAMES.items():
        mine = summary[summary["measure"] == measure]
        bound = pd.Series(0.5 / sizes, sizes) if measure == "discrepancy" else None
        ends = mine[mine["size"] == sizes[-1]]
        at = (f"{s} {m:.2g}" for s, m in zip(ends["sampler"], ends["median"], strict=True))
        drawing = publish(
            _lines(mine, look, exact[measure], bound, name),
            measure,
            mine.merge(exact[measure].rename("uniform_exact"), left_on="size", right_index=True),
            f"{name.capitalize()} over the number of points, both logarithmic",
            f"Medians of {sizes[-1]} points: {', '.join(at)}",
            key=look,
        )
        drawings.append((name.capitalize(), drawing))
    return Panels(drawings, figures.legend(look))


def _lines(
    mine: pd.DataFrame, look: dict[str, dict], exact: pd.Series, bound: pd.Series | None, name: str
) -> Figure:
    """Draw medians as lines and quartiles as shaded areas, on logarithmic axes."""
    with figures.panel() as (figure, axes):
        for place, (sampler, part) in enumerate(mine.groupby("sampler", sort=False)):
            k, low, median, high = (part[c] for c in ("size", "lower", "median", "upper"))
            axes.fill_between(k, low, high, color=look[sampler]["color"], alpha=0.15, linewidth=0)
            axes.plot(k, median, markevery=(place, 6), **look[sampler])
        axes.plot(exact, color="black", linestyle=":", linewidth=0.9, zorder=6)
        if bound is not None:
            axes.plot(bound, color="black", linestyle="-.", linewidth=0.9)
        axes.set(xlabel="points k", xscale="log", yscale="log")
        # Long names and small numbers do not fit next to the axis; this corner is empty.
        axes.text(0.98, 0.98, name, ha="right", va="top", transform=axes.transAxes)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
    return figure


def _table(summary: pd.DataFrame) -> Table:
    """Show medians at some sizes, the exact ones for uniform points, and slopes."""
    sizes = np.unique(summary["size"])
    shown = sizes[np.unique(np.linspace(0, len(sizes) - 1, SIZES).round().astype(int))]
    exact = uniform_medians(sizes)
    formula = pd.concat(
        pd.DataFrame({"measure": m, "sampler": UNIFORM, "size": sizes, "median": exact[m]})
        for m in NAMES
    )
    both = pd.concat([summary, formula], ignore_index=True)
    fitted = slopes(both)
    medians = both.set_index(["measure", "sampler", "size"])["median"]
    rows = []
    for measure, name in NAMES.items():
        for sampler in dict.fromkeys(both["sampler"]):
            values = (medians.get((measure, sampler, size), np.nan) for size in shown)
            row = [name, sampler, *(f"{v:.2g}" if np.isfinite(v) else "–" for v in values)]
            rows.append([*map(Cell, row), Cell(number(fitted[measure, sampler]).replace("-", "−"))])
    columns = ["median", "sampler", *(f"k = {size}" for size in shown), "slope"]
    notes = [
        "Slope: of the line through log median over log k, from a tenth of the largest k on: −0.5 "
        "where the median shrinks like 1 / √k, −1 like 1 / k, −2 like 1 / k².",
    ]
    caption = "Medians at some numbers of points"
    return Table("medians", caption, columns, rows, summary, notes)


def load(study: Mapping[str, Any], results: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read the measurements of a study's designs from its folder ``results``.

    Returns one row per design: ``sampler``, ``size``, ``sample`` and :data:`MEASURES`; and the
    files that are missing or were made with other settings, with the reason. Raises Unusable if a
    file is damaged.
    """
    asked = {**(study.get("spread") or {}), "seed": study.get("seed")}
    jobs = [({"sampler": sampler}, asked) for sampler in SAMPLERS if study.get("spread")]
    pattern = f"{layout.SPREAD}/spread.parquet"
    return readers.of_jobs(readers.spread, results, pattern, jobs, ["sampler", *readers.SPREAD])


def summary(designs: pd.DataFrame) -> pd.DataFrame:
    """Compute medians and quartiles over the designs of each sampler and size.

    One row per measure, sampler and size: ``lower``, ``median``, ``upper``.
    """
    long = designs.melt(["sampler", "size", "sample"], MEASURES, var_name="measure")
    groups = long.groupby(["measure", "sampler", "size"], sort=False)["value"]
    quartiles = groups.quantile([0.25, 0.5, 0.75]).unstack()
    return quartiles.set_axis(["lower", "median", "upper"], axis=1).reset_index()


def slopes(summary: pd.DataFrame) -> pd.Series:
    """Fit lines to log median over log size, from a tenth of the largest size on.

    By measure and sampler: -1/2 if medians shrink like 1 / sqrt(k), -1 if like 1 / k. NaN if there
    are fewer than 2 sizes or a median is 0.
    """
    late = summary[10 * summary["size"] >= summary["size"].max()]

    def slope(part: pd.DataFrame) -> float:
        if len(part) < 2 or not part["median"].all():
            return np.nan
        return float(np.polyfit(np.log(part["size"]), np.log(part["median"]), 1)[0])

    groups = late.groupby(["measure", "sampler"], sort=False)[["size", "median"]]
    return groups.apply(slope)


def uniform_medians(sizes: np.ndarray) -> pd.DataFrame:
    """Compute the exact medians of independent uniform points, by number of points and measure.

    The star discrepancy of uniform points is the statistic of the two-sided Kolmogorov-Smirnov
    test.
    """
    from scipy.stats import kstwo

    # All k points miss what is within r of the origin with probability (1 - r)^k.
    radius = -np.expm1(-np.log(2) / sizes)
    medians = {
        "discrepancy": kstwo.median(sizes), "centre": (radius / 2) ** 2, "origin": radius**2
    }  # fmt: skip
    return pd.DataFrame(medians, index=sizes)
