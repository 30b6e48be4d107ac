"""Consequences of the numbers that the DivBO paper prints."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import effects
from ensemble_search.data import paper_sets
from ensemble_search.papers import printed

#: Level of the paper's tests.
LEVEL = 0.05
#: Largest rounding error of a number in Table 1, which has two decimals.
ROUNDING = 0.005


def means() -> pd.DataFrame:
    """Return the mean test errors of Table 1 in percent, shape (15 data sets, 9 methods)."""
    return _table_1(0)


def deviations() -> pd.DataFrame:
    """Return the standard deviations of Table 1 over ten runs, of the same shape."""
    return _table_1(1)


def _table_1(place: int) -> pd.DataFrame:
    values = printed.values("divbo", "test-error")
    return pd.DataFrame({d: {m: v[place] for m, v in row.items()} for d, row in values.items()}).T


def outcomes(other: str) -> dict[str, int]:
    """Count the data sets on which DivBO's mean is lower than, equal to and higher than another's.

    Table 2 calls a data set better or worse only if DivBO's mean is lower or higher there.
    """
    difference = means()[other] - means()["DivBO"]
    signs = {"lower": difference > 0, "equal": difference == 0, "higher": difference < 0}
    return {name: int(where.sum()) for name, where in signs.items()}


def difference(other: str, without: str | None = None) -> dict[str, float]:
    """Return the mean over data sets of another method's error minus DivBO's, with a 95 % interval.

    Of the methods of Table 1, perhaps ``without`` a data set: ``mean``, ``low``, ``high`` in
    percentage points, by Student's t; ``largest``: the data set with the largest difference;
    ``share``: its share of the sum.
    """
    errors = means()[[other, "DivBO"]].drop(index=[without] if without else [])
    line = effects.intervals(errors, "DivBO", 100).loc[other]
    differences = errors[other] - errors["DivBO"]
    found = {"mean": line["error"], "low": line["error_low"], "high": line["error_high"]}
    found["share"] = differences.max() / differences.sum()
    rounded: dict[str, Any] = {name: round(float(value), 2) for name, value in found.items()}
    return {**rounded, "largest": str(differences.idxmax())}


def least_ratio(runs: int) -> float:
    """Smallest mean / standard deviation of paired differences that Wilcoxon's test can find.

    The ratio is a quasi-concave function of the sorted absolute differences. It is therefore
    smallest when the largest few are equal and the others are 0, for one of the significant sets of
    negative ranks.
    """
    largest = 0
    while signed_rank_p(largest + 1, runs) <= LEVEL:
        largest += 1
    ratios = []
    for size in range(runs):
        for negative in combinations(range(1, largest + 1), size):
            if sum(negative) > largest:
                continue
            for equal in range(1, runs + 1):
                lost = sum(rank > runs - equal for rank in negative)
                total = equal - 2 * lost
                if total > 0 and equal * runs > total**2:
                    mean, square = total / runs, equal
                    ratios.append(mean / np.sqrt((square - runs * mean**2) / (runs - 1)))
    return float(min(ratios))


def signed_rank_p(statistic: int, runs: int) -> float:
    """Exact two-sided p-value of Wilcoxon's signed-rank statistic (the smaller rank sum)."""
    counts = np.zeros(runs * (runs + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, runs + 1):
        counts[rank:] += counts[:-rank].copy()
    return float(min(1, 2 * counts[: statistic + 1].sum() / 2**runs))


def needed_correlations(other: str, ratio: float) -> pd.Series:
    """Correlation between runs of DivBO and another method that a significant difference requires.

    With the printed standard deviations s and t, the difference of two runs has variance s² + t² -
    2 r s t. ``ratio`` is the smallest significant one of the mean to the standard deviation of
    differences. By data set, ascending, only for those on which DivBO's mean is lower. Rounding is
    assumed to favour the difference. Above 1, no correlation is high enough.
    """
    gap = means()[other] - means()["DivBO"]
    gap = gap[gap > 0] + 2 * ROUNDING
    spreads = deviations().loc[gap.index]
    variance = (gap / ratio) ** 2
    found = []
    for shift, shift_2 in product((-ROUNDING, ROUNDING), repeat=2):
        s, t = spreads["DivBO"] + shift, spreads[other] + shift_2
        found.append((s**2 + t**2 - variance) / (2 * s * t))
    return pd.concat(found, axis=1).min(axis=1).sort_values()


def correlation_for(other: str, better: int) -> dict[str, Any]:
    """Correlation of runs, equal on all data sets, at which ``better`` could be significant.

    ``normal``: if differences are normally distributed, so that Student's t decides like Wilcoxon's
    test; ``least``: for any distribution (:func:`least_ratio`); ``impossible``: data sets that no
    correlation makes significant by t; ``independent``: number of data sets that are significant by
    t with a correlation of 0.
    """
    from scipy.stats import t

    runs = printed.values("divbo", "settings")["repeats"]
    normal = needed_correlations(other, t.ppf(1 - LEVEL / 2, runs - 1) / np.sqrt(runs))
    least = needed_correlations(other, least_ratio(runs))
    return {
        "normal": round(float(normal.iloc[better - 1]), 3),
        "least": round(float(least.iloc[better - 1]), 3),
        "impossible": sorted(normal.index[normal > 1]),
        "independent": int((normal <= 0).sum()),
    }


def methods_of_table_1() -> int:
    """Count the methods of Table 1."""
    return means().shape[1]


def weight_limit() -> float:
    """Limit of the weight of diversity, beta (sigmoid(tau t) - 0.5), for large t."""
    return printed.values("divbo", "settings")["beta"] * (1 - 0.5)


def combinations_of_settings() -> dict[str, Any]:
    """Count the listed combinations of beta and tau, and compare the ranges of tau."""
    listed = printed.values("divbo", "sensitivity")
    return {
        "combinations": len(listed["beta"]) * len(listed["tau"]),
        "largest tau": max(listed["tau"]),
    }


def rows_of_data_sets() -> dict[str, int]:
    """Sizes of the smallest and largest data set of Table 5; number with more than 20k rows."""
    rows = [known.rows for known in paper_sets.TABLE_5.values()]
    largest = printed.values("divbo", "settings")["rows"][1]
    above = sum(size > largest for size in rows)
    return {"smallest": min(rows), "largest": max(rows), "above": above}


def hyperparameters() -> int:
    """Add up the hyperparameters of Tables 6 and 7."""
    return int(printed.table("divbo", "hyperparameters")["all"].sum())
