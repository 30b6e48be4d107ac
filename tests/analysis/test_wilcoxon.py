"""Paired tests: against enumeration, SciPy and hand computation."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ensemble_search.analysis import (
    wilcoxon,
)
from support.made_scores import final

nan = np.nan


def brute(difference: list[float]) -> float:
    """Two-sided p-value by enumerating all signs."""
    d = np.array([x for x in difference if x])
    r = stats.rankdata(np.abs(d))
    mine = r[d > 0].sum()
    sums = np.array([r[np.array(s, bool)].sum() for s in product([0, 1], repeat=len(d))])
    return min(1.0, 2 * min((sums <= mine + 1e-9).mean(), (sums >= mine - 1e-9).mean()))


@settings(max_examples=60)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9).filter(any))
def test_signed_rank_by_enumeration(differences):
    x = np.array(differences) / 1000
    assert wilcoxon.signed_rank(x, np.zeros(len(x))) == pytest.approx(brute(differences))


@pytest.mark.parametrize("n", [1, 3, 6, 10, 13, 14, 50, 51, 90])
def test_signed_rank_is_scipys(n):
    rng = np.random.default_rng(n)
    x, y = rng.random((2, n))
    expected = stats.wilcoxon(x - y, method="exact" if n <= 50 else "asymptotic").pvalue
    assert wilcoxon.signed_rank(x, y) == pytest.approx(expected)


def test_one_sample_of_repeats_against_a_single_run_by_hand():
    pairs = pd.MultiIndex.from_product([["a", "b", "c"], range(6)], names=["dataset", "repeat"])
    lower, mixed = 0.2 + 0.01 * np.arange(6), np.array([0.28, 0.29, 0.27, 0.31, 0.32, 0.335])
    final = pd.DataFrame({"A": np.tile(lower, 3), "B": np.tile(mixed, 3)}, index=pairs)
    values = pd.Series({"a": 0.3, "b": np.nan, "d": 0.1})
    tests = wilcoxon.one_sample(final, values)
    # "b" has no number and "c" is not there; all of A are below 0.3: p = 2 / 2^6.
    assert tests["dataset"].tolist() == ["a", "a"]
    first, second = tests.to_dict("records")
    assert (first["method"], first["pairs"], first["outcome"]) == ("A", 6, "better")
    assert (first["p"], first["difference"]) == (pytest.approx(1 / 32), pytest.approx(-0.075))
    assert second["p"] == pytest.approx(stats.wilcoxon(np.round(mixed - 0.3, 12)).pvalue)
    assert second["outcome"] == "same"
    worse = wilcoxon.one_sample(final, pd.Series({"c": 0.1}))
    assert worse["outcome"].tolist() == ["worse", "worse"]


def test_signed_rank_is_scipys_with_ties_and_zeros():
    d = np.array([3, -1, 2, 2, 0, 1, 0, -2, 4, 1]) / 500
    expected = stats.wilcoxon(d, zero_method="wilcox", method="auto").pvalue
    assert wilcoxon.signed_rank(d, 0 * d) == pytest.approx(expected)


@pytest.mark.parametrize("zeros", [0, 8, 9, 100])
def test_equal_pairs_do_not_count(zeros):
    """Five others cannot be significant: the smallest p-value is 2 / 2^5."""
    x = np.append([0.01, 0.023, 0.042, 0.067, 0.098], np.zeros(zeros))
    assert wilcoxon.signed_rank(x, 0 * x) == 1 / 16


def test_many_ties_are_exact():
    """15 of 18 equal differences have the same sign: a sign test, by the binomial distribution."""
    x = np.array([0.01] * 15 + [-0.01] * 3)
    assert wilcoxon.signed_rank(x, 0 * x) == pytest.approx(stats.binomtest(3, 18).pvalue)


def test_smallest_p():
    assert wilcoxon.smallest_p(10) == pytest.approx(0.00195, abs=5e-6)
    assert [wilcoxon.smallest_p(n) > 0.05 for n in (1, 3, 5, 6)] == [True, True, True, False]
    assert wilcoxon.smallest_p(1) == 1
    assert wilcoxon.smallest_p(10_000) == 0  # the most repeats of a study
    better = np.arange(1, 11) / 100
    assert wilcoxon.signed_rank(better, np.zeros(10)) == wilcoxon.smallest_p(10)


def test_outcomes_are_seen_from_the_reference():
    steps = np.arange(10) / 1000
    ref = np.full(10, 0.3)
    table = final(
        {
            "up": {"ref": ref, "m": ref + 0.01 + steps},
            "down": {"ref": ref, "m": ref - 0.01 - steps},
            "zero": {"ref": ref, "m": ref},
            "noise": {"ref": ref, "m": ref + steps * (-1) ** np.arange(10)},
        }
    )
    tests = wilcoxon.compare(table, "ref").set_index("dataset")
    assert tests["outcome"].to_dict() == {
        "up": "better", "down": "worse", "zero": "same", "noise": "same"
    }  # fmt: skip
    assert tests.loc["zero", "p"] == 1
    assert tests.loc["up", "difference"] == pytest.approx(0.0145)
    counted = wilcoxon.counts(tests.reset_index())
    assert counted.loc["m"].to_dict() == {"better": 1, "same": 2, "worse": 1}


def test_a_mean_against_the_ranks_is_no_finding():
    """One failed run of twelve makes the mean of the method higher that is lower in all others."""
    ref = np.full(12, 0.1)
    other = np.append(0.09 - np.arange(11) / 10_000, 0.9)
    tests = wilcoxon.compare(final({"d": {"ref": ref, "m": other}}), "ref").iloc[0]
    assert tests["p"] < 0.05
    assert tests["difference"] > 0
    assert tests["outcome"] == "same"
    values = pd.Series({"d": 0.1})
    assert wilcoxon.one_sample(final({"d": {"m": other}}), values)["outcome"][0] == "same"


def test_few_repeats_cannot_be_significant():
    table = final({"d": {"ref": [0.1, 0.1, 0.1], "m": [0.7, 0.8, 0.9]}})
    assert wilcoxon.compare(table, "ref")["outcome"].tolist() == ["same"]


def test_holm_by_hand():
    assert wilcoxon.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert wilcoxon.holm([0.6, 0.9]).tolist() == [1, 1]


def test_over_datasets():
    errors = pd.DataFrame({"A": [0.1, 0.2, 0.3], "B": [0.2, 0.2, 0.1]}, index=list("xyz"))
    row = wilcoxon.over_datasets(errors, "A").loc["B"]
    assert row[["lower", "equal", "higher"]].tolist() == [1, 1, 1]
    assert row["difference"] == pytest.approx(-0.1 / 3)
