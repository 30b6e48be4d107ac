"""Figures of the card: SVG within the page, and their data in CSV files beside it."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ensemble_search.predictor.rows import safe

#: Colours that colour-blind people can distinguish (Okabe & Ito; Tol), on white and on black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#6E7781")
#: Size of the plot area in pixels.
WIDTH, HEIGHT = 300, 190
#: Maximum number of letters of a word below the horizontal axis.
LETTERS = 14


@dataclass(frozen=True)
class Series:
    """A line, or points."""

    name: str  #: for the legend
    #: Numbers, of equal length; NaN interrupts the line.
    x: Sequence[float]
    y: Sequence[float]
    form: str = "line"  #: ``line``, ``dashed``, ``points`` or ``both``


@dataclass(frozen=True)
class Chart:
    """A figure."""

    name: str  #: stem of the CSV file
    title: str  #: what it shows
    #: Labels of the axes.
    x: str
    y: str
    series: Sequence[Series]  #: what to draw; there is a legend if there are two or more
    #: Names of the horizontal positions 0, 1, ..., if these are not numbers.
    words: Sequence[str] = ()
    #: Ends of the axes; default: those of the numbers.
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None

    def csv(self) -> str:
        """Write the data: ``series``, and the axes by name."""
        rows = (
            (one.name, self.words[int(x)] if self.words else f"{x:.6g}", f"{y:.6g}")
            for one in self.series
            for x, y in zip(one.x, one.y, strict=True)
        )
        return csv_text(("series", self.x, self.y), rows)

    def drawn(self) -> Mapping[str, Any]:
        """Return what the template draws, in pixels: ticks, and lines and points by colour."""
        xs = _limits(self.x_limits, (x for one in self.series for x in one.x), bool(self.words))
        ys = _limits(self.y_limits, (y for one in self.series for y in one.y))

        def at(x: float, y: float) -> tuple[float, float]:
            across, up = (x - xs[0]) / (xs[1] - xs[0]), (y - ys[0]) / (ys[1] - ys[0])
            return round(WIDTH * across, 1), round(HEIGHT * (1 - up), 1)

        shown = []
        for number, one in enumerate(self.series):
            pairs = list(zip(one.x, one.y, strict=True))
            path, down = [], False
            for x, y in pairs:
                if math.isnan(y):
                    down = False
                    continue
                path.append("{}{} {}".format("L" if down else "M", *at(x, y)))
                down = True
            dots = [(*at(x, y), f"{x:.4g}, {y:.4g}") for x, y in pairs if not math.isnan(y)]
            shown.append({
                "name": one.name, "colour": COLOURS[number % len(COLOURS)],
                "path": " ".join(path) if one.form != "points" else "",
                "dots": dots if one.form in ("points", "both") else [],
                "dashed": one.form == "dashed",
            })  # fmt: skip
        if self.words:
            across = [(at(i, ys[0])[0], _cut(word)) for i, word in enumerate(self.words)]
        else:
            across = [(at(t, ys[0])[0], f"{t:.6g}") for t in ticks(*xs)]
        up = [(at(xs[0], t)[1], f"{t:.6g}") for t in ticks(*ys)]
        return {"series": shown, "across": across, "up": up, "slanted": bool(self.words)}


def csv_text(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a CSV file in which no text is a formula; see ``predictor.rows.safe``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([safe(cell) for cell in row] for row in (head, *rows))
    return text.getvalue()


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two numbers: multiples of 1, 2 or 5 times a power of 10."""
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(f * unit for f in (1, 2, 5, 10) if (high - low) / (f * unit) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def _limits(
    given: tuple[float, float] | None, values: Iterator[float], words: bool = False
) -> tuple[float, float]:
    if given:
        return given
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    if words:
        return low - 0.5, high + 0.5
    room = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return low - room, high + room


def _cut(word: str) -> str:
    return word if len(word) <= LETTERS else f"{word[: LETTERS - 1]}…"
