"""Figures: files of few colours."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from ensemble_search.report.plots import figures

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
