"""Figures 3 and 4c: average ranks over iterations or full fits."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ensemble_search.analysis import curves, ranks
from ensemble_search.analysis.load import Results
from ensemble_search.papers import agreement, variants
from ensemble_search.report.plots import curve_figures, figures
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table, number
from ensemble_search.report.view import View, view

TITLE, ORDER = "Ranks over the budget", 30
PAPER = "Figures 3 and 4c of Shen et al. (2022)"
COLUMNS = {"validation": "validation_error", "test": "test_error"}
POST_HOC = "test, post-hoc designs"
#: Optimizers that search for an ensemble directly; the paper lists them separately (Section 4.1).
DIRECT = {"ensemble-optimization", "neural-ensemble-search"}


def build(results: Results, publish) -> list[Section] | str:
    """Draw the ranks in validation and test loss, and tabulate the final ones."""
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    losses, unit = seen.losses, curves.unit(results.study)
    over = curves.over_budget(results, seen.compared)
    by_part = {part: ranks.rank_curves(over, c) for part, c in COLUMNS.items()}
    text = (
        f"At every {unit} the methods are ranked within each repeat of each data set, and the "
        f"ranks are averaged over all {seen.compared.runs} repeats; ties share their ranks, and "
        "methods without a model so far the highest, so "
        f"{_sum(len(seen.compared.methods))}. The tables over data sets rank mean "
        f"{losses.plural} instead, so their averages differ. Validation {losses.title} is the "
        "best observed so far, and optimistic, because ensembles are fitted to it: judge methods "
        f"by the test {losses.title}."
    )
    if len(seen.compared.methods) > curve_figures.MANY:
        text += f" {curve_figures.FRAMES}"
    drawings = [
        _draw(part, curve, f"Average rank in {part} {losses.title} over {unit}s", seen, publish)
        for part, curve in by_part.items()
    ]
    sections = [Section(f"Average ranks over {unit}s", [text, *drawings])]
    among = [m for m in post_hoc(results.study) if m in seen.compared.methods]
    if len(among) > 1:
        section, by_part[POST_HOC] = _post_hoc(results, among, seen, publish)
        sections.append(section)
    return [*sections, _ends(results, seen, by_part)]


def _sum(k: int) -> str:
    return f"the ranks of the {k} methods add up to {k * (k + 1) // 2}"


def _post_hoc(results: Results, among: list[str], seen: View, publish):
    """Rank the post-hoc designs among themselves, as Figure 4c does."""
    compared = curves.over_budget(results, results.comparison(among))
    unit = curves.unit(results.study)
    loss = f"test {seen.losses.title}"
    curve = ranks.rank_curves(compared, "test_error")
    others = [m for m in seen.compared.methods if m not in compared.methods]
    text = (
        "Figure 4c of the paper ranks its four post-hoc designs among themselves: methods that "
        "build an ensemble from the evaluations of a search for single models. Here these are "
        f"{', '.join(compared.methods)}, ranked on {compared.runs} runs; "
        f"{_sum(len(compared.methods))}."
    )
    if others:
        text += (
            f" Not ranked here: {', '.join(others)} (the best single model, or a search that works "
            "on an ensemble of its own)."
        )
    title = f"Average rank in {loss} of the post-hoc designs over {unit}s"
    drawing = _draw("post-hoc", curve, title, seen, publish, compared.methods)
    parts: list[Any] = [text, drawing]
    if seen.reference in compared.methods:
        parts.append(_lead(curve, seen, f"{loss} among the post-hoc designs"))
    return Section("Post-hoc designs among themselves", parts), curve


def post_hoc(study: Mapping[str, Any]) -> list[str]:
    """Methods that build an ensemble from the evaluations of a search for single models.

    The paper's post-hoc designs (Section 2): RS-ES, BO-ES, RB-ES and DivBO. Methods that deliver
    their best model are excluded, as are searches for an ensemble of their own (:data:`DIRECT`).
    """
    return [
        method
        for method in study["methods"]
        if (found := variants.settings(study, method))["ensemble.type"] != "best"
        and found["search.optimizer"] not in DIRECT
    ]


def _draw(
    name: str, curve: pd.DataFrame, title: str, seen: View, publish, methods=None
) -> figures.Drawing:
    ends = ", ".join(f"{m} {r:.2f}" for m, r in _last(curve).items())
    methods, unit = methods or seen.compared.methods, curves.unit(seen.study)
    return publish(
        curve_figures.rank_lines(curve, methods, seen.look, seen.losses, unit),
        name,
        curve,
        title,
        f"At the last {unit}: {ends}",
    )


def _last(curve: pd.DataFrame) -> pd.Series:
    """Average ranks at the last iteration, lowest first."""
    last = curve[curve["iteration"] == curve["iteration"].max()]
    return last.set_index("method")["rank"].sort_values(kind="stable")


def _lead(curve: pd.DataFrame, seen: View, what: str) -> str:
    """Return the iteration, or full fit, from which the reference leads."""
    method = seen.reference
    first = leads_from(curve, method)
    if first is None:
        return f"{method} does not have the lowest average rank in {what} at the end."
    unit, last = curves.unit(seen.study), curve["iteration"].max()
    when = f"from {unit} {first} of {last} on" if first < last else f"only at the last {unit}"
    return f"{method} has the lowest average rank in {what} {when}."


def _beside(seen: View, curve: pd.DataFrame) -> list[str]:
    """Compare the paper's statements on validation ranks with ours."""
    lead = _lead(curve, seen, f"validation {seen.losses.title}")
    last = _last(curve).drop(seen.reference)
    second = f"The best of the others is {last.index[0]} with {last.iloc[0]:.2f}."
    if seen.reference == "DivBO" and seen.losses.is_error:
        after = agreement.entry("leads-from")["values"]["DivBO"]
        printed = agreement.entry("second-validation-rank")["values"]["second"]
        lead += f" {agreement.source('leads-from')}: after about {after} of 250."
        second += f" The paper's second-best, which it does not name there, has {printed}."
    return [lead, second]


