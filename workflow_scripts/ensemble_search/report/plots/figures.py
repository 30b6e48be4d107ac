"""Figures of the report: matplotlib without a display; equal numbers give equal bytes."""

import base64
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from PIL import Image

from ensemble_search.analysis.losses import Losses
from ensemble_search.runtime import files

#: Colours that colour-blind people can distinguish (Okabe & Ito; Tol's muted set). Only the
#: reference method has the first one. Marker and dashes differ as well.
REFERENCE = "#D55E00"
COLOURS = ("#0072B2", "#009E73", "#AA4499", "#6E7781", "#B8860B", "#332288", "#882255", "#117733",
           "#000000")  # fmt: skip
DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
MARKERS = "osD^vPX<>*hp"
_OWN = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # for readers of the SVG text
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titley": 1.0,  # avoids a slow automatic placement
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "lines.markersize": 4,
    "svg.hashsalt": "divbo",
    "svg.fonttype": "none",  # text: letters drawn as paths would double the size
    "text.parse_math": False,
}
#: Resolution and number of colours of a PNG; fewer colours are visible at edges of lines at most.
DPI, SHADES = 200, 64
#: Significant digits of drawn numbers: more cannot be seen.
DIGITS = 6
#: All settings of matplotlib, so that a user's matplotlibrc does not affect the figures.
STYLE: Any = {k: v for k, v in mpl.rcParamsDefault.items() if not k.startswith("backend")} | _OWN


@dataclass(frozen=True)
class Drawing:
    """A figure as the page shows it."""

    name: str  #: stem of the files
    title: str  #: its caption
    alt: str  #: description for readers who cannot see it
    png: bool = False  #: whether there is a PNG, too
    #: Whether its colours encode values, so that a dark page must not change them.
    coloured: bool = False


def styles(names: list[str], reference: str | None = None) -> dict[str, dict]:
    """Give every name a colour, dashes and a marker; the reference is drawn thicker."""
    first = {"color": REFERENCE, "linestyle": "solid", "marker": "o", "linewidth": 2.2, "zorder": 5}
    others = [name for name in names if name != reference]
    table: dict[str, dict] = {}
    for place, name in enumerate(others):
        table[name] = {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": DASHES[(place + 1) % len(DASHES)],
            "marker": MARKERS[(place + 1) % len(MARKERS)],
            "linewidth": 1.3,
            "zorder": 3,
        }
    return {name: table.get(name, first) for name in names}


def publish(
    figure: Figure,
    name: str,
    data: pd.DataFrame,
    title: str,
    alt: str,
    *,
    folder: Path,
    prefix: str = "",
    png: bool = False,
    key: dict | None = None,
) -> Drawing:
    """Write ``<name>.svg`` and ``.csv`` into a folder; return what the page needs.

    ``name`` may be empty if ``prefix`` alone names the figure; ``data`` are the numbers drawn;
    ``title`` is the caption, and ``alt`` a description for readers who cannot see it. With ``png``,
    ``<name>.png`` is written, too. ``key`` has the styles by method: a panel gets a legend below
    it, which the page cuts off because it has its own.
    """
    name = (prefix + name).strip("-")
    if key:
        _add_legend(figure, key)
    _fix_layout(figure)
    with files.atomic(folder / f"{name}.svg") as temporary:
        temporary.write_bytes(_svg(figure))
    if png:
        with files.atomic(folder / f"{name}.png") as temporary:
            _write_png(figure, temporary)
    with files.atomic(folder / f"{name}.csv") as temporary:
        data.to_csv(temporary, index=False, lineterminator="\n", float_format=f"%.{DIGITS}g")
    return Drawing(name, title, alt, png, coloured=any(axes.images for axes in figure.axes))


def _fix_layout(figure: Figure) -> None:
    """Compute the layout once for all file formats."""
    engine = figure.get_layout_engine()
    if engine is not None:
        with mpl.rc_context(STYLE):
            engine.execute(figure)
            figure.set_layout_engine(None)


