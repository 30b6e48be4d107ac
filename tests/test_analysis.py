"""Analyses against hand-computed values, scipy and brute force."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import made_results as made
from ensemble_search.analysis import (
    curves,
    failures,
    load,
    origins,
    ranks,
    times,
    verdict,
    wilcoxon,
)

nan = np.nan


def frame(runs: dict[tuple[str, str, int], list[float]], validation=None) -> pd.DataFrame:
    """Scores of runs given as (method, dataset, repeat) -> test errors by iteration."""
    parts = []
    for (method, dataset, repeat), test in runs.items():
        val = (validation or runs)[method, dataset, repeat]
        columns = {"method": method, "dataset": dataset, "repeat": repeat}
        columns |= {"iteration": range(1, len(test) + 1), "validation_error": val}
        parts.append(pd.DataFrame({**columns, "test_error": test, "members": 2}))
    scores = pd.concat(parts, ignore_index=True)
    for column in ("method", "dataset"):
        scores[column] = pd.Categorical(scores[column], scores[column].unique())
    return scores


def final(table: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Final errors given as dataset -> method -> errors by repeat."""
    parts = {d: pd.DataFrame(errors) for d, errors in table.items()}
    return pd.concat(parts, names=["dataset", "repeat"])


# Ranks


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


# Fair comparison


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


# Bootstrap


def test_bootstrap_of_a_constant_winner_is_certain():
    table = final({f"d{i}": {"A": [0.1, 0.2], "B": [0.3, 0.4]} for i in range(6)})
    boot = ranks.bootstrap_ranks(table)
    assert boot.unit == "data sets"
    assert boot.low.tolist() == boot.high.tolist() == [1, 2]
    assert boot.first.tolist() == [1, 0]


def test_bootstrap_of_data_sets_follows_the_binomial():
    # A wins on 4 of 8: its average rank is 2 - Binomial(8, 1/2) / 8.
    table = final({f"d{i}": {"A": [0.1 + 0.2 * (i % 2)], "B": [0.2]} for i in range(8)})
    boot = ranks.bootstrap_ranks(table, resamples=20_000)
    wins = stats.binom(8, 0.5)
    share = wins.sf(4) + wins.pmf(4) / 2
    assert boot.first["A"] == pytest.approx(share, abs=0.015)
    assert boot.low["A"] == 2 - wins.ppf(0.975) / 8
    assert boot.high["A"] == 2 - wins.ppf(0.025) / 8


def test_bootstrap_of_repeats_needs_five_and_may_not_read_padding():
    five = {"A": [0.2] * 5, "B": [0.3] * 5}
    assert ranks.bootstrap_ranks(final({"d": five})).unit == "repeats"
    four = {"A": [0.2] * 4, "B": [0.3] * 4}
    boot = ranks.bootstrap_ranks(final({"d": five, "e": four}))
    assert boot.unit == ""
    assert boot.low.isna().all()
    uneven = final({"d": five, "e": {"A": [0.2] * 9, "B": [0.1] * 9}})
    boot = ranks.bootstrap_ranks(uneven)
    assert boot.low.tolist() == boot.high.tolist() == [1.5, 1.5]


# Wilcoxon


def brute(difference: list[float]) -> float:
    """Two-sided p-value by enumerating all signs."""
    d = np.array([x for x in difference if x])
    r = stats.rankdata(np.abs(d))
    mine = r[d > 0].sum()
    sums = np.array([r[np.array(s, bool)].sum() for s in product([0, 1], repeat=len(d))])
    return min(1.0, 2 * min((sums <= mine + 1e-9).mean(), (sums >= mine - 1e-9).mean()))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9).filter(any))
def test_signed_rank_by_enumeration(differences):
    x = np.array(differences) / 1000
    assert wilcoxon.signed_rank(x, np.zeros(len(x))) == pytest.approx(brute(differences))