def _ends(results: Results, seen: View, by_part: dict[str, pd.DataFrame]) -> Section:
    printed = agreement.values(results.study, "validation-rank")
    last = {part: _last(curve) for part, curve in by_part.items()}
    order = last["validation"].index
    rows = []
    for method in order:
        ours = [
            Cell(f"{r[method]:.2f}", bool(r[method] == r.min())) if method in r else Cell("–")
            for r in last.values()
        ]
        rows.append([Cell(method), *ours])
    loss = seen.losses.title
    columns = ["method", f"validation {loss}", f"test {loss}"]
    columns += [f"test {loss}, post-hoc designs"] * (POST_HOC in last)
    names = {POST_HOC: "post_hoc"}
    data = {"method": list(order)}
    data |= {names.get(p, p): r.reindex(order).tolist() for p, r in last.items()}
    parts, notes = [], []
    if printed:
        for method, row in zip(order, rows, strict=True):
            row.append(Cell(number(printed.get(method, float("nan")))))
        columns.append("validation error, printed")
        data["published_validation"] = [printed.get(m) for m in order]
        source = agreement.source("validation-rank")
        notes = [f"Printed: {source}, among the ten methods of the paper."]
        parts = agreement.caution(results.study, "validation-rank")
    caption = "Average ranks at the end, ranked within each repeat"
    table = Table("last", caption, columns, rows, pd.DataFrame(data), notes)
    return Section("At the end", [*parts, table, *_beside(seen, by_part["validation"])])


def leads_from(curves: pd.DataFrame, method: str) -> int | None:
    """Return the iteration from which a method's average rank stays the lowest until the end.

    ``curves`` come from ``ranks.rank_curves``; None if its rank is not the single lowest at the
    end.
    """
    wide = curves.pivot(index="iteration", columns="method", values="rank").round(9)
    ahead = wide[method] < wide.drop(columns=method).min(axis=1)
    behind = ahead.index[~ahead]
    if not ahead.iloc[-1]:
        return None
    return int(ahead.index[0] if behind.empty else ahead.index[ahead.index > behind[-1]][0])
