"""Whether methods differ over the data sets, and which of them (Friedman, Nemenyi)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.wilcoxon import ALPHA

#: Number of random permutations.
PERMUTATIONS = 9999


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of equal average ranks, with Nemenyi's critical difference."""

    ranks: pd.Series  #: average rank by method, lowest first
    datasets: int  #: number of data sets
    statistic: float  #: Friedman's chi-square, corrected for ties
    p: float  #: its p-value; see :func:`friedman`
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

    p is the share of permutations of the ranks within data sets with as large a statistic: of all,
    or of :data:`PERMUTATIONS` random ones if there are more. With few data sets, the chi-square
    distribution gives too large p-values, and the F form of Iman and Davenport (1980), which
    orders permutations equally, too small ones.

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
    test = stats.permutation_test(
        tuple(placed.T),
        _spread,
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=1000,
        alternative="greater",
        rng=np.random.default_rng(0),
    )
    return Friedman(
        ranks=average,
        datasets=n,
        statistic=0.0 if tied else float(stats.friedmanchisquare(*placed.T).statistic),
        p=float(test.pvalue),
        difference=critical_difference(k, n),
    )


def _spread(*placed: np.ndarray, axis: int) -> np.ndarray:
    """Return the sum of squared rank sums, of which chi-square is a linear function."""
    return sum(np.sum(ranks, axis=axis) ** 2 for ranks in placed)


def critical_difference(methods: int, datasets: int) -> float:
    """Nemenyi's critical difference of average ranks, q sqrt(k (k + 1) / (6 N)).

    q is the quantile of the studentized range for k methods and infinite degrees of freedom,
    divided by sqrt(2) (Demsar, JMLR 7, 2006, Table 5).
    """
    from scipy import stats

    q = stats.studentized_range.ppf(1 - ALPHA, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * datasets)))
