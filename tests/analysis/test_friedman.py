"""Friedman and Nemenyi: against SciPy, published quantiles and an example of Demšar."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ensemble_search.analysis import friedman, ranks


def test_friedman_is_scipys_with_ties():
    errors = pd.DataFrame(
        np.random.default_rng(3).integers(0, 5, size=(9, 4)) / 10, columns=list("abcd")
    )
    found = friedman.friedman(errors)
    expected = stats.friedmanchisquare(*errors.to_numpy().T)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)


def test_friedman_of_demsars_example(monkeypatch):
    # Demsar (2006), Table 6: AUC of C4.5, with m, with cf, with both, on 14 data sets.
    # (976: "voting" is printed as 975 twice, but ranked 2 and 3.)
    auc = """763 768 771 798  599 591 590 569  954 971 968 967  628 661 654 657  882 888 886 898
             936 931 916 931  661 668 609 685  583 583 563 625  775 838 866 875  1000 1000 1000 1000
             940 962 965 962  619 666 614 669  972 981 976 975  957 978 946 970"""
    table = 1 - np.array(auc.split(), dtype=int).reshape(14, 4) / 1000
    errors = pd.DataFrame(table, columns=["C4.5", "m", "cf", "m+cf"])
    found = friedman.friedman(errors)
    published = {"m+cf": 1.964, "m": 2.000, "cf": 2.893, "C4.5": 3.143}
    assert found.ranks.round(3).to_dict() == published
    # "at 0.05 the critical difference is 1.25 [...] at 0.10 it is 1.12", so that C4.5
    # differs from the two best at 0.10 (by 1.18 and 1.14) and nothing at 0.05.
    assert found.difference == pytest.approx(1.25, abs=0.005)
    assert found.groups() == [["m+cf", "m", "cf", "C4.5"]]
    monkeypatch.setattr(friedman, "ALPHA", 0.10)
    tenth = friedman.friedman(errors)
    assert tenth.difference == pytest.approx(1.12, abs=0.005)
    assert tenth.groups() == [["m+cf", "m", "cf"], ["cf", "C4.5"]]


def test_p_by_enumeration():
    placed = ranks.rank(np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.1], [0.1, 0.3, 0.2]]))
    orders = [[row[list(order)] for order in permutations(range(3))] for row in placed]
    sums = np.array([np.square(np.sum(rows, axis=0)).sum() for rows in product(*orders)])
    share = np.mean(sums >= np.square(placed.sum(axis=0)).sum() - 1e-9)
    found = friedman.friedman(pd.DataFrame(placed, columns=list("abc")))
    assert found.p == pytest.approx(share) and 0 < share < 1


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (10, 3.164)])
def test_critical_difference_has_the_published_quantiles(k, q):
    expected = q * np.sqrt(k * (k + 1) / (6 * 15))
    assert friedman.critical_difference(k, 15) == pytest.approx(expected, rel=3e-4)
    if k == 10:
        assert friedman.critical_difference(k, 15) == pytest.approx(3.498, abs=0.001)


def test_friedman_at_its_ends():
    unanimous = pd.DataFrame([[0.1, 0.2, 0.3]] * 5, columns=list("abc"))
    found = friedman.friedman(unanimous)
    assert (found.statistic, found.p) == (pytest.approx(10), pytest.approx(6 / 6**5))
    tied = friedman.friedman(unanimous * 0)
    assert (tied.statistic, tied.p) == (0, 1)
    for table in (unanimous.iloc[:1], unanimous[["a", "b"]]):
        with pytest.raises(ValueError, match="2 data sets and 3 methods"):
            friedman.friedman(table)


def test_groups_are_the_longest_runs_within_the_difference():
    average = pd.Series({"a": 1.0, "b": 2.0, "c": 3.5, "d": 3.9, "e": 6.0})
    result = friedman.Friedman(average, 5, 0, 1, difference=2.0)
    assert result.groups() == [["a", "b"], ["b", "c", "d"]]