@pytest.mark.parametrize("n", [1, 3, 6, 10, 13, 14, 30])
def test_signed_rank_is_scipys(n):
    rng = np.random.default_rng(n)
    x, y = rng.random((2, n))
    expected = stats.wilcoxon(x - y, zero_method="wilcox", method="auto").pvalue
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
    assert wilcoxon.one_sample(final, pd.Series({"c": 0.1}), alpha=0.01)["outcome"][0] == "same"


def test_signed_rank_is_scipys_with_ties_and_zeros():
    d = np.array([3, -1, 2, 2, 0, 1, 0, -2, 4, 1]) / 500
    expected = stats.wilcoxon(d, zero_method="wilcox", method="auto").pvalue
    assert wilcoxon.signed_rank(d, 0 * d) == pytest.approx(expected)


def test_smallest_p():
    assert wilcoxon.smallest_p(10) == pytest.approx(0.00195, abs=5e-6)
    assert [wilcoxon.smallest_p(n) > 0.05 for n in (1, 3, 5, 6)] == [True, True, True, False]
    assert wilcoxon.smallest_p(1) == 1
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


# Curves


def test_curves_are_running_minimum_mean_and_sample_deviation():
    runs = {("A", "d", 0): [nan, 0.5, 0.3, 0.4], ("A", "d", 1): [0.4, 0.6, nan, 0.2]}
    curve = curves.error_curves(frame(runs), "validation_error")
    assert curve["mean"].tolist() == pytest.approx([nan, 0.45, 0.35, 0.25], nan_ok=True)
    # best so far: (-, .5, .3, .3) and (.4, .4, .4, .2)
    deviation = 0.1 / 2**0.5
    assert curve["std"].tolist() == pytest.approx([nan, *[deviation] * 3], nan_ok=True)
    assert curve["repeats"].tolist() == [2, 2, 2, 2]


def test_test_error_curves_are_not_minimised():
    runs = {("A", "d", 0): [0.2, 0.5], ("A", "d", 1): [0.4, 0.3]}
    curve = curves.error_curves(frame(runs), "test_error")
    assert curve["mean"].tolist() == pytest.approx([0.3, 0.4])


def test_one_repeat_has_no_deviation():
    curve = curves.error_curves(frame({("A", "d", 0): [0.2, 0.5]}), "test_error")
    assert curve["std"].isna().all()


def test_speed_up_by_hand():
    runs = {
        ("ref", "d", 0): [0.5, 0.3, 0.2, 0.1],
        ("slow", "d", 0): [0.5, 0.5, 0.4, 0.3],
        ("best", "d", 0): [0.5, 0.5, 0.4, 0.05],
    }
    curve = curves.error_curves(frame(runs), "validation_error")
    speed = curves.speed_up(curve, "ref").set_index("method")
    assert speed.loc["slow", ["iteration", "speed_up"]].tolist() == [2, 2.0]
    assert speed.loc["best", ["iteration", "speed_up"]].isna().all()


# Times, failures, origins


def observations() -> pd.DataFrame:
    rows = [
        ("d", "s", 0, 1, "ok", 1.0, 9.0, 8.0, None, None, "knn"),
        ("d", "s", 0, 2, "crash", 2.0, 3.0, 2.0, "ValueError", "b", "lda"),
        ("d", "s", 1, 1, "crash", 3.0, 2.0, 2.0, "ValueError", "a", "lda"),
        ("e", "s", 1, 1, "timeout", 2.0, 8.0, 3.0, "", None, "knn"),
    ]
    columns = ["dataset", "search", "repeat", "iteration", "status", "suggest_seconds"]
    columns += ["fit_seconds", "cpu_seconds", "error_type", "message", "algorithm"]
    return pd.DataFrame(rows, columns=columns)


