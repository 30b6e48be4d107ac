"""Whether methods differ over the data sets, and which of them (Friedman, Nemenyi)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.wilcoxon import ALPHA


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of equal average ranks, with Nemenyi's critical difference."""

    ranks: pd.Series  #: average rank by method, lowest first
    datasets: int  #: number of data sets
    #: Friedman's chi-square, corrected for ties, with k - 1 degrees of freedom.
    statistic: float
    p: float
    #: The less conservative F form of Iman and Davenport (1980); the statistic is infinite and p 0
    #: if all data sets rank the methods equally.
    f_statistic: float
    f_p: float
    #: Average ranks that differ by more than this differ significantly at :data:`ALPHA` (Nemenyi,
    #: two-sided).
    difference: float

    def groups(self) -> list[list[str]]:
        """Methods that the critical difference does not separate: the largest such runs of two
        and more neighbours in the order of the ranks.
        """
        values = self.ranks.to_numpy()
        names = list(self.ranks.index)
        found, end = [], 0
        for first in range(len(values)):
            near = values <= values[first] + self.difference + 1e-12
            last = int(np.flatnonzero(near)[-1])
            if last > first and last > end:
                found.append(names[first : last + 1])
                end = last
        return found


def friedman(errors: pd.DataFrame) -> Friedman:
    """Test whether the methods' average ranks differ (Demsar, JMLR 7, 2006, Section 3.2.2).

    ``errors`` are mean errors, shape (data sets, methods). Raises ValueError with fewer than 2 data
    sets or 3 methods.
    """
    from scipy import stats

    n, k = errors.shape
    if n < 2 or k < 3:
        raise ValueError(f"Friedman's test needs 2 data sets and 3 methods, not {n} and {k}")
    placed = ranks.rank(errors.to_numpy())
    average = pd.Series(placed.mean(axis=0), errors.columns).sort_values(kind="stable")
    tied = (placed == placed[:, :1]).all()  # all methods tie on every data set: 0 / 0
    statistic, p = (0.0, 1.0) if tied else map(float, stats.friedmanchisquare(*placed.T))
    rest = n * (k - 1) - statistic  # 0 if all data sets rank the methods equally
    f_statistic = (n - 1) * statistic / rest if rest > 1e-9 else np.inf
    return Friedman(
        ranks=average,
        datasets=n,
        statistic=statistic,
        p=p,
        f_statistic=f_statistic,
        f_p=float(stats.f.sf(f_statistic, k - 1, (k - 1) * (n - 1))),
        difference=critical_difference(k, n),
    )


def critical_difference(methods: int, datasets: int) -> float:
    """Nemenyi's critical difference of average ranks, q sqrt(k (k + 1) / (6 N)).

    q is the quantile of the studentized range for k methods and infinite degrees of freedom,
    divided by sqrt(2) (Demsar, JMLR 7, 2006, Table 5).
    """
    from scipy import stats

    q = stats.studentized_range.ppf(1 - ALPHA, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * datasets)))
