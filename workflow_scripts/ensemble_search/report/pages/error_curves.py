"""Figure 4: error over iterations, data set by data set."""

from ensemble_search.analysis import curves
from ensemble_search.analysis.load import Results
from ensemble_search.report.build import stems
from ensemble_search.report.plots import curve_figures, figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.view import view

TITLE, ORDER = "Figure 4: error over iterations", 40
HOW = (
    "Line: mean over repeats, from the iteration on at which every repeat has a model; shade: one "
    "standard deviation either way (of many methods only the reference's). The vertical axis is "
    "fitted to the time after the first fifth of the budget, so the beginning may lie above it."
)
WHAT = {
    "test": "Test error of what the method would deliver at that iteration. It may rise: nobody "
    "can choose by it.",
    "validation": "Best validation error observed so far. It can only fall, and it is optimistic: "
    "models and ensembles are chosen by it.",
}


def build(results: Results, publish) -> list[Section] | str:
    """Draw the error curves of each data set, test and validation."""
    seen = view(results)
    if isinstance(seen, str):
        return seen
    many = len(seen.compared.methods) > curve_figures.MANY
    how = f"{HOW} {curve_figures.FRAMES}" if many else HOW
    sections = []
    datasets = seen.compared.datasets
    few = len(seen.compared.methods) <= curve_figures.FEW
    for part, text in WHAT.items():
        data = curves.error_curves(seen.compared.scores, f"{part}_error")
        drawings = []
        for dataset, stem in zip(datasets, stems(datasets), strict=True):
            mine = data[data["dataset"] == dataset].drop(columns="dataset")
            last = mine[mine["iteration"] == mine["iteration"].max()]
            ends = (f"{r.method} {100 * r.mean:.2f} %" for r in last.itertuples())
            drawing = publish(
                curve_figures.error_panel(mine, seen.compared.methods, seen.look, part),
                f"{part}-{stem}",
                mine,
                f"{dataset}: {part} error over iterations",
                f"At the last iteration: {', '.join(ends)}",
                key=seen.key if few else None,
            )
            drawings.append((dataset, drawing))
        panels = Panels(drawings, figures.legend(seen.key) if few else {}, wide=not few)
        title = f"{part.capitalize()} error"
        sections.append(Section(title, [text, *([] if sections else [how]), panels]))
    return sections
