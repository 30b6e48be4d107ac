"""How often an ensemble still improves late in a search (DivBO paper, Table 4)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import DIGITS
from ensemble_search.runtime.files import Missing

#: Over how many last iterations the paper counts.
SPANS = (100, 50)


def changes(members: pd.DataFrame, iterations: int) -> np.ndarray:
    """Mark the iterations at which members or weights differ from those before.

    Parameters
    ----------
    members
        Columns ``iteration``, ``member``, ``weight``; rows for the iterations at which the ensemble
        was written, changed or not.
    iterations
        How many there are.

    Returns
    -------
    changes
        bool, of shape (iterations,); the first ensemble is a change.
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
    """Mark the iterations of effective updates.

    An update is effective if members or weights change and the ensemble's validation error falls.

    Parameters
    ----------
    members
        As :func:`changes` takes it.
    validation_error
        Of the ensemble at every iteration; NaN before the first.

    Returns
    -------
    effective
        bool, of shape (iterations,); the first ensemble is none.
    """
    error = np.asarray(validation_error, dtype=float).round(DIGITS)
    falls = np.zeros(len(error), dtype=bool)
    falls[1:] = error[1:] < error[:-1]
    return changes(members, len(error)) & falls


def count(results: Results, methods: list[str]) -> pd.DataFrame:
    """Count the effective updates at the end of every finished run.

    Returns
    -------
    counts
        One row per run whose members can be read: ``method``, ``dataset``, ``repeat``, ``last_100``
        and ``last_50``; NaN where there are not more iterations than that.
    """
    rows = []
    made = results.manifests.set_index(["dataset", "search", "repeat"])["evaluations"]
    wanted = results.scores[results.scores["method"].isin(methods)]
    groups = wanted.groupby(["method", "dataset", "repeat"], observed=True, sort=True)
    for (method, dataset, repeat), group in groups:
        parts = results.study["methods"][method]
        try:
            members = results.members(dataset, parts["search"], parts["ensemble"], repeat)
        except Missing:
            continue
        found = effective(members, group.sort_values("iteration")["validation_error"])
        # Budgets in seconds: without the rows that a shorter run repeats.
        found = found[: made[dataset, parts["search"], repeat]]
        counts = (found[-n:].sum() if len(found) > n else np.nan for n in SPANS)
        rows.append((method, dataset, repeat, *counts))
    columns = ["method", "dataset", "repeat", *(f"last_{n}" for n in SPANS)]
    return pd.DataFrame(rows, columns=columns)