def test_time_spent_by_hand():
    made = pd.DataFrame({"search": ["s"] * 3, "rest_seconds": [10.0, 6.0, 4.0]})
    row = times.time_spent(observations(), made).loc["s"]
    assert row["runs"] == 3
    assert (row["fit"], row["suggest"], row["rest"]) == pytest.approx((22 / 3, 8 / 3, 20 / 3))
    assert row["outside"] == pytest.approx(28 / 50)
    assert (row["hours"], row["cpu_hours"]) == pytest.approx((50 / 3600, 15 / 3600))
    growth = times.suggest_curves(observations())
    assert growth["seconds"].tolist() == [2.0, 2.0]


def test_time_spent_by_older_results():
    """Their ``job_seconds`` are those of the last attempt."""
    old = {"search": ["s"] * 3, "wall_seconds": [12.0] * 3, "job_seconds": [14.0] * 3}
    row = times.time_spent(observations(), pd.DataFrame(old | {"resumed_after": [0] * 3})).loc["s"]
    assert (row["rest"], row["outside"]) == pytest.approx((2, 14 / 36))
    for more in ({"resumed_after": [0, 1, 0]}, {}):
        row = times.time_spent(observations(), pd.DataFrame(old | more)).loc["s"]
        assert row[["rest", "outside"]].isna().all()
        assert row["hours"] == pytest.approx(30 / 3600)
    assert times.time_spent(observations(), pd.DataFrame()).loc["s", "fit"] == pytest.approx(22 / 3)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "0.012 s"), (3.04, "3.0 s"), (35.2, "35 s"), (600, "10 min"), (12_240, "3.4 h"),
     (720_000, "200.0 h"), (nan, "–")],
)  # fmt: skip
def test_duration(seconds, text):
    assert times.duration(seconds) == text


def test_failures_by_cause_and_algorithm():
    causes = failures.causes(observations())
    assert causes.to_numpy().tolist() == [
        ["crash", "ValueError", 1, 1, 1, "a"],
        ["crash", "ValueError", 1, 1, 1, "b"],
        ["timeout", "–", 1, 1, 1, ""],
    ]
    table = failures.by(observations(), "algorithm")
    expected = [2, 1, 0, 0, 0, 1, 0.5]
    assert table.loc["knn"].tolist() == expected
    assert table.loc["lda", ["evaluations", "crash", "share"]].tolist() == [2, 2, 1]


def same_cause(*messages: str) -> bool:
    return len({failures.cause(message) for message in messages}) == 1


@pytest.mark.parametrize(
    "messages",
    [
        ("n_components=5 must be between 0 and 3", "n_components=12 must be between 0 and 30"),
        ("<lambda> at 0x7f2dd2f2de50 failed", "<lambda> at 0xAB failed"),
        ("(29, 3) instead of (30, 3)", "(30,) instead of (30, 3)", "1 instead of (3)"),
        ("bad [1 2 3]", "bad [  1   2\n 30]", "bad [[1 2] [3 4]]", "bad [0.5, -1e-05,]"),
        ("residual 1.5e-05, step -.5", "residual nan, step 3.", "residual -inf, step +1,000"),
        ("10.0 GiB for an array", "999. MiB for an array", "7 B for an array"),
        ("column_17 is constant", "column_3 is constant"),
        ("3 classes " + "x" * 287, "300 classes " + "x" * 285),
        ("stopped at 5%", "stopped at 99.5%"),
    ],
)  # fmt: skip
def test_messages_that_differ_in_numbers_are_one_cause(messages):
    assert same_cause(*messages), set(map(failures.cause, messages))
    table = observations().iloc[[1] * len(messages)].assign(message=messages)
    causes = failures.causes(pd.concat([table, table.iloc[[-1]]]))
    assert causes[["failures", "message"]].to_numpy().tolist() == [
        [len(messages) + 1, messages[-1]]
    ]


@pytest.mark.parametrize(
    "messages",
    [
        ("too large for dtype('float64')", "too large for dtype('float32')"),
        ("penalty l1 is not supported", "penalty l2 is not supported"),
        ("Input contains NaN", "Input contains infinity"),
        ("more than 4 s of CPU time a thread", "more than 13 s by the clock"),
        ("the worker was ended by SIGSEGV", "the worker was ended by SIGABRT"),
        ("", "1"),
    ],
)
def test_messages_that_differ_in_words_are_several_causes(messages):
    assert not same_cause(*messages)


