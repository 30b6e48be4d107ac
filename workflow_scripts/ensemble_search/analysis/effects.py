"""How large a difference is, apart from how sure: effect sizes and intervals."""

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks, wilcoxon
from ensemble_search.analysis.ranks import DIGITS


def cliffs_delta(x: np.ndarray, y: np.ndarray) -> float:
    """Cliff's delta: share of all pairs (x_i, y_j) with x_i > y_j minus share with x_i < y_j."""
    difference = np.round(np.subtract.outer(np.asarray(x, float), np.asarray(y, float)), DIGITS)
    return float(np.sign(difference).mean())


def magnitude(delta: float) -> str:
    """Cliff's delta in words, by the bounds 0.147, 0.33 and 0.474 of Romano et al. (2006)."""
    words = ("negligible", "small", "medium", "large")
    return words[int(np.searchsorted([0.147, 0.33, 0.474], abs(delta), side="right"))]


def over_datasets(errors: pd.DataFrame, method: str) -> pd.Series:
    """Rank-biserial correlation of each other method with one, paired over data sets.

    ``errors`` are mean errors, shape (data sets, methods); positive where the others' are higher.
    """
    others = errors.columns.drop(method)
    found = {other: wilcoxon.rank_biserial(errors[other], errors[method]) for other in others}
    return pd.Series(found, others, dtype=float)


def within_datasets(final: pd.DataFrame, method: str) -> pd.DataFrame:
    """Compare each other method with one over the repeats of each data set.

    Parameters
    ----------
    final
        Errors, index (dataset, repeat), one column a method.
    method
        Column that the others are compared with.

    Returns
    -------
    tests
        Columns of ``wilcoxon.compare``, and ``p_holm`` (adjusted for the other
        methods of the same data set), ``holm`` (the outcome by it), ``delta`` (Cliff's, positive
        where the other method's errors are higher) and ``magnitude``; the last two are NaN and
        empty with a single repeat.
    """
    tests = wilcoxon.compare(final, method)
    by_dataset = tests.groupby("dataset", sort=False)["p"]
    tests["p_holm"] = by_dataset.transform(lambda p: wilcoxon.holm(list(p)))
    tests["holm"] = tests["outcome"].where(tests["p_holm"] <= wilcoxon.ALPHA, "same")
    groups = dict(list(final.groupby(level="dataset", sort=False)))
    tests["delta"] = [
        cliffs_delta(groups[d][m], groups[d][method]) if pairs > 1 else np.nan
        for d, m, pairs in zip(tests["dataset"], tests["method"], tests["pairs"], strict=True)
    ]
    tests["magnitude"] = ["" if np.isnan(d) else magnitude(d) for d in tests["delta"]]
    return tests


def intervals(errors: pd.DataFrame, method: str) -> pd.DataFrame:
    """95 % intervals of differences in mean error and mean rank, with data sets as the units.

    They are those of Student's t: percentiles of resampled data sets are too short where these are
    few (they cover 84 to 88 % with six).

    Parameters
    ----------
    errors
        Mean errors, shape (data sets, methods).
    method
        The method that the others are compared with.

    Returns
    -------
    table
        Index: the other methods. ``error`` and ``rank``: mean of theirs minus the method's;
        ``error_low``, ``error_high``, ``rank_low``, ``rank_high``: ends of the intervals, NaN with
        fewer than two data sets.
    """
    from scipy.special import stdtrit

    others = errors.columns.drop(method)
    placed = pd.DataFrame(ranks.rank(errors.to_numpy()), errors.index, errors.columns)
    table = pd.DataFrame(index=others)
    n = len(errors)
    for name, values in (("error", errors), ("rank", placed)):
        difference = values[others].sub(values[method], axis=0)
        table[name] = difference.mean()
        half = stdtrit(n - 1, 0.975) * difference.sem() if n > 1 else np.nan
        table[f"{name}_low"] = (table[name] - half).round(DIGITS)
        table[f"{name}_high"] = (table[name] + half).round(DIGITS)
    return table
