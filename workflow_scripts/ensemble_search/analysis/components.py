"""Variance components of a difference: data sets, splits, seeds, divisions.

The difference between two methods on data set d, split s and seed r is modelled as the sum of a
mean and independent effects of d, of s within d, and of r within s, with variances tau², s² and r².
With S splits per data set and R seeds per split, the mean of a data set has variance tau² + s²/S +
r²/(S·R): more seeds on one split do not reduce the first two parts. An interval over the data sets'
means (``effects.intervals``) covers all parts, whatever their sizes.
"""

from typing import Any

import numpy as np
import pandas as pd

#: Names of the levels.
LEVELS = {"dataset": "data sets", "split": "splits", "repeat": "repeats", "division": "divisions"}


def components(values: pd.Series) -> pd.Series:
    """Estimate variance components of nested levels by analysis of variance, without bias.

    This is Henderson's method 1: sums of squares between groups are equated to their expectations,
    which are sums of the components with known factors, even for unequal group sizes (Henderson,
    1953; Searle, Casella and McCulloch, Variance Components, 1992, Section 5.2).

    ``values`` have a unique index of levels, from the outermost to the innermost, each nested in
    the previous ones, such as (dataset, split, repeat). The result is indexed by level. An estimate
    can be negative if a component is small, and is NaN if the level cannot be estimated: the first
    level if it has a single group; any other if every group of the level above has one group, so
    that the variance of that level includes it.
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
    # Sums of squares of the groups' means, and the factor of each component in their expectation.
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
    """Standard deviations of the difference between each other method and the reference, by level.

    ``tests`` are losses, shape (rows, methods), with the index of :func:`components`. The result
    has the square roots of the components, 0 where they are negative: a row per other method, and a
    column per level that can be estimated.
    """
    others = tests.columns.drop(reference)
    found = {method: components(tests[method] - tests[reference]) for method in others}
    table = pd.DataFrame(found, index=tests.index.names).T
    return np.sqrt(table.clip(lower=0)).dropna(axis=1, how="all")
