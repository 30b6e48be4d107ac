"""Figures over iterations: lines, named at their ends or in a shared legend."""

from collections.abc import Iterable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D, AffineDeltaTransform, TransformedPatchPath

from ensemble_search.analysis.losses import Losses
from ensemble_search.report.plots.figures import STYLE, log_ticks, margins, whole_ticks

#: More methods than this cannot be distinguished in one small panel.
FEW = 6
#: More methods than this cannot be distinguished in a larger one, even with names at line ends.
MANY = 10
#: Text on a page with :func:`multiples` that explains them.
FRAMES = "In each frame, grey is the range of all methods and the dotted line the reference."
#: Maximum number of points along a curve: more would be invisible and make the page large.
POINTS = 100


def rank_lines(
    curves: pd.DataFrame, methods: list[str], look: dict, losses: Losses, unit: str = "iteration"
) -> Figure:
    """Draw average ranks over iterations, with names at the lines' ends (or :func:`multiples`).

    ``unit`` is what the column ``iteration`` counts.
    """
    wide = curves.pivot(index="iteration", columns="method", values="rank")[methods]
    limits = (wide.to_numpy().max() + 0.2, max(0.8, wide.to_numpy().min() - 0.3))
    return _lines(wide, look, f"average rank (1 = lowest {losses.title})", limits, unit)


def probability_lines(
    curves: pd.DataFrame, look: dict[str, dict], label: str, unit: str = "iteration"
) -> Figure:
    """Draw probabilities by method over iterations, as :func:`rank_lines` draws ranks."""
    wide = curves.pivot(index="iteration", columns="method", values="probability")
    return _lines(wide[curves["method"].unique()], look, label, (0, 1), unit)


def _lines(
    wide: pd.DataFrame, look: dict, label: str, limits: tuple[float, float], unit: str = "iteration"
) -> Figure:
    if wide.shape[1] > MANY:
        return multiples(wide, look, label, limits, unit=unit)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 3.7))
        axes = figure.subplots()
        margins(figure, bottom=0.4, left=0.75, right=_room(wide))
        for place, name in enumerate(wide):
            _line(axes, wide[name], look[name], place, wide.shape[1])
        axes.set(xlabel=unit, ylabel=label, ylim=limits)
        axes.set_xlim(wide.index[0], wide.index[-1])
        whole_ticks(axes.xaxis)
        _names(axes, wide.iloc[-1], look)
    return figure


def _label(axis: str, unit: str) -> str:
    return "seconds of fitting" if axis == "seconds" else unit


def _room(names: Iterable[str]) -> float:
    """Approximate width in inches of the longest name beside the lines; at most half a figure."""
    return min(0.3 + 0.075 * max(map(len, names)), 2.6)


def _names(axes, ends: pd.Series, look: dict[str, dict]) -> None:
    """Write names beside the right ends of the lines, moved apart if they would overlap."""
    low, high = sorted(axes.get_ylim())
    gap = (high - low) / 26
    ends = ends.sort_values(kind="stable")
    places = ends.to_numpy(copy=True)
    for _ in range(200):
        short = np.clip(gap - np.diff(places), 0, None)
        if not short.any():
            break
        places[:-1] -= short / 2
        places[1:] += short / 2
    for i in range(len(places) - 1, -1, -1):  # none above the axes ...
        places[i] = min(places[i], places[i + 1] - gap if i + 1 < len(places) else high)
    for i in range(len(places)):  # ... nor below
        places[i] = max(places[i], places[i - 1] + gap if i else low)
    x = axes.get_xlim()[1]
    beside = {"transform": axes.get_yaxis_transform(), "clip_on": False}
    for name, y, place in zip(ends.index, ends, places, strict=True):
        style, colour = look[name], look[name]["color"]
        # Separate artists: `plot` and `annotate` take several times as long.
        axes.add_artist(
            Line2D([x], [y], color=colour, marker=style["marker"], clip_on=False, zorder=6)
        )
        axes.add_artist(Line2D([1, 1.045], [y, place], color=colour, linewidth=0.6, **beside))
        weight = "bold" if style["linewidth"] > 2 else "normal"
        axes.add_artist(Text(1.05, place, name, va="center", fontweight=weight, **beside))