def test_origins_tell_apart_what_differs():
    one = {"commit": "abc", "dirty": False, "versions": {"numpy": "2.4.6"}}
    other = {"commit": "abc", "dirty": True, "versions": {"numpy": "2.4.6"}}
    table = origins.origins(pd.DataFrame([one, other])).set_index(["what", "value"])["searches"]
    assert table["git commit", "abc"] == 2
    assert table["uncommitted changes", "yes"] == table["uncommitted changes", "no"] == 1
    assert table["numpy", "2.4.6"] == 2


# Verdict


def said(table, reference="A", resampled=False) -> verdict.Verdict:
    runs = {(m, d, r): [e] for (d, r), row in table.iterrows() for m, e in row.items()}
    scores = frame(runs)
    return verdict.verdict(ranks.comparison(scores, list(table.columns)), reference, resampled)


def test_verdict_with_three_repeats_says_that_nothing_can_be_significant():
    answer = said(final({"d": {"A": [0.1, 0.1, 0.1], "B": [0.7, 0.8, 0.9]}}))
    assert answer.leader == "A"
    assert "too few" in answer.headline
    text = " ".join(answer.sentences)
    assert "nothing can be significant" in text
    assert "with 3 repeats it is 0.25" in text
    assert "fixed split" in text


def test_verdict_over_many_data_sets():
    clear = {f"d{i}": {"A": [0.1, 0.1], "B": [0.2 + i / 100, 0.3]} for i in range(8)}
    answer = said(final(clear))
    assert "is statistically secure" in answer.headline
    assert answer.summary.loc["B", "p"] == pytest.approx(2 / 2**8)
    noisy = {
        f"d{i}": {"A": [0.2 - (i % 3 > 0) / 100], "B": [0.2 - (i % 3 == 0) / 50]} for i in range(9)
    }
    answer = said(final(noisy), "B")
    assert answer.leader == "A"
    assert "is not statistically secure" in answer.headline


def test_verdict_says_that_methods_are_left_out():
    scores = frame({("A", "d", 0): [0.1], ("B", "d", 0): [0.2]})
    compared = ranks.comparison(scores, ["A", "B", "C"])
    headline = verdict.verdict(compared, "C", False).headline
    assert "of 2 methods compared so far, 1 left out" in headline


def test_verdict_names_a_reference_that_is_next_only_once():
    answer = said(final({"d": {"A": [0.1], "B": [0.2], "C": [0.3]}}), "B")
    assert not any("reference method" in s for s in answer.sentences)
    answer = said(final({"d": {"A": [0.1], "B": [0.2], "C": [0.3]}}), "C")
    assert any(s.startswith("C, the reference method") for s in answer.sentences)


def test_verdict_on_one_data_set_tests_its_repeats():
    steps = np.arange(10) / 1000
    answer = said(final({"d": {"A": 0.1 + 0 * steps, "B": 0.2 + steps}}), resampled=True)
    assert "significant on the one data set" in answer.headline
    assert any("own split" in s for s in answer.sentences)


def test_verdict_of_ties_of_one_method_and_of_none():
    tied = said(final({"d": {"A": [0.1], "B": [0.1]}}))
    assert tied.leader is None
    assert tied.headline.startswith("A and B share the lowest average rank")
    assert said(final({"d": {"A": [0.1]}})).headline.startswith("Only A has results")
    nothing = verdict.verdict(ranks.Comparison(pd.DataFrame(), [], ["A"], [], 0), "A", False)
    assert nothing.headline == "There are no results to compare yet."


# Reading


