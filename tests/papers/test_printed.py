"""What the papers print: its shape, and what can be recomputed from it."""

from collections.abc import Iterator

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import binom

from ensemble_search.papers import printed
from ensemble_search.papers.boasf import checks as boasf
from ensemble_search.papers.divbo import checks as divbo
from ensemble_search.papers.dodge import checks as dodge
from ensemble_search.papers.esmbo import checks as esmbo

FOUND = [(paper, name) for paper in printed.PAPERS for name in printed.inconsistencies(paper)]


@pytest.mark.parametrize(
    ("paper", "count"), [("divbo", 649), ("esmbo", 183), ("boasf", 646), ("dodge", 38)]
)
def test_every_number_is_there(paper, count):
    entries = printed.load(paper).values()
    assert sum(len(list(printed.numbers(entry["values"]))) for entry in entries) == count


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"columns": ["a", "b"]}, "does not have 2 numbers"),
        ({"unit": "share"}, "3 is not from 0 to 1"),
        ({"unit": "percents"}, "unit"),
        ({"were": "Table 2"}, "were"),
        ({"columns": ["a"], "values": [1]}, "rows by name"),
    ],
)
def test_an_entry_of_another_shape_raises(change, words):
    entry = {"where": "Table 1", "what": "errors", "values": {"d": [3]}}
    printed.Entry.model_validate(entry)
    with pytest.raises(ValidationError, match=words):
        printed.Entry.model_validate(entry | change)


def words_in(values) -> Iterator[str]:
    if isinstance(values, dict | list):
        for value in values.values() if isinstance(values, dict) else values:
            yield from words_in(value)
    elif isinstance(values, str):
        yield values


def test_no_number_was_read_as_a_word():
    words = {w for p in printed.PAPERS for e in printed.load(p).values() for w in words_in(e)}
    assert {w for w in words if w.replace(".", "").isdigit()} == set()
    assert {"1/27", "divbo", "∘", "••"} <= words


# DivBO


def test_the_counts_of_table_2_are_of_fifteen_data_sets():
    for other, counts in printed.values("divbo", "wilcoxon").items():
        signs = divbo.outcomes(other)
        assert sum(counts) == sum(signs.values()) == 15
        assert counts[0] <= signs["lower"]
        assert (counts[2] <= signs["higher"]) == (other != "BO-ES")


def test_ranks_of_ten_methods_leave_room_for_the_three_that_are_not_printed():
    ranks = [*printed.values("divbo", "validation-rank").values()]
    second = printed.values("divbo", "second-validation-rank")["second"]
    left = 55 - sum(ranks) - second  # of two methods, neither ahead of the second
    assert len(ranks) == 7
    assert 2 * second <= left <= 20


def test_hyperparameters_of_an_operator_are_categorical_or_numerical():
    rows = printed.table("divbo", "hyperparameters")
    assert (rows["all"] == rows["categorical"] + rows["numerical"]).all()
    preprocessing = rows["all"].iloc[11:].sum()
    assert preprocessing > printed.values("divbo", "settings")["hyperparameters-of-preprocessing"]


def test_tables_9_to_12_repeat_the_errors_of_table_1():
    errors = printed.values("divbo", "test-error")
    again = {"weight-error": "DivBO", "same-budget-error": "DivBO"}
    for name, method in {**again, "strategy-error": "Ensemble selection"}.items():
        for dataset, row in printed.values("divbo", name).items():
            assert row[method] == errors[dataset]["DivBO"]
    for dataset, row in printed.values("divbo", "size-error").items():
        assert row["BO-ES (25)"] == errors[dataset]["BO-ES"]
    for dataset, row in printed.values("divbo", "same-budget-error").items():
        assert row["RS-ES"] == errors[dataset]["RS-ES"]


def test_autogluon_is_worse_than_rs_es_on_wind_only():
    errors = printed.values("divbo", "test-error")
    rows = printed.values("divbo", "autogluon-error")
    worse = [d for d, row in rows.items() if row["AutoGluon"][0] > errors[d]["RS-ES"][0]]
    assert worse == ["wind"]


def test_small_numbers_of_the_text_follow_from_each_other():
    settings = printed.values("divbo", "settings")
    stacking = settings["stacking"]
    assert stacking["members"] * stacking["folds"] == stacking["evaluations"]
    assert settings["evaluations"] // 11 == settings["kBO"]["evaluations"]
    assert sum(settings["shares"].values()) == pytest.approx(1)
    assert settings["baselines"] + 2 == settings["methods"]  # DivBO and DivBO-
    ranks = printed.values("divbo", "best-ranks")
    assert ranks["validation"] == printed.values("divbo", "validation-rank")["DivBO"]
    assert ranks["test"] == printed.values("divbo", "test-rank")["DivBO"]


def test_signed_ranks_by_hand():
    # Of three ranks, 8 sign patterns: sums 0, 1, 2, 3 (twice), 4, 5, 6.
    assert [divbo.signed_rank_p(s, 3) for s in range(4)] == [0.25, 0.5, 0.75, 1]
    # Of ten, at most 8 is significant; then -1, 1, 1 and seven zeros have the least ratio.
    assert divbo.signed_rank_p(8, 10) < 0.05 < divbo.signed_rank_p(9, 10)
    differences = [-1, 1, 1, *[0] * 7]
    ratio = np.mean(differences) / np.std(differences, ddof=1)
    assert divbo.least_ratio(10) == pytest.approx(ratio)


