"""Figure 4: loss over iterations, or full fits, data set by data set."""

from ensemble_search.analysis import curves, full_fits
from ensemble_search.analysis.load import Results
from ensemble_search.report.build import stems
from ensemble_search.report.plots import curve_figures, figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.view import view

TITLE, ORDER = "Curves: {loss} over the budget", 40
PAPER = "Figure 4 of Shen et al. (2022)"
HOW = (
    "Line: mean over repeats, from where on every repeat has a model; shade: one "
    "standard deviation either way (of many methods only the reference's). The vertical axis is "
    "fitted to the time after the first fifth of the budget, so the beginning may lie above it."
)
WHAT = {
    "test": "Test {loss} of what the method would deliver there. It may rise: nobody can choose by "
    "it.",
    "validation": "Best validation {loss} observed so far. It can only fall, and it is optimistic: "
    "models and ensembles are chosen by it.",
}


def build(results: Results, publish) -> list[Section] | str:
    """Draw the curves of each data set, test and validation."""
    seen = view(results)
    if isinstance(seen, str):
        return seen
    losses, unit = seen.losses, full_fits.unit(results.study)
    scores = full_fits.over_budget(results, seen.compared).scores
    many = len(seen.compared.methods) > curve_figures.MANY
    how = f"{HOW} {curve_figures.FRAMES}" if many else HOW
    sections = []
    datasets = seen.compared.datasets
    few = len(seen.compared.methods) <= curve_figures.FEW
    for part, text in WHAT.items():
        data = curves.error_curves(scores, f"{part}_error")
        drawings = []
        for dataset, stem in zip(datasets, stems(datasets), strict=True):
            mine = data[data["dataset"] == dataset].drop(columns="dataset")
            last = mine[mine["iteration"] == mine["iteration"].max()]
            ends = (f"{r.method} {losses.text(r.mean)}" for r in last.itertuples())
            drawing = publish(
                curve_figures.error_panel(
                    mine, seen.compared.methods, seen.look, part, losses, unit
                ),
                f"{part}-{stem}",
                mine,
                f"{dataset}: {part} {losses.title} over {unit}s",
                f"At the last {unit}: {', '.join(ends)}",
                key=seen.key if few else None,
            )
            drawings.append((dataset, drawing))
        panels = Panels(drawings, figures.legend(seen.key) if few else {}, wide=not few)
        title = f"{part.capitalize()} {losses.title}"
        about = [losses.fill(text), *([] if sections else [how])]
        sections.append(Section(title, [*about, panels]))
    return sections
