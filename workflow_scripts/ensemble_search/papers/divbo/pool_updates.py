"""Table 4: how often the ensemble still improves at the end of a search."""

import numpy as np
import pandas as pd

from ensemble_search.analysis import updates
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.papers import agreement
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells, number
from ensemble_search.report.view import view

TITLE, ORDER = "Updates of the ensemble", 70
PAPER = "Table 4 of Shen et al. (2022)"


def build(results: Results, publish) -> list[Section] | str:
    """Count the updates in the last 100 and 50 iterations, over all runs and by data set."""
    seen = view(results)
    if isinstance(seen, str):
        return seen
    methods = seen.ensembles
    if not methods:
        return "no method with results builds an ensemble"
    counts = updates.count(results, methods)
    spans = [n for n in updates.SPANS if counts[f"last_{n}"].notna().any()]
    if counts.empty or not spans:
        return f"it needs members.parquet of searches of more than {min(updates.SPANS)} iterations"
    printed = agreement.values(results.study, "pool-updates")
    parts: list = [_over_all(counts, methods, spans, seen.losses, printed)]
    if printed and (text := agreement.caution(results.study, "pool-updates")):
        parts.append(text)
    detail = [_by_dataset(counts, methods, n) for n in spans]
    return [
        Section("How often does the ensemble still improve?", parts),
        Section("Data set by data set", detail),
    ]


def _over_all(
    counts: pd.DataFrame, methods: list[str], spans: list[int], losses: Losses, printed: dict
) -> Table:
    # The paper's mean over data sets and repeats: data sets weigh alike.
    means = counts.groupby(["method", "dataset"], observed=True).mean(numeric_only=True)
    means = means.groupby(level="method").mean()
    runs = counts.groupby("method", observed=True).size()
    rows = []
    for method in methods:
        if method not in means.index:
            continue
        row = [method]
        for n in spans:
            row.append(number(means.loc[method, f"last_{n}"]))
            if printed:
                row.append(number(printed.get(method, {}).get(n, np.nan), 1))
        rows.append(cells(*row, runs[method]))
    columns = ["method"]
    for n in spans:
        columns += [f"last {n}", f"last {n}, printed"] if printed else [f"last {n}"]
    note = (
        "An update is effective if the members or weights of the ensemble change at an iteration "
        f"and its validation {losses.title} falls. Mean over repeats, then over data sets."
    )
    note += f" Printed: {agreement.source('pool-updates')}." if printed else ""
    data = means.drop(columns="repeat").loc[[m for m in methods if m in means.index]]
    data = data.rename_axis("method").reset_index()
    caption = "Effective updates of the ensemble in the last iterations of a run"
    return Table("counts", caption, [*columns, "runs"], rows, data, [note])


def _by_dataset(counts: pd.DataFrame, methods: list[str], span: int) -> Table:
    column = f"last_{span}"
    wide = counts.pivot_table(column, "dataset", "method", sort=False, observed=True)
    wide = wide[[m for m in methods if m in wide]]
    rows = [cells(d, *map(number, row)) for d, row in wide.iterrows()]
    data = counts[["method", "dataset", "repeat", column]]
    caption = f"Effective updates in the last {span} iterations, mean over repeats"
    return Table(f"last-{span}", caption, ["data set", *wide.columns], rows, data)