def test_load_reads_everything(tmp_path: Path):
    study = made.study(("RS", "DivBO"), ("d", "e"), repeats=2, budget=3)
    made.write(tmp_path, study, lambda m, d, r: ([nan, 0.3, 0.2], [nan, 0.4, 0.1 * (r + 1)]))
    results = load.load(study, tmp_path)
    assert results.missing.empty
    assert results.expected == {"split": 2, "search": 16, "ensemble": 8}
    assert len(results.scores) == 2 * 2 * 2 * 3
    row = results.scores.query("method == 'DivBO' and dataset == 'e' and repeat == 1")
    assert row["test_error"].tolist() == pytest.approx([nan, 0.4, 0.2], nan_ok=True)
    assert len(results.observations) == 24
    assert results.observations["status"].value_counts().to_dict() == {"ok": 16, "timeout": 8}
    assert set(results.observations["algorithm"]) == {"adaboost", "knn", "lda"}
    assert results.datasets["majority_error"].tolist() == pytest.approx([0.3, 0.3])
    assert results.reference == "DivBO"


def test_majority_is_that_of_the_training_part():
    split = {"classes": {"train": {"a": 6, "b": 5}, "validation": {"a": 1, "b": 1},
                         "test": {"a": 2, "b": 8}}}  # fmt: skip
    assert load.split_summary(split)["majority_error"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"searches": {"search-divbo": {"optimizer": "random", "beta": 0.1}}},
         "beta: 0.05 there, 0.1 here"),
        ({"space": "divbo_small"}, "space: divbo there, divbo_small here"),
        ({"limits": {"seconds": 60, "memory_mb": 4096}}, "limits.seconds: 300 there, 60 here"),
        ({"seed": 7}, "seed: 0 there, 7 here"),
    ],
)  # fmt: skip
def test_load_does_not_count_a_search_made_with_other_settings(tmp_path, change, words):
    study = made.study(("RS", "DivBO"), ("d",), repeats=1, budget=2)
    study["searches"]["search-divbo"]["beta"] = 0.05
    made.write(tmp_path, study, lambda m, d, r: ([0.3, 0.2], [0.3, 0.2]))
    assert load.load(study, tmp_path).missing.empty
    searches = {**study["searches"], **change.get("searches", {})}
    results = load.load({**study, **change, "searches": searches}, tmp_path)
    lost = {"search-divbo"} if "searches" in change else {"search-divbo", "search-rs"}
    reasons = results.missing.query("file.str.endswith('search.json')").set_index("search")
    assert set(reasons.index) == lost
    assert reasons.loc["search-divbo", "reason"] == f"made with other settings: {words}"
    left = {"RS"} if "searches" in change else set()
    assert set(results.scores["method"]) == left
    assert set(results.observations["search"]) == {"search-rs"} - lost
    dropped = results.missing.query("stage == 'ensemble'")
    assert set(dropped["search"]) == lost
    assert set(dropped["reason"]) == {"its search is not usable"}


def test_load_does_not_count_an_ensemble_made_with_other_settings(tmp_path):
    study = made.study(("RS", "DivBO"), ("d",), repeats=1, budget=2)
    made.write(tmp_path, study, lambda m, d, r: ([0.3, 0.2], [0.3, 0.2]))
    study["ensembles"]["ensemble-divbo"] = {"type": "selection", "size": 25}
    folder = tmp_path / "ensembles/d/search-divbo/ensemble-divbo/0"
    for size, usable in ((25, True), (100, False)):
        settings = {"type": "selection", "size": size}
        made.write_ensemble(folder, [0.3, 0.2], [0.3, 0.2], settings=settings)
        results = load.load(study, tmp_path)
        assert set(results.scores["method"]) == ({"RS", "DivBO"} if usable else {"RS"})
    assert results.missing["reason"].tolist() == [
        "made with other settings: size: 100 there, 25 here"
    ]


