"""Ranks: against SciPy and hand computation, on common runs only, and by bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ensemble_search.analysis import (
    failures,
    ranks,
)
from support.made_scores import final, frame

nan = np.nan


@given(st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, nan]), min_size=4, max_size=4)))
def test_rank_is_scipys_with_nan_last_and_sums_to_ten(rows):
    for row in rows:
        expected = stats.rankdata([2.0 if np.isnan(e) else e for e in row])
        assert ranks.rank(row).tolist() == expected.tolist()
        assert ranks.rank(row).sum() == 10


def test_rounding_noise_is_a_tie():
    assert 0.1 + 0.2 != 0.3
    assert ranks.rank([0.1 + 0.2, 0.3, 0.5]).tolist() == [1.5, 1.5, 3]


def test_average_rank_ranks_mean_errors_not_runs():
    # Means: A 0.30, B 0.20 on the first data set although A wins two of its three repeats.
    table = final(
        {
            "one": {"A": [0.1, 0.1, 0.7], "B": [0.2, 0.2, 0.2], "C": [0.3, 0.3, 0.3]},
            "two": {"A": [0.1, 0.1, 0.1], "B": [0.2, 0.2, 0.2], "C": [0.4, 0.1, 0.1]},
        }
    )
    by_hand = {"one": [2.5, 1, 2.5], "two": [1, 2.5, 2.5]}
    result = ranks.mean_error_ranks(table)
    assert result.loc["one"].tolist() == by_hand["one"]
    assert result.loc["two"].tolist() == by_hand["two"]
    assert result.mean().tolist() == [1.75, 1.75, 2.5]


def test_rank_curves_rank_each_run_and_average():
    runs = {
        ("A", "d", 0): [nan, 0.1],
        ("B", "d", 0): [0.4, 0.3],
        ("A", "d", 1): [0.2, 0.5],
        ("B", "d", 1): [0.2, 0.2],
        ("A", "e", 0): [nan, 0.1],
        ("B", "e", 0): [nan, 0.3],
    }
    compared = ranks.comparison(frame(runs), ["A", "B"])
    curve = ranks.rank_curves(compared, "test_error").pivot(
        index="iteration", columns="method", values="rank"
    )
    assert curve["A"].tolist() == pytest.approx([(2 + 1.5 + 1.5) / 3, (1 + 2 + 1) / 3])
    assert curve.sum(axis=1).tolist() == pytest.approx([3, 3])


def test_validation_ranks_use_the_best_so_far():
    test = {("A", "d", 0): [0.5, 0.5], ("B", "d", 0): [0.5, 0.5]}
    validation = {("A", "d", 0): [0.1, 0.9], ("B", "d", 0): [0.3, 0.3]}
    compared = ranks.comparison(frame(test, validation), ["A", "B"])
    curve = ranks.rank_curves(compared, "validation_error")
    assert curve.loc[curve["method"] == "A", "rank"].tolist() == [1, 1]
    assert ranks.final_errors(compared, "validation_error").loc[("d", 0)].tolist() == [0.1, 0.3]


def test_ranks_of_ten_methods_sum_to_55():
    rng = np.random.default_rng(0)
    methods = [f"m{i}" for i in range(10)]
    runs = {
        (m, d, r): list(rng.integers(1, 5, 6) / 10) for d in "de" for r in range(3) for m in methods
    }
    compared = ranks.comparison(frame(runs), methods)
    for column in ("test_error", "validation_error"):
        sums = ranks.rank_curves(compared, column).groupby("iteration")["rank"].sum()
        assert sums.to_numpy() == pytest.approx(55)
    assert ranks.mean_error_ranks(ranks.final_errors(compared)).sum(axis=1).tolist() == [55, 55]


def test_only_common_runs_are_compared():
    runs = {(m, d, r): [0.1] for m in "AB" for d in ("d", "e") for r in range(3)}
    del runs["A", "d", 1], runs["B", "e", 0], runs["B", "e", 1], runs["B", "e", 2]
    compared = ranks.comparison(frame(runs), ["A", "B", "C"])
    assert (compared.methods, compared.left_out) == (["A", "B"], ["C"])
    assert (compared.datasets, compared.runs) == (["d"], 2)
    assert set(compared.scores["repeat"]) == {0, 2}
    assert ranks.final_errors(compared).index.tolist() == [("d", 0), ("d", 2)]


def test_the_method_with_fewest_runs_is_left_out_where_nothing_is_common():
    runs = {("A", "d", 0): [0.1], ("B", "d", 0): [0.1], ("A", "d", 1): [0.1]}
    runs |= {("B", "d", 1): [0.1], ("C", "e", 0): [0.1]}
    compared = ranks.comparison(frame(runs), ["A", "B", "C"])
    assert (compared.methods, compared.left_out, compared.runs) == (["A", "B"], ["C"], 2)


def test_a_run_without_any_model_counts_as_an_error_of_one():
    runs = {("A", "d", 0): [nan, nan], ("B", "d", 0): [0.4, 0.3]}
    scores = frame(runs)
    errors = ranks.final_errors(ranks.comparison(scores, ["A", "B"]))
    assert errors.loc[("d", 0)].tolist() == [1.0, 0.3]
    assert failures.without_model(scores).to_numpy().tolist() == [["A", "d", 0]]


def test_intervals_of_ranks_are_those_of_students_t():
    # A's ranks are 1, 1, 2, 1: mean 1.25, standard error 0.25; t(3) at 97.5 % is 3.1824.
    table = final({f"d{i}": {"A": [0.1 + 0.2 * (i == 2)], "B": [0.2]} for i in range(4)})
    found = ranks.rank_intervals(table)
    assert found.loc["A"].tolist() == pytest.approx([1, 2], abs=1e-4)  # 2.05, cut off
    wider = final({f"d{i}": {"A": [i == 0], "B": [i == 1], "C": [i / 10]} for i in range(9)})
    found = ranks.rank_intervals(wider)
    placed = ranks.mean_error_ranks(wider)
    expected = stats.ttest_1samp(placed["C"], 0).confidence_interval()
    assert found.loc["C"].tolist() == pytest.approx([expected.low, min(3, expected.high)])
    constant = ranks.rank_intervals(final({f"d{i}": {"A": [0.1], "B": [0.2]} for i in range(2)}))
    assert constant.isna().all(axis=None)  # equal ranks say nothing of how much they vary
    assert ranks.rank_intervals(table.loc[["d0"]]).isna().all(axis=None)
