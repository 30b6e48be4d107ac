"""Heat maps, the critical-difference diagram and the gap between test and validation."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ensemble_search.analysis.friedman import Friedman
from ensemble_search.analysis.losses import Losses
from ensemble_search.report.plots.figures import STYLE, whole_ticks


def heat_map(
    values: pd.DataFrame, label: str, limits: tuple[float, float], text: str | None = None
) -> Figure:
    """Draw a table as coloured squares, with its index as rows and its columns as columns.

    NaN stays white; the names of index and columns become the axes' labels. ``label`` is the
    meaning of the colours, ``limits`` the values of the darkest and the lightest, and ``text`` the
    format of the numbers in the squares, such as ``.1f``; None: no numbers.
    """
    rows, columns = values.shape
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6, 2.9), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(
            values, cmap="viridis", vmin=limits[0], vmax=limits[1], aspect="auto",
            interpolation="nearest",
        )  # fmt: skip
        axes.grid(visible=False)
        for axis, names, most in ((axes.xaxis, values.columns, 12), (axes.yaxis, values.index, 16)):
            step = -(-len(names) // most)
            axis.set_ticks(range(0, len(names), step), names[::step])
            axis.set_label_text(names.name)
        for row, column in np.ndindex(rows, columns) if text else ():
            if np.isfinite(value := values.iat[row, column]):
                colour = "white" if value < sum(limits) / 2 else "black"
                shown = format(value, text or "")
                axes.text(column, row, shown, ha="center", va="center", color=colour)
        figure.colorbar(image, label=label)
    return figure


def critical_difference(test: Friedman, look: dict[str, dict]) -> Figure:
    """Draw average ranks on an axis; bars join methods that Nemenyi's test does not separate.

    As in Demsar (JMLR 7, 2006, Figure 1): names of the lower half of the ranks are on the left,
    those of the upper half on the right.
    """
    k = len(test.ranks)
    groups = test.groups()
    left = (k + 1) // 2
    bars = 0.28 * len(groups)
    depth = bars + 0.45 + 0.42 * left
    span = max(k - 1, 1)
    margin = 0.07 * (6 + max(map(len, test.ranks.index)))  # inches beside the axis, for the names
    width = 3.8 + 2 * margin
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 0.36 * (depth + 1.6) + 0.2))
        axes = figure.add_axes((margin / width, 0.02, 3.8 / width, 0.96))
        axes.set(xlim=(1, k), ylim=(-depth, 1.6))
        axes.axis("off")
        axes.plot([1, k], [0, 0], color="black", linewidth=0.9, clip_on=False)
        for tick in range(1, k + 1):
            axes.plot([tick, tick], [0, 0.14], color="black", linewidth=0.9, clip_on=False)
            axes.text(tick, 0.2, str(tick), ha="center", va="bottom")
        shown = min(test.difference, span)
        axes.plot([1, 1 + shown], [1.1, 1.1], color="black", linewidth=1.6, clip_on=False)
        more = ", longer than the axis" if test.difference > span else ""
        text = f"critical difference {test.difference:.2f}{more}"
        axes.text(1, 1.18, text, ha="left", va="bottom")
        for place, group in enumerate(groups):
            ends = test.ranks[group[0]] - 0.012 * span, test.ranks[group[-1]] + 0.012 * span
            y = -0.28 * (place + 1)
            axes.plot(ends, [y, y], color="black", linewidth=3, solid_capstyle="butt")
        for place, (name, rank) in enumerate(test.ranks.items()):
            best = place < left
            y = -bars - 0.45 - 0.42 * (place if best else k - 1 - place)
            edge = 1 - 0.02 * span if best else k + 0.02 * span
            line = {"color": look[name]["color"], "linewidth": 0.9, "clip_on": False}
            axes.plot([rank, rank, edge], [0, y, y], **line)
            text = f"{name}  {rank:.2f}" if best else f"{rank:.2f}  {name}"
            axes.annotate(
                text, (edge, y), xytext=(-3 if best else 3, 0), textcoords="offset points",
                ha="right" if best else "left", va="center", annotation_clip=False,
                fontweight="bold" if look[name]["linewidth"] > 2 else "normal",
            )  # fmt: skip
    return figure


def gap_lines(
    gaps: pd.DataFrame, methods: list[str], look: dict[str, dict], losses: Losses, unit: str
) -> Figure:
    """Draw test minus validation loss over iterations or full fits."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.0, max(3.4, 0.2 + 0.175 * len(methods))), layout="constrained")
        axes = figure.subplots()
        wide = losses.scale * gaps.pivot(index="iteration", columns="method", values="gap")
        for name in methods:
            step = max(1, len(wide) // 6)
            axes.plot(wide.index, wide[name], markevery=step, **look[name])
        axes.axhline(0, color="black", linewidth=0.6)
        late = wide.iloc[len(wide) // 10 :]
        if late.notna().any(axis=None):
            low, high = min(0.0, np.nanmin(late)), max(0.0, np.nanmax(late))
            margin = 0.06 * (high - low) or 0.5
            axes.set_ylim(low - margin, high + margin)
        axes.set(
            xlabel=unit,
            ylabel=losses.heading(f"test − validation {losses.title}", "points"),
            xlim=(0, wide.index[-1]),
        )
        whole_ticks(axes.xaxis)
        handles = [Line2D([], [], **look[m], label=m) for m in methods]
        figure.legend(handles=handles, loc="outside right upper", frameon=False)
    return figure
