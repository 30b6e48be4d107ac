"""Figures 3 and 4c: average ranks over iterations."""

import pandas as pd

from divbo.analysis import published, ranks
from divbo.analysis.load import Results
from divbo.report import beside, curve_figures, figures
from divbo.report.section import Section
from divbo.report.tables import Cell, Table
from divbo.report.view import View, view

TITLE, ORDER = "Figures 3 and 4c: ranks over iterations", 30
COLUMNS = {"validation": "validation_error", "test": "test_error"}


def build(results: Results, publish) -> list[Section] | str:
    """Draw the ranks in validation and in test error, and show those at the end."""
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    curves = {part: ranks.rank_curves(seen.compared, c) for part, c in COLUMNS.items()}
    k = len(seen.compared.methods)
    text = (
        "At every iteration the methods are ranked within each run (data set and repeat) and the "
        f"ranks are averaged over {seen.compared.runs} runs; ties share their ranks, so the ranks "
        f"of the {k} methods add up to {k * (k + 1) // 2}. Table 1 ranks mean errors instead, so "
        "its averages are other numbers. Validation error is the best observed so far, and "
        "ensembles are fitted to it: go by the test error."
    )
    if k > curve_figures.MANY:
        text += f" {curve_figures.FRAMES}"
    drawings = [_draw(part, curve, seen, publish) for part, curve in curves.items()]
    return [
        Section("Average ranks over iterations", [text, *drawings]),
        _ends(results, seen, curves),
    ]


def _draw(part: str, curve: pd.DataFrame, seen: View, publish) -> figures.Drawing:
    last = curve[curve["iteration"] == curve["iteration"].max()].sort_values("rank", kind="stable")
    ends = ", ".join(f"{m} {r:.2f}" for m, r in zip(last["method"], last["rank"], strict=True))
    return publish(
        curve_figures.rank_lines(curve, seen.compared.methods, seen.look),
        part,
        curve,
        f"Average rank in {part} error over iterations",
        f"At the last iteration: {ends}",
    )


def _ends(results: Results, seen: View, curves: dict[str, pd.DataFrame]) -> Section:
    printed = published.entry("validation-rank")["values"]
    last = {
        part: curve[curve["iteration"] == curve["iteration"].max()].set_index("method")["rank"]
        for part, curve in curves.items()
    }
    order = last["validation"].sort_values(kind="stable").index
    rows = []
    for method in order:
        ours = [Cell(f"{r[method]:.2f}", bool(r[method] == r.min())) for r in last.values()]
        theirs = beside.number(printed.get(method, float("nan")))
        rows.append([Cell(method), *ours, Cell(theirs)])
    columns = ["method", "validation error", "test error", "validation error, printed"]
    notes = [f"Printed: {beside.source('validation-rank')}, among the ten methods of the paper."]
    data = {"method": list(order), **{p: r[order].tolist() for p, r in last.items()}}
    data["published_validation"] = [printed.get(m) for m in order]
    caption = "Average ranks at the last iteration, ranked within each run"
    table = Table("last", caption, columns, rows, pd.DataFrame(data), notes)
    parts = [text] if (text := beside.caution(results.study, "validation-rank")) else []
    return Section("At the end", [*parts, table])