def _write_png(figure: Figure, path: Path) -> None:
    """Write a figure with few colours, which makes the file a fourth of the size."""
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    with mpl.rc_context(STYLE):
        canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3])
    # Other methods of Pillow mix the colours of thin lines.
    image = image.quantize(SHADES, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    image.save(path, format="png", dpi=(DPI, DPI))


def _svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    empty = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata=empty)
    text = buffer.getvalue().decode("utf-8")
    # Two decimals of a point are 1/100 of a screen pixel, and take a third of the bytes.
    text = re.sub(r'(?<=[ "])-?\d+\.\d{3,}|(?<=late\()-?\d+\.\d{3,}', _short, text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    text = re.sub(r"\n([LQC]) ", r"\1", text)  # path commands
    text = re.sub(r"(?<=M )[\d.-]+ [\d.-]+(?:L[\d.-]+ [\d.-]+)+", _steps, text)
    text = re.sub(r'(<use \S+) transform="translate\((\S+) 0\)"/>', r'\1 x="\2"/>', text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    return re.sub(r'<g id="[^"]*">', "<g>", text).encode("utf-8")


def _short(match: re.Match) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _steps(match: re.Match) -> str:
    """Write the points of a line as steps between them, which are shorter."""
    points = [[round(100 * float(v)) for v in point.split()] for point in match[0].split("L")]
    steps = [f"{(x - a) / 100:g} {(y - b) / 100:g}" for (a, b), (x, y) in pairwise(points)]
    return f"{match[0].partition('L')[0]}l{' '.join(steps)}"


def legend(look: dict[str, dict]) -> dict[str, str]:
    """Draw a sample of each line, as data URLs (``data:image/svg+xml``)."""
    samples = {}
    for name, style in look.items():
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(0.5, 0.14))
            axes = figure.add_axes((0, 0, 1, 1))
            axes.axis("off")
            axes.plot([0.05, 0.5, 0.95], [0.5] * 3, markevery=[1], **style)
            axes.set(xlim=(0, 1), ylim=(0, 1))
        samples[name] = data_address(_svg(figure))
    return samples


def data_address(svg: bytes) -> str:
    """Write an SVG image as a data URL, ``data:image/svg+xml;base64,...``."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"


def intervals(summary: pd.DataFrame, look: dict[str, dict], losses: Losses) -> Figure:
    """Draw average ranks with their intervals, best at the top."""
    n = len(summary)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 0.8 + 0.24 * n), layout="constrained")
        axes = figure.subplots()
        for place, (name, row) in enumerate(summary.iterrows()):
            style = look[name]
            y = n - place
            if np.isfinite(row["low"]):
                axes.plot([row["low"], row["high"]], [y, y], color=style["color"], linewidth=1.6)
            axes.plot(row["rank"], y, color=style["color"], marker=style["marker"], markersize=7)
        axes.set(
            xlim=(0.8, n + 0.2),
            ylim=(0.4, n + 0.6),
            xlabel=losses.fill("average rank in test {loss} (1 = lowest {loss})"),
        )
        axes.set_yticks(range(n, 0, -1), summary.index)
        axes.grid(axis="y", visible=False)
    return figure


def whole_ticks(axis: Axis) -> None:
    """Have ticks at integers only, for counts such as iterations."""
    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))


def time_bars(times: pd.DataFrame) -> Figure:
    """Draw mean minutes per run as stacked bars: fitting, suggesting and the rest."""
    n = len(times)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 1.0 + 0.3 * n), layout="constrained")
        axes = figure.subplots()
        y = np.arange(n, 0, -1)
        fit, suggest = times["fit"] / 60, times["suggest"] / 60
        axes.barh(y, fit, 0.62, color="#0072B2", label="fitting and predicting")
        look: dict[str, Any] = {"color": "#F0A860", "hatch": "////", "edgecolor": "#8A4B00"}
        axes.barh(y, suggest, 0.62, left=fit, label="suggesting", linewidth=0.5, **look)
        rest = times["rest"].fillna(0) / 60
        axes.barh(y, rest, 0.62, left=fit + suggest, color="#9AA0A6", label="other")
        axes.set_yticks(y, times.index)
        axes.set_xlabel("minutes per run (mean)")
        axes.grid(axis="y", visible=False)
        figure.legend(loc="outside upper right", ncols=3, frameon=False)
    return figure


def _add_legend(figure: Figure, look: dict[str, dict]) -> None:
    """Add a legend below a panel, so that its file is readable on its own."""
    columns = 4 if max(map(len, look)) <= 20 else 2
    lines = -(-len(look) // columns)
    with mpl.rc_context(STYLE):
        width, height = figure.get_size_inches()
        room = 0.05 + 0.14 * lines
        figure.set_size_inches(width, height + room)
        margins(figure, bottom=0.42 + room)
        handles = [Line2D([], [], **style, label=name) for name, style in look.items()]
        figure.legend(
            handles=handles, loc="lower center", ncols=columns, frameon=False, fontsize=5.5,
            columnspacing=1.0, handlelength=2.6, labelspacing=0.3,
        )  # fmt: skip


def log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers; if it spans few decades, also between them."""
    low, high = axis.get_view_interval()
    between = range(1, 10) if high < 4 * low else (1, 2, 5) if high < 100 * low else (1,)
    axis.set_major_locator(LogLocator(subs=between))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def margins(figure: Figure, bottom: float, left: float = 0.58, right: float = 0.1) -> None:
    """Set a panel's margins in inches, equal for all, so that panels line up."""
    width, height = figure.get_size_inches()
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - 0.08 / height)


@contextmanager
def panel() -> Iterator[tuple[Figure, Axes]]:
    """Make a small figure, one of several side by side, in the style of the report."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6, 2.5))
        axes = figure.subplots()
        margins(figure, bottom=0.4)
        yield figure, axes
