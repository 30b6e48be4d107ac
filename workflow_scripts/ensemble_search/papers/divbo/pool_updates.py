"""Table 4: how often the ensemble still improves at the end of a search."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.ranks import DIGITS
from ensemble_search.papers import agreement
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells, number
from ensemble_search.report.view import view
from ensemble_search.runtime.files import Missing

TITLE, ORDER = "Updates of the ensemble", 70
PAPER = "Table 4 of Shen et al. (2022)"
#: Numbers of last iterations over which the paper counts.
SPANS = (100, 50)


def build(results: Results, publish) -> list[Section] | str:
    """Count the updates in the last 100 and 50 iterations, over all runs and by data set."""
    if results.study["budget"].get("fits") is not None:
        return "the budget is in full fits: iterations on fewer rows do not change the ensemble"
    seen = view(results)
    if isinstance(seen, str):
        return seen
    methods = seen.ensembles
    if not methods:
        return "no method with results builds an ensemble"
    counts = count(results, methods)
    spans = [n for n in SPANS if counts[f"last_{n}"].notna().any()]
    if counts.empty or not spans:
        return f"it needs members.parquet of searches of more than {min(SPANS)} iterations"
    printed = agreement.values(results.study, "pool-updates")
    parts: list = [_over_all(counts, methods, spans, seen.losses, printed)]
    if printed:
        parts += agreement.caution(results.study, "pool-updates")
    detail = [_by_dataset(counts, methods, n) for n in spans]
    return [
        Section("How often does the ensemble still improve?", parts),
        Section("Data set by data set", detail),
    ]


def _over_all(
    counts: pd.DataFrame, methods: list[str], spans: list[int], losses: Losses, printed: dict
) -> Table:
    # The paper's mean over data sets and repeats; data sets have equal weights.
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


def changes(members: pd.DataFrame, iterations: int) -> np.ndarray:
    """Mark the iterations at which members or weights change, bool, of shape (iterations,).

    ``members`` has ``iteration``, ``member`` and ``weight``; rows for the iterations at which the
    ensemble was written, whether changed or not. The first ensemble is a change.
    """
    changed = np.zeros(iterations, dtype=bool)
    before: dict[int, float] = {}
    members = members[members["iteration"] <= iterations].sort_values("iteration", kind="stable")
    written, starts = np.unique(members["iteration"], return_index=True)
    names = members["member"].to_numpy().tolist()
    weights = members["weight"].to_numpy().round(DIGITS).tolist()
    ends = np.append(starts, len(names))[1:]
    for iteration, first, end in zip(written, starts, ends, strict=True):
        now = dict(zip(names[first:end], weights[first:end], strict=True))
        changed[iteration - 1] = now != before
        before = now
    return changed


def effective(members: pd.DataFrame, validation_error: Sequence[float]) -> np.ndarray:
    """Mark the iterations of effective updates, bool, of shape (iterations,).

    An update is effective if members or weights (see :func:`changes`) change and the ensemble's
    ``validation_error`` falls, which is given for every iteration, NaN before the first ensemble.
    The first ensemble does not count.
    """
    error = np.asarray(validation_error, dtype=float).round(DIGITS)
    falls = np.zeros(len(error), dtype=bool)
    falls[1:] = error[1:] < error[:-1]
    return changes(members, len(error)) & falls


def count(results: Results, methods: list[str]) -> pd.DataFrame:
    """Count the effective updates at the end of every finished run.

    One row per run whose members can be read: ``method``, ``dataset``, ``repeat``, ``last_100`` and
    ``last_50``; NaN unless there are more iterations than that.
    """
    rows = []
    made = results.manifests.set_index(["dataset", "search", "repeat"])["evaluations"]
    wanted = results.scores[results.scores["method"].isin(methods)]
    groups = wanted.groupby(["method", "dataset", "repeat"], observed=True, sort=True)
    for (method, dataset, repeat), group in groups:
        try:
            members = results.members(method, dataset, repeat)
        except Missing:
            continue
        run = dataset, results.study["methods"][method]["search"], repeat
        given = results.given(*run)
        errors = group.sort_values("iteration")["validation_error"].to_numpy()
        # For budgets in seconds, drop the rows that a shorter run repeats.
        found = effective(members, [*[np.nan] * given, *errors])[given : made[run]]
        counts = (found[-n:].sum() if len(found) > n else np.nan for n in SPANS)
        rows.append((method, dataset, repeat, *counts))
    columns = ["method", "dataset", "repeat", *(f"last_{n}" for n in SPANS)]
    return pd.DataFrame(rows, columns=columns)