def test_the_least_ratio_holds_for_random_differences():
    from scipy.stats import wilcoxon

    rng = np.random.default_rng(0)
    values = rng.normal(0.4, 1, size=(2000, 10)) * rng.exponential(size=(2000, 10)) ** 2
    significant = wilcoxon(values, axis=1).pvalue <= 0.05
    assert 200 < significant.sum() < 1900
    ratios = values.mean(axis=1) / values.std(axis=1, ddof=1)
    assert np.abs(ratios[significant & (ratios > 0)]).min() > divbo.least_ratio(10)


# ESMBO


@pytest.mark.parametrize("space", esmbo.spaces())
def test_expected_ranks_follow_from_winning_frequencies(space):
    wins = esmbo.spaces()[space]
    frequencies = wins[wins.index].to_numpy()
    assert frequencies + frequencies.T == pytest.approx(np.ones((4, 4)), abs=1e-9)
    lost = 1 - frequencies
    np.fill_diagonal(lost, 0)
    assert 1 + lost.sum(axis=1) == pytest.approx(wins["rank"].to_numpy(), abs=0.0151)
    assert wins["rank"].sum() == pytest.approx(10, abs=0.0201)
    assert wins["rank"].is_monotonic_increasing


def test_seven_spaces():
    assert len(esmbo.spaces()) == 7


def test_counts_that_a_winning_frequency_allows():
    """Of 4 data sets, 0.75 is 3 wins, ties counting one half; within half a win: 2.5 to 3.5."""
    sixteenths = {(3, 1): 5, (3, 0): 2, (2, 1): 8, (2, 0): 4, (1, 0): 8}  # by wins and losses
    assert sorted(16 * esmbo._sign_tests(0.75, 4)) == pytest.approx(sorted(sixteenths.values()))


def test_ties_do_not_explain_a_missing_mark():
    """0.67 of 39 is at least 25.5 wins; p is highest with the fewest ties: one."""
    assert esmbo._sign_tests(0.67, 39).max() == pytest.approx(binom.sf(24, 25 + 13, 0.5))


# BOASF


def test_tables_of_thirty_data_sets():
    names = [list(printed.values("boasf", table)) for table in boasf.TABLES]
    assert names[0] == names[1] == names[2]
    sets = printed.values("boasf", "settings")["datasets"]
    assert len(names[0]) == sets["all"] == sets["OpenML"] + sets["others"]
    assert sum(name.startswith("openml_") for name in names[0]) == sets["OpenML"]


@pytest.mark.parametrize(
    ("table", "sums"),
    [
        ("models", [21.837, 22.353, 23.199, 23.601, 21.837, 22.384, 23.372, 23.793]),
        ("logistic-regression", [19.226, 18.923, 20.207, 19.157, 19.505, 19.267]),
        ("random-forest", [20.222, 20.267, 20.498, 20.372, 19.725, 21.705]),
    ],
)
def test_sums_of_columns(table, sums):
    """Of the printed tables, added up without this file; no count sees each of 600 cells."""
    assert printed.table("boasf", table).sum().tolist() == pytest.approx(sums, abs=1e-9)


def test_printed_counts_of_wins_over_auto_sklearn():
    for hours, (better, equal) in printed.values("boasf", "wins").items():
        found = boasf.outcomes("models", hours, "AutoSklearn")
        assert (found["better"], found["equal"]) == (better, equal)


def test_defaults_do_not_depend_on_the_budget():
    two, four = (boasf.accuracies("models", hours)["SelectBest"] for hours in boasf.HOURS)
    assert (two == four).all()


def test_arms_are_products_of_intervals():
    settings = printed.values("boasf", "settings")
    for learner, count in settings["hyperparameters"].items():
        assert settings["intervals"] ** count == settings["arms"][learner]


def test_cells_that_jump_are_ten_times_their_row():
    for *_, two, four, low, high in boasf.jumps(0.2):
        assert 0.85 * low <= max(two, four) / 10 <= high


# Dodge


def test_other_numbers_of_the_proposal():
    labels = printed.values("dodge", "labels")
    assert round(labels["labels"] * np.log(labels["labels"])) == labels["draws"]
    assert labels["draws"] / labels["labels"] == pytest.approx(labels["examples"], abs=0.01)
    share = printed.values("dodge", "bags")["rows"]
    assert round(100 * (1 - np.exp(-1)), 1) == share


def test_the_largest_gap_is_that_of_random_points():
    points = np.sort(np.random.default_rng(0).random((4000, 20)), axis=1)
    gaps = np.diff(points, prepend=0, append=1, axis=1)
    assert gaps.max(axis=1).mean() == pytest.approx(dodge.largest_gap(20), rel=0.02)


# What contradicts or qualifies what is printed


@pytest.mark.parametrize(("paper", "name"), FOUND)
def test_an_inconsistency_is_what_follows(paper, name):
    assert printed.compute(paper, name) == printed.inconsistencies(paper)[name].computed


def test_contradictions_are_not_what_is_printed():
    kinds = {(p, n): printed.inconsistencies(p)[n] for p, n in FOUND}
    for entry in kinds.values():
        if entry.kind == "contradicts":
            assert entry.printed != entry.computed


@pytest.mark.parametrize(("paper", "name"), FOUND)
def test_an_inconsistency_is_shown_in_words(paper, name):
    found = printed.inconsistencies(paper)[name]
    scalar = not isinstance(found.computed, dict | list)
    assert scalar or "words" in found.model_fields_set
    assert "{" not in found.shown
    assert found.printed is None or isinstance(found.printed, int | float | str)


def test_the_lead_over_bo_es_without_its_largest_data_set():
    found = divbo.difference("BO-ES", without="puma32H")
    assert (found["mean"], found["low"], found["high"]) == (0.17, 0.05, 0.3)
