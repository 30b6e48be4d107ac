"""Results of each method per data set, and curves over iterations and seconds (Figure 4)."""

from functools import partial

import numpy as np
import pandas as pd

from ensemble_search.analysis import curves, deliverables, origins, wall_clock
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import DIGITS
from ensemble_search.analysis.times import duration
from ensemble_search.report.build import stems
from ensemble_search.report.plots import curve_figures, figures
from ensemble_search.report.plots.figures import Drawing
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Cell, Table, cells, number
from ensemble_search.report.view import View, view

TITLE, ORDER = "Data set by data set", 40
PAPER = "Figure 4 of Shen et al. (2022)"
ABOUT = (
    "Lines are means over repeats; shading is ± one standard deviation (with many methods, only "
    "the reference's). Curves begin where every repeat has a model. The vertical axis is scaled to "
    "the values after the first fifth of the horizontal axis, so the beginning may lie above it.",
    "Test {loss}: that of what the method would deliver at that time. It may rise, because it is "
    "not used for selection. Validation {loss}: the best observed so far. It can only fall, and it "
    "is optimistic, because models and ensembles are selected by it. Seconds count fitting and "
    "predicting; a run that has ended keeps its last {loss}.",
)


def build(results: Results, publish) -> list[Section] | str:
    """Show a table and the curves of each data set."""
    seen = view(results)
    if isinstance(seen, str):
        return seen
    scores, losses = curves.over_budget(results, seen.compared).scores, seen.losses
    unit = curves.unit(results.study)
    table = deliverables.deliverables(results)
    recorded = origins.recorded(results.manifests)
    over = {part: curves.error_curves(scores, f"{part}_error") for part in ("test", "validation")}
    timed = wall_clock.over_time(results, wall_clock.fitted(results.observations))
    whole = timed[["mean", "std"]].where(timed["models"] == 1)
    over["seconds"] = timed[["dataset", "method", "seconds"]].join(whole).dropna(subset="mean")
    about = [losses.fill(text) for text in ABOUT]
    if recorded:
        about.append(origins.RECORDED[recorded])
    if len(seen.compared.methods) > curve_figures.MANY:
        about.append(curve_figures.FRAMES)
    few = len(seen.compared.methods) <= curve_figures.FEW
    legend = figures.legend(seen.key) if few else {}
    sections = [Section("How to read the curves", about)]
    datasets = seen.compared.datasets
    for dataset, stem in zip(datasets, stems(datasets), strict=True):
        draw = partial(_draw, dataset, stem, seen, publish, unit)
        own = {part: data[data["dataset"] == dataset] for part, data in over.items()}
        panels = [draw(part, data) for part, data in own.items() if len(data)]
        shown = _table(table[table["dataset"] == dataset], stem, dataset, seen, recorded)
        sections.append(Section(dataset, [shown, Panels(panels, legend, wide=not few)]))
    return sections


def _draw(
    dataset: str, stem: str, seen: View, publish, unit: str, part: str, curve: pd.DataFrame
) -> tuple[str, Drawing]:
    losses, methods = seen.losses, seen.compared.methods
    axis, loss = ("seconds", "test") if part == "seconds" else ("iteration", part)
    what = f"{loss} {losses.title} over {f'{unit}s' if axis == 'iteration' else 'fitting time'}"
    last = curve[curve[axis] == curve[axis].max()]
    ends = ", ".join(f"{r.method} {losses.text(r.mean)}" for r in last.itertuples())
    figure = curve_figures.error_panel(curve, methods, seen.look, loss, losses, axis, unit)
    data, title = curve.drop(columns="dataset"), f"{dataset}: {what}"
    key = seen.key if len(methods) <= curve_figures.FEW else None
    drawing = publish(figure, f"{part}-{stem}", data, title, f"At the end: {ends}", key=key)
    return what[0].upper() + what[1:], drawing


def _table(lines: pd.DataFrame, stem: str, dataset: str, seen: View, recorded: str) -> Table:
    losses = seen.losses
    best = lines["test"].round(DIGITS).min()
    rows = []
    for line in lines.to_dict("records"):
        test = Cell(losses.spread(line["test"], line["std"]), round(line["test"], DIGITS) == best)
        others = [losses.value(line["validation"]), number(line["members"], 1)]
        others += [number(line["milliseconds"], 1), duration(line["seconds"])]
        rows.append([Cell(line["method"]), test, *cells(*others)])
    columns = ["method", *(losses.heading(f"{p} {losses.title}") for p in ("test", "validation"))]
    columns += ["members", "ms to predict 1000 rows"]
    columns.append(f"fitting per run, {recorded}" if recorded else "fitting per run")
    caption = f"{dataset}: what the methods deliver, means over repeats (± standard deviation)"
    notes = []
    if np.isfinite(lines["milliseconds"]).any():
        measured = deliverables.measured_on(lines["rows"], recorded)
        notes.append(f"Time to predict: the sum over the members {measured}.")
    return Table(stem, caption, columns, rows, lines, notes)
