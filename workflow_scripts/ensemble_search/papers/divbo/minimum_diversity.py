"""Figures 1 and 5: how different suggestions are from the ensemble, and how good its members."""

from collections.abc import Callable
from functools import partial

import pandas as pd

from ensemble_search.analysis import minimum_diversity
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.verdict import counted
from ensemble_search.papers import agreement
from ensemble_search.report.build import stems
from ensemble_search.report.plots import curve_figures
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Table, cells, number, spread
from ensemble_search.report.view import View, view

TITLE, ORDER = "Diversity of suggestions", 80
PAPER = "Figures 1 and 5 of Shen et al. (2022)"
WHAT = {
    "minimum": (
        "Minimum diversity",
        "Diversity (Eq. 3 of the paper, on the validation rows) of the learner that is suggested "
        "at an iteration from the most similar member of the ensemble that was built at the "
        "iteration before; mean over repeats, without evaluations that failed. Near 0: the search "
        "repeats what its ensemble has. Of bags, the member is the pipeline that was refitted.",
        "minimum diversity",
    ),
    "average": (
        "Average {loss} of members",
        "Validation {loss} of the ensemble's single members, mean over the unique ones and over "
        "repeats: whether diversity was paid for with worse members.",
        "average {loss} of members",
    ),
}

#: Entry of the printed figures.
PRINTED = {"minimum": "minimum-diversity", "average": "member-error"}


def build(results: Results, publish) -> list[Section] | str:
    """Draw both over the last fifth of the iterations, and show the means."""
    seen = view(results)
    if isinstance(seen, str):
        return seen
    methods = seen.ensembles
    if not methods:
        return "no method with results builds an ensemble"
    rows = minimum_diversity.follow(results, methods)
    if rows.empty or rows["minimum"].isna().all():
        return "it needs predictions and members of the searches, which are not there"
    summary = minimum_diversity.summary(rows)
    curves = minimum_diversity.curves(rows)
    sections = []
    for column, texts in WHAT.items():
        title, text, label = map(seen.losses.fill, texts)
        printed = agreement.values(results.study, PRINTED[column])
        parts: list = [
            f"{text} {curve_figures.FRAMES}",
            _table(column, summary, methods, seen, printed),
        ]
        here = [d for d in printed if d in set(summary["dataset"])]
        if here and (warning := agreement.caution(results.study, PRINTED[column], here)):
            parts.append(warning)
        parts.append(_panels(column, label, curves, methods, seen, publish))
        sections.append(Section(title, parts))
    return sections


def _table(
    column: str, summary: pd.DataFrame, methods: list[str], seen: View, printed: dict
) -> Table:
    """Show data sets × methods, and a row with the printed figures below a data set."""
    entry, losses = PRINTED[column], seen.losses
    write = losses.spread if column == "average" else partial(spread, digits=3)
    indexed = summary.set_index(["dataset", "method"])
    methods = [m for m in methods if m in set(summary["method"])]
    rows, beside = [], False
    for dataset in seen.study["datasets"]:
        if dataset not in indexed.index:
            continue
        lines = indexed.loc[dataset].reindex(methods)
        pairs = zip(lines[column], lines[f"{column}_std"], strict=True)
        rows.append(cells(dataset, *(write(*pair) for pair in pairs)))
        theirs = printed.get(dataset, {})
        if set(theirs) & set(methods):
            beside = True
            rows.append(cells(f"{dataset}, printed", *(f"{theirs.get(m, '–')}" for m in methods)))
    notes = [f"Printed: {agreement.source(entry)}, read as “around”."] if beside else []
    if column == "minimum":
        if beside:
            runs = agreement.entry("minimum-diversity-runs")["values"]["runs"]
            notes.append(
                f"Figure 1 of the paper is of {runs} runs on quake (10 by default elsewhere); ours "
                f"is of {counted(int(summary['repeats'].max()), 'run')} per data set."
            )
        caption = "Minimum diversity in the last fifth of the iterations, mean ± deviation of runs"
        notes.append(
            "The CSV has the variant of the text at Figure 1 too (fixed): diversity from the "
            "ensemble as it was before that fifth began."
        )
    else:
        loss = f"{losses.title}{losses.in_percent}"
        caption = f"Average validation {loss} of the members at the last iteration"
    data = summary[["dataset", "method", column, f"{column}_std", "repeats"]]
    data = data.assign(fixed=summary["fixed"]) if column == "minimum" else data
    return Table(column, caption, ["data set", *methods], rows, data, notes)


def _panels(
    column: str, label: str, curves: pd.DataFrame, methods: list[str], seen: View, publish
) -> Panels:
    names = list(dict.fromkeys(curves["dataset"]))
    scale, axis = 1, label
    write: Callable[[float], str] = partial(number, digits=3)
    if column == "average":
        losses = seen.losses
        axis = losses.heading(f"{losses.title} of members")
        scale, write = losses.scale, losses.text
    drawings = []
    for dataset, stem in zip(names, stems(names), strict=True):
        mine = curves.loc[curves["dataset"] == dataset, ["iteration", "method", column]]
        wide = mine.pivot(index="iteration", columns="method", values=column)
        wide = wide[[m for m in methods if m in wide]]
        means = (f"{m} {write(v)}" for m, v in wide.mean().items())
        drawing = publish(
            curve_figures.multiples(scale * wide, seen.look, axis),
            f"{column}-{stem}",
            mine,
            f"{dataset}: {label} over iterations",
            f"Means over these iterations: {', '.join(means)}",
        )
        drawings.append((dataset, drawing))
    return Panels(drawings, wide=True)