def test_load_lists_what_is_absent_short_or_broken(tmp_path: Path):
    study = made.study(("RS", "DivBO"), ("d",), repeats=3, budget=3)
    made.write(tmp_path, study, lambda m, d, r: ([0.3] * 3, [0.3] * 3), {("RS", "d", 0)})
    (tmp_path / "searches/d/search-divbo/2/search.json").unlink()
    folder = tmp_path / "ensembles/d/search-rs/ensemble-rs"
    made.write_ensemble(folder / "1", [0.3, 0.3], [0.3, 0.3])
    (folder / "2" / "scores.parquet").write_bytes(b"PAR1 not really")
    results = load.load(study, tmp_path)
    reasons = results.missing.set_index(["stage", "repeat"])["reason"].sort_index(kind="stable")
    assert reasons["ensemble", 0] == "not there"
    assert reasons["ensemble", 1] == "2 of 3 iterations"
    assert reasons["ensemble", 2].iloc[0].startswith("unreadable")
    assert reasons["search", 0].tolist() == ["not there", "not there"]
    assert reasons["search", 2].tolist() == ["not there", "its search is not usable"]
    counted = results.scores.drop_duplicates(["method", "repeat"])[["method", "repeat"]]
    assert counted.to_numpy().tolist() == [["DivBO", 0], ["DivBO", 1]]


def test_load_cuts_longer_runs_to_the_budget(tmp_path: Path):
    study = made.study(("RS",), ("d",), repeats=1, budget=3)
    made.write(tmp_path, study, lambda m, d, r: ([0.3] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]))
    results = load.load(study, tmp_path)
    assert results.scores["test_error"].tolist() == [0.1, 0.2, 0.3]
    assert len(results.observations) == 3


def test_load_of_a_budget_in_seconds_repeats_the_last_row_of_shorter_runs(tmp_path: Path):
    study = made.study(("RS",), ("d",), repeats=4)
    study["budget"] = {"evaluations": None, "seconds": 60.0}
    for repeat, (n, seconds) in enumerate([(3, 60.0), (1, 60.0), (2, 60.0), (9, 90.0)]):
        with_settings = {**made.made_with(study, "search-rs"), "budget": {"seconds": seconds}}
        made.write_search(tmp_path, "d", "search-rs", repeat, [0.2] * n, made_with=with_settings)
        test = np.arange(1, n + 1) / 10
        rows = test[:-1] if repeat == 2 else test  # of an ensemble that is not up to date
        made.write_ensemble(tmp_path / f"ensembles/d/search-rs/ensemble-rs/{repeat}", rows, rows)
    results = load.load(study, tmp_path)
    scores = results.scores.set_index("repeat")
    assert scores.loc[0, ["iteration", "test_error"]].to_numpy().tolist() == [
        [1, 0.1],
        [2, 0.2],
        [3, 0.3],
    ]
    assert scores.loc[1, "iteration"].tolist() == [1, 2, 3]
    assert scores.loc[1, "test_error"].tolist() == [0.1] * 3
    assert set(scores.index) == {0, 1}
    reasons = results.missing.set_index(["stage", "repeat"])["reason"]
    assert reasons["ensemble", 2] == "1 of 2 iterations"
    assert "budget.seconds: 90.0 there, 60.0 here" in reasons["search", 3].iloc[0]
    assert len(results.observations) == 3 + 1 + 2


def test_load_of_nothing(tmp_path: Path):
    study = made.study(repeats=2)
    results = load.load(study, tmp_path / "absent")
    assert results.scores.empty
    assert results.observations.empty
    assert len(results.missing) == sum(results.expected.values()) == 2 + 2 * 12 + 12


def test_resampled_studies_have_a_split_a_repeat(tmp_path: Path):
    study = made.study(("RS",), ("d",), repeats=2)
    study["split"]["resample"] = "per-repeat"
    made.write_split(tmp_path, "d", test=(40, 60), name="repeat-0")
    made.write_split(tmp_path, "d", test=(20, 80), name="repeat-1")
    results = load.load(study, tmp_path)
    assert results.resampled
    assert results.datasets["majority_error"].tolist() == pytest.approx([0.3])
    assert "split" not in set(results.missing["stage"])