def error_panel(
    curves: pd.DataFrame,
    methods: list[str],
    look: dict,
    part: str,
    losses: Losses,
    axis: str = "iteration",
    unit: str = "iteration",
) -> Figure:
    """Draw one data set's losses: mean as a line, standard deviation shaded.

    The horizontal axis is the column ``axis`` of ``curves``: ``iteration``, which counts ``unit``,
    or ``seconds``, logarithmic. The vertical axis fits the losses after the first fifth of the
    horizontal one: earlier losses are so high that they would hide all else. With more than
    :data:`FEW` methods, the panel is larger, names are at the lines' ends, and only the thickest
    line is shaded; with more than :data:`MANY`, each has its own frame, without shades.
    """
    few = len(methods) <= FEW
    wide = losses.scale * curves.pivot(index=axis, columns="method", values="mean")
    wide = wide[[m for m in methods if m in wide]]
    spread = curves.pivot(index=axis, columns="method", values="std")
    spread = losses.scale * spread[wide.columns]
    limits = _late_limits(wide, spread.fillna(0) if few else 0 * spread.fillna(0))
    label = losses.heading(f"{part} {losses.title}")
    if len(methods) > MANY:
        return multiples(wide, look, label, limits, axis, unit)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6, 2.5) if few else (5.2, 3.9))
        axes = figure.subplots()
        sides = {} if few else {"left": 0.75, "right": _room(wide)}
        margins(figure, bottom=0.4, **sides)
        for place, name in enumerate(wide.columns):
            mean, std = _thin(wide[name]), _thin(spread[name]).fillna(0)
            style = look[name]
            if std.any() and (few or style["linewidth"] > 2):
                alpha = 0.15 if style["linewidth"] > 2 or len(methods) < 5 else 0.06
                shade = {"color": style["color"], "alpha": alpha, "linewidth": 0}
                axes.fill_between(mean.index, mean - std, mean + std, **shade)
            _line(axes, wide[name], style, place, len(methods))
        if limits:
            axes.set_ylim(limits)
        if axis == "seconds":
            axes.set(xscale="log", xlim=(wide.index[0], wide.index[-1]))
            log_ticks(axes.xaxis)
        else:
            axes.set_xlim(0, wide.index[-1])
            whole_ticks(axes.xaxis)
        axes.set(xlabel=_label(axis, unit), ylabel=label)
        if not few:
            _names(axes, wide.iloc[-1].dropna(), look)
    return figure


