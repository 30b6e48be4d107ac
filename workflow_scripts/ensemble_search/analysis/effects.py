"""How large a difference is, apart from how sure: effect sizes and bootstrap intervals."""

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


def intervals(
    errors: pd.DataFrame, method: str, resamples: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """Bootstrap the differences of mean error and of mean rank, with data sets as the units.

    Parameters
    ----------
    errors
        Mean errors, shape (data sets, methods).
    method
        The method that the others are compared with.
    resamples
        Data sets are drawn with replacement so many times; all methods see the same draws.
    seed
        Of the draws.

    Returns
    -------
    table
        Index: the other methods. ``error`` and ``rank``: mean of theirs minus the method's;
        ``error_low``, ``error_high``, ``rank_low``, ``rank_high``: 95 % percentile intervals, NaN
        with fewer than two data sets.
    """
    others = errors.columns.drop(method)
    placed = pd.DataFrame(ranks.rank(errors.to_numpy()), errors.index, errors.columns)
    table = pd.DataFrame(index=others)
    n = len(errors)
    rng = np.random.default_rng(seed)
    times = rng.multinomial(n, np.full(n, 1 / n), size=resamples) if n > 1 else None
    for name, values in (("error", errors), ("rank", placed)):
        difference = values[others].sub(values[method], axis=0)
        table[name] = difference.mean()
        low = high = np.full(len(others), np.nan)
        if times is not None:
            drawn = (times @ difference.to_numpy() / n).round(DIGITS)
            low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        table[f"{name}_low"], table[f"{name}_high"] = low, high
    return table
