"""Figures: files of few colours."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from ensemble_search.analysis.losses import ERROR
from ensemble_search.report.plots import charts, curve_figures, figures

pytestmark = pytest.mark.slow

LINES = ["#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#AA4499"]


def test_iterations_are_whole():
    methods = ["A", "B"]
    wide = pd.MultiIndex.from_product([range(1, 7), methods], names=["iteration", "method"])
    curves = wide.to_frame(index=False).assign(
        rank=1.5, mean=0.2, std=0.1, gap=0.1, seconds=1.0, search=lambda frame: frame["method"]
    )
    look = figures.styles(methods)
    for figure in (
        curve_figures.rank_lines(curves, methods, look, ERROR),
        curve_figures.error_panel(curves, methods, look, "test", ERROR),
        curve_figures.suggest_lines(curves, methods, look),
        charts.gap_lines(curves, methods, look, ERROR, "iteration"),
    ):
        (axes,) = figure.axes
        assert axes.get_xlabel() == "iteration"
        ticks = axes.get_xticks()
        assert len(ticks) > 2 and (ticks % 1 == 0).all()
    many = [f"M{i}" for i in range(12)]
    wide = pd.DataFrame(0.2, range(1, 4), many)
    (axes,) = curve_figures.multiples(wide, figures.styles(many), "error", (10, 30)).axes
    assert {"1", "2", "3"} <= {text.get_text() for text in axes.texts}
    assert not {"1.5", "2.5"} & {text.get_text() for text in axes.texts}


def test_thin_lines_keep_their_colours(tmp_path):
    """Among bands of many shades, as in error curves with ten methods."""
    figure = Figure(figsize=(5, 3))
    axes = figure.subplots()
    rng = np.random.default_rng(0)
    for colour in LINES:
        axes.plot(rng.random(40).cumsum(), color=colour, linewidth=1.2)
        axes.fill_between(range(40), rng.random(40) * 5, 20, color=colour, alpha=0.1)
    figures._write_png(figure, tmp_path / "x.png")
    image = Image.open(tmp_path / "x.png")
    assert image.mode == "P" and len(image.getcolors()) <= figures.SHADES
    pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    for colour in [*LINES, "#000000", "#FFFFFF"]:
        away = np.abs(pixels - np.round(255 * np.array(to_rgb(colour)))).max(axis=1)
        assert (away <= 1).sum() > 100, colour


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1.9, 6.5, ["2", "3", "4", "5", "6"]),
        (0.3, 9, ["0.5", "1", "2", "5"]),
        (7, 52, ["10", "20", "50"]),
        (0.5, 2000, ["1", "10", "100", "1000"]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_plain_numbers(low, high, labels):
    with mpl.rc_context(figures.STYLE):
        figure = Figure(figsize=(3.6, 2.5))
        axes = figure.subplots()
        axes.plot([low, high], [0, 1])
        axes.set(xscale="log", xlim=(low, high))
        figures.log_ticks(axes.xaxis)
        figure.draw_without_rendering()
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    assert [label.get_text() for x, label in ticks if low <= x <= high] == labels
    assert not any(label.get_text() for label in axes.get_xticklabels(minor=True))