def _late_limits(wide: pd.DataFrame, deviation: pd.DataFrame) -> tuple[float, float] | None:
    """Fit the vertical axis to the losses after the first fifth; None if there are none."""
    late = wide.iloc[len(wide) // 5 :]
    if not late.notna().any(axis=None):
        return None
    low = max(0.0, np.nanmin(late - deviation.loc[late.index]))  # losses are not negative
    high = max(np.nanmax(late), np.nanmax((wide + deviation).iloc[-1]))
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def multiples(
    wide: pd.DataFrame,
    look: dict[str, dict],
    label: str,
    limits: tuple[float, float] | None = None,
    axis: str = "iteration",
    unit: str = "iteration",
) -> Figure:
    """Draw each method in its own small frame.

    The grey band is the range of all methods, the dotted line the method drawn thickest. ``wide``
    has iterations as index and one column per method; gaps (NaN) are bridged. ``label`` and
    ``limits`` (bottom and top; None: the range of the data) are of the vertical axis; ``axis`` and
    ``unit`` are as in :func:`error_panel`.
    """
    wide = _thin(wide)
    if axis == "seconds":
        wide = wide.set_axis(np.log10(wide.index))
    thickest = max(wide.columns, key=lambda name: look[name]["linewidth"])
    columns = min(4, wide.shape[1])
    rows = -(-wide.shape[1] // columns)
    low, high = wide.min(axis=1).dropna(), wide.max(axis=1).dropna()
    if limits is None:
        least, most = (low.min(), high.max()) if len(low) else (0, 1)
        margin = 0.05 * (most - least) or 0.5
        limits = least - margin, most + margin
    bottom, top = sorted(limits)
    start, size = wide.index[0], (wide.index[-1] - wide.index[0]) or 1
    marks = [_marks(start, start + size, whole=True), _marks(bottom, top)]
    places = [(1.1 * (i % columns), 1.3 * (rows - 1 - i // columns)) for i in range(wide.shape[1])]
    place = Affine2D().translate(-start, -limits[0]).scale(1 / size, 1 / np.diff(limits)[0])
    edges = np.clip([*low, *high[::-1]], bottom, top)
    band = place.transform(np.column_stack([[*low.index, *low.index[::-1]], edges]))
    with mpl.rc_context(STYLE):
        height = 0.5 + max(1.5, 1.05 * rows)
        figure = Figure(figsize=(5.6, height))
        # All frames are drawn in one pair of axes: separate axes would take three times as long.
        axes = figure.add_axes((0.12, 0.42 / height, 0.85, 1 - 0.59 / height))
        axes.axis("off")
        axes.set(xlim=(0, 1.1 * columns - 0.1), ylim=(0, 1.3 * rows - 0.3), autoscale_on=False)
        data: Any = axes.transData
        moved = AffineDeltaTransform(data)
        grey: dict[str, Any] = {"color": "#e8e8e8", "linewidth": 0, "transform": axes.transData}
        axes.add_collection(PolyCollection([band], offsets=places, offset_transform=moved, **grey))
        for i, (name, (x, y)) in enumerate(zip(wide.columns, places, strict=True)):
            frame = axes.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor="#c8c8c8"))
            inside: dict[str, Any] = {
                "transform": place + Affine2D().translate(x, y) + axes.transData,
                "clip_path": TransformedPatchPath(frame),
            }
            values = wide[name].dropna()
            style = {k: v for k, v in look[name].items() if k in ("color", "linewidth")}
            axes.plot(values.index, values, **style, **inside)
            if look[thickest]["linewidth"] > look[name]["linewidth"]:
                other = wide[thickest].dropna()
                dotted = {"linestyle": ":", "linewidth": 0.9, "color": look[thickest]["color"]}
                axes.plot(other.index, other, **dotted, **inside)
            axes.text(x + 0.5, y + 1.04, name, fontsize=7, ha="center")
            for mark in marks[0] if i + columns >= wide.shape[1] else ():
                at = x + place.transform((mark, limits[0]))[0]
                shown = f"{10**mark if axis == 'seconds' else mark:g}"
                axes.text(at, y - 0.04, shown, ha="center", va="top")
            for mark in marks[1] if x == 0 else ():
                at = y + place.transform((start, mark))[1]
                axes.text(-0.03, at, f"{mark:g}", ha="right", va="center")
        figure.supxlabel(_label(axis, unit), fontsize=8)
        figure.supylabel(label, x=0.003, fontsize=8)
    return figure


def _marks(low: float, high: float, whole: bool = False) -> list[float]:
    """Choose round numbers between two numbers."""
    places = MaxNLocator(4, integer=whole).tick_values(low, high)
    return [value for value in places if low <= value <= high]


def suggest_lines(curves: pd.DataFrame, searches: list[str], look: dict[str, dict]) -> Figure:
    """Draw the median seconds that a search needs to suggest, over iterations (logarithmic)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 3.0), layout="constrained")
        axes = figure.subplots()
        wide = curves.pivot(index="iteration", columns="search", values="seconds")
        wide = wide.where(wide > 0)
        for place, name in enumerate(s for s in searches if s in wide):
            _line(axes, wide[name], look[name], place, len(searches))
        if wide.notna().any(axis=None):
            axes.set_yscale("log")
            log_ticks(axes.yaxis)
        axes.set(xlabel="iteration", ylabel="seconds to suggest (median)")
        whole_ticks(axes.xaxis)
        handles = [Line2D([], [], **look[s], label=s) for s in searches if s in wide]
        figure.legend(handles=handles, loc="outside right upper", frameon=False)
    return figure


def _line(axes, values: pd.Series, style: dict, place: int, lines: int) -> None:
    """Draw a curve with few markers, shifted from line to line so that they do not overlap."""
    thin = _thin(values)
    step = max(1, len(thin) // 6)
    start = min(place * step // max(1, lines), len(thin) - 1)
    axes.plot(thin.index, thin, markevery=(start, step), **style)


def _thin(values):
    """Keep at most about :data:`POINTS` points, including the first and the last."""
    if len(values) <= POINTS:
        return values
    return values.iloc[np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(int))]
