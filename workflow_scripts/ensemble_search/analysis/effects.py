"""The size of a difference, as opposed to its significance: effect sizes and intervals."""

import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks, wilcoxon
from ensemble_search.analysis.ranks import DIGITS
from ensemble_search.analysis.wilcoxon import ALPHA

#: Power of the test for the smallest detectable difference.
POWER = 0.8


def cliffs_delta(x: np.ndarray, y: np.ndarray) -> float:
    """Cliff's delta: share of all pairs (x_i, y_j) with x_i > y_j minus share with x_i < y_j."""
    difference = np.round(np.subtract.outer(np.asarray(x, float), np.asarray(y, float)), DIGITS)
    return float(np.sign(difference).mean())


def magnitude(delta: float) -> str:
    """Cliff's delta in words, by the bounds 0.147, 0.33 and 0.474 of Romano et al. (2006)."""
    words = ("negligible", "small", "medium", "large")
    return words[int(np.searchsorted([0.147, 0.33, 0.474], abs(delta), side="right"))]


def over_datasets(errors: pd.DataFrame, method: str) -> pd.Series:
    """Rank-biserial correlation of each other method with ``method``, paired over data sets.

    ``errors`` are mean errors, shape (data sets, methods). Positive if the other method's are
    higher.
    """
    others = errors.columns.drop(method)
    found = {other: wilcoxon.rank_biserial(errors[other], errors[method]) for other in others}
    return pd.Series(found, others, dtype=float)


def within_datasets(final: pd.DataFrame, method: str) -> pd.DataFrame:
    """Compare each other method with ``method`` over the repeats of each data set.

    ``final`` are errors, index (dataset, repeat), one column per method. The result has the columns
    of ``wilcoxon.compare``, ``p_holm`` (adjusted for the other methods on the same data set),
    ``holm`` (the outcome based on it), ``delta`` (Cliff's delta, positive if the other method's
    errors are higher) and ``magnitude``. With a single repeat, the last two are NaN and empty.
    """
    tests = wilcoxon.compare(final, method)
    by_dataset = tests.groupby("dataset", sort=False)["p"]
    tests["p_holm"] = by_dataset.transform(lambda p: wilcoxon.holm(list(p)))
    tests["holm"] = tests["outcome"].where(tests["p_holm"] <= ALPHA, "same")
    groups = dict(list(final.groupby(level="dataset", sort=False)))
    tests["delta"] = [
        cliffs_delta(groups[d][m], groups[d][method]) if pairs > 1 else np.nan
        for d, m, pairs in zip(tests["dataset"], tests["method"], tests["pairs"], strict=True)
    ]
    tests["magnitude"] = ["" if np.isnan(d) else magnitude(d) for d in tests["delta"]]
    return tests


def intervals(errors: pd.DataFrame, method: str, most: float = np.inf) -> pd.DataFrame:
    """95 % intervals of differences in mean error and mean rank, with data sets as units.

    They use Student's t: bootstrap percentiles over few data sets give too short intervals
    (coverage 84 to 88 % with six). They are clipped to the possible differences: those of errors to
    ``most`` (see ``Losses.most``), those of ranks to 1 - k and k - 1 for k methods.

    ``errors`` are mean errors, shape (data sets, methods), or those of other units, such as the
    repeats on one data set. The result has a row per other method: ``error`` and ``rank``, its mean
    minus that of ``method``; ``error_low``, ``error_high``, ``rank_low``, ``rank_high``, the ends
    of the intervals, NaN with fewer than two units; and ``detectable``, see :func:`detectable`, NaN
    if it exceeds ``most``.
    """
    from scipy.special import stdtrit

    others = errors.columns.drop(method)
    table = pd.DataFrame(index=others)
    n, placed = len(errors), ranks.ranked(errors)
    for name, values, limit in (("error", errors, most), ("rank", placed, len(others))):
        difference = values[others].sub(values[method], axis=0)
        table[name] = difference.mean()
        half = stdtrit(n - 1, 1 - ALPHA / 2) * difference.sem() if n > 1 else np.nan
        table[f"{name}_low"] = (table[name] - half).clip(-limit, limit).round(DIGITS)
        table[f"{name}_high"] = (table[name] + half).clip(-limit, limit).round(DIGITS)
    shifts = errors[others].sub(errors[method], axis=0).to_numpy()
    found = pd.Series([detectable(shift) for shift in shifts.T], others, dtype=float)
    return table.assign(detectable=found.where(found <= most))


def detectable(differences: np.ndarray) -> float:
    """Smallest mean difference that a two-sided t-test at 0.05 would find with 80 % probability.

    The standard deviation of the ``differences``, one per unit, is assumed to be the true one.
    NaN with fewer than two units, or if it is 0: a test is never certain to find a difference.
    """
    n = len(differences)
    if n < 2 or round(deviation := float(np.std(differences, ddof=1)), DIGITS) == 0:
        return np.nan
    return _factor(n) * deviation / np.sqrt(n)


@functools.cache
def _factor(n: int) -> float:
    """Smallest detectable mean in units of its standard error, for :func:`detectable`."""
    from scipy import optimize, stats

    limit = stats.t.ppf(1 - ALPHA / 2, n - 1)
    return optimize.brentq(
        lambda shift: stats.nct.sf(limit, n - 1, shift) - POWER, 0, limit + 40, xtol=1e-6
    )


def by_chance(table: pd.DataFrame, shown: Sequence[str] = ("error",)) -> str:
    """Return how many of :func:`intervals` would exclude 0 by chance, and how many do.

    All intervals of the kinds that are ``shown``, ``error`` or ``rank``, count, except those
    without width, of a difference that is the same for all units. The sentence is empty without
    any interval.
    """
    ends = [(table[f"{name}_low"], table[f"{name}_high"]) for name in shown]
    k = sum(int((low < high).sum()) for low, high in ends)
    found = sum(int((((low > 0) | (high < 0)) & (low < high)).sum()) for low, high in ends)
    if not k:
        return ""
    comparisons = "1 comparison" if k == 1 else f"{k} comparisons"
    return (
        f"Of {comparisons} without any true effect, about {ALPHA * k:.2g} would have an "
        f"interval that excludes 0 by chance; here {found or 'none'} "
        f"{'does' if found < 2 else 'do'}."
    )
