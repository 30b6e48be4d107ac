"""Where the variance of a difference comes from: data sets, splits, seeds, divisions.

The difference of two methods on data set d, split s and seed r is modelled as the sum of a mean and
of independent effects of d, of s within d, and of r within s, with the variances tau², s² and r².
Over S splits per data set and R seeds per split, the mean of a data set has the variance
tau² + s²/S + r²/(S·R): more seeds on one split leave the first two as they are. An interval over
the data sets' means (``effects.intervals``) covers all parts, whatever they are.
"""

from typing import Any

import numpy as np
import pandas as pd

#: What the levels are called.
LEVELS = {"dataset": "data sets", "split": "splits", "repeat": "repeats", "division": "divisions"}


def components(values: pd.Series) -> pd.Series:
    """Estimate variance components of nested levels by analysis of variance, without bias.

    This is Henderson's method 1: the sums of squares between groups are set equal to their
    expectations, which for unequal numbers too are sums of the components with known factors
    (Henderson, 1953; Searle, Casella and McCulloch, Variance Components, 1992, Section 5.2).

    Parameters
    ----------
    values
        One a row, with an index of unique rows: the levels from the outermost to the innermost,
        each within those before it, such as (dataset, split, repeat).

    Returns
    -------
    variances
        By level; the estimate can be negative where a component is small. NaN where a level cannot
        be seen: the first one with a single group, others with one group in each of the level
        before, whose variance then includes theirs.
    """
    names = list(values.index.names)
    centred = values - values.mean()
    codes: dict[tuple[str, ...], np.ndarray] = {(): np.zeros(len(values), dtype=int)}
    for depth in range(1, len(names) + 1):
        own = values.groupby(level=names[:depth], sort=False).ngroup().to_numpy()
        if own.max(initial=-1) > [*codes.values()][-1].max(initial=-1):
            codes[tuple(names[:depth])] = own
    levels = list(codes.values())
    sizes = [np.bincount(own) for own in levels]
    # Sums of squares of the groups' means, and how often each component is in their expectation.
    squares = [
        (np.bincount(own, centred) ** 2 / n).sum() for own, n in zip(levels, sizes, strict=True)
    ]
    factors = [
        [np.sum(sizes[finer][levels[finer]] / sizes[place][levels[place]])
         if finer > place else len(values)
         for finer in range(1, len(levels))]
        for place in range(len(levels))
    ]  # fmt: skip
    found: Any = []
    if len(levels) > 1:
        found = np.linalg.solve(np.diff(factors, axis=0), np.diff(squares))
    seen = {groups[-1]: variance for groups, variance in zip([*codes][1:], found, strict=True)}
    return pd.Series({name: seen.get(name, np.nan) for name in names})


def deviations(tests: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Standard deviations of the difference of each other method from one, by level.

    Parameters
    ----------
    tests
        Losses, shape (rows, methods), with the index of :func:`components`.
    reference
        The method that the others are compared with.

    Returns
    -------
    deviations
        Square roots of the components, 0 where these are negative; index: the other methods; a
        column a level, without levels that cannot be seen.
    """
    others = tests.columns.drop(reference)
    found = {method: components(tests[method] - tests[reference]) for method in others}
    table = pd.DataFrame(found, index=tests.index.names).T
    return np.sqrt(table.clip(lower=0)).dropna(axis=1, how="all")
