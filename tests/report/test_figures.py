"""Figures: files of few colours."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from ensemble_search.report.plots import figures

pytestmark = pytest.mark.slow

LINES = ["#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#AA4499"]


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
