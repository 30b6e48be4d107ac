"""How different a suggestion is from the ensemble that it is to join (DivBO paper, Figure 5)."""

from functools import partial

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.runtime.files import Missing

#: The paper looks at the last fifth of a search: iterations 201 to 250.
SHARE = 5


def at_each(members: pd.DataFrame, iterations: int) -> list[np.ndarray]:
    """Return the members of the ensemble after each iteration, as iterations of evaluations.

    Parameters
    ----------
    members
        Columns ``iteration`` and ``member``; rows where the ensemble changed.
    iterations
        How many there are.

    Returns
    -------
    members
        Entry t: the unique members after t iterations, t = 0 ... iterations; empty before the
        first success.
    """
    pairs = np.unique(members[["iteration", "member"]].to_numpy(int), axis=0)
    iteration, starts = np.unique(pairs[:, 0], return_index=True)
    ends = np.append(starts, len(pairs))[1:]
    written = {
        t: pairs[first:end, 1]
        for t, first, end in zip(iteration.tolist(), starts, ends, strict=True)
    }
    found = [np.empty(0, dtype=int)]
    for t in range(1, iterations + 1):
        found.append(written.get(t, found[-1]))
    return found


def of_run(
    diversities, errors: np.ndarray, members: pd.DataFrame, first: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Follow one run from an iteration on.

    Parameters
    ----------
    diversities
        Function of rows and columns (iterations) that gives the matrix of their diversities.
    errors
        Validation error of each evaluation, of shape (n,); NaN where it failed or was fitted on a
        share of the training rows.
    members
        As :func:`at_each` takes it.
    first
        The first iteration that is looked at, at least 2.

    Returns
    -------
    minimum
        For t = first ... n: the lowest diversity between evaluation t and a member of the ensemble
        after t - 1 iterations; NaN where the error of evaluation t is NaN.
    fixed
        The same with the ensemble after first - 1 iterations all the time (the text at Figure 1).
    average
        Mean validation error of the unique members after t iterations.
    """
    n = len(errors)
    ensembles = at_each(members, n)
    late = np.arange(first, n + 1)
    late = late[~np.isnan(errors[late - 1])]
    columns = np.unique(np.concatenate([np.empty(0, int), *ensembles[first - 1 : n]]))
    minimum, fixed = np.full((2, n - first + 1), np.nan)
    if len(late) and len(columns):
        matrix = diversities(late, columns)
        for row, t in zip(matrix, late, strict=True):
            for target, ensemble in ((minimum, ensembles[t - 1]), (fixed, ensembles[first - 1])):
                if len(ensemble):
                    target[t - first] = row[np.searchsorted(columns, ensemble)].min()
    average = [errors[p - 1].mean() if len(p) else np.nan for p in ensembles[first:]]
    return minimum, fixed, np.asarray(average)


def follow(results: Results, methods: list[str]) -> pd.DataFrame:
    """Follow the last fifth of every finished run whose files are there.

    Returns
    -------
    rows
        One row per method, data set, repeat and iteration: ``minimum``, ``fixed`` and ``average``
        of :func:`of_run`.
    """
    tables = []
    seen = results.scores[results.scores["method"].isin(methods)]
    seen = seen[["method", "dataset", "repeat"]].drop_duplicates()
    observed = results.observations.sort_values("iteration")
    observed["error"] = observed["error"].where(observed["fidelity"] == 1)
    errors = {
        key: group["error"].to_numpy(float)
        for key, group in observed.groupby(["dataset", "search", "repeat"])
    }
    for method, dataset, repeat in seen.itertuples(index=False, name=None):
        parts = results.study["methods"][method]
        run = dataset, parts["search"], repeat
        own = errors.get(run)
        if own is None or len(own) < SHARE:
            continue
        first = len(own) - len(own) // SHARE + 1
        try:
            members = results.members(dataset, parts["search"], parts["ensemble"], repeat)
            found = of_run(
                partial(results.diversities, *run),
                own,
                members,
                first,
            )
        except Missing:
            continue
        where = {"method": method, "dataset": dataset, "repeat": repeat}
        columns = dict(zip(("minimum", "fixed", "average"), found, strict=True))
        tables.append(
            pd.DataFrame({**where, "iteration": np.arange(first, len(own) + 1), **columns})
        )
    names = ["method", "dataset", "repeat", "iteration", "minimum", "fixed", "average"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=names)


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over repeats at every iteration; failed evaluations do not count."""
    keys = ["dataset", "method", "iteration"]
    return rows.groupby(keys, sort=False)[["minimum", "fixed", "average"]].mean().reset_index()


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and deviation over repeats of the means of each run.

    Returns
    -------
    summary
        One row per data set and method: ``minimum``, ``minimum_std``, ``fixed``, ``average`` (at
        the last iteration), ``average_std`` and ``repeats``.
    """
    keys = ["dataset", "method", "repeat"]
    runs = rows.groupby(keys, sort=False).agg(
        minimum=("minimum", "mean"), fixed=("fixed", "mean"), average=("average", "last")
    )
    groups = runs.groupby(level=["dataset", "method"], sort=False)
    table = groups.mean()
    table["minimum_std"] = groups["minimum"].std()
    table["average_std"] = groups["average"].std()
    table["repeats"] = groups.size()
    return table.reset_index()
