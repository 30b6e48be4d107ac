"""Diversity of pools, variants, Friedman, effect sizes and intervals, by hand and against scipy."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ensemble_search.analysis import effects, friedman, overfitting, pools, ranks, variants

nan = np.nan


def final(table: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Final errors given as dataset -> method -> errors by repeat."""
    parts = {d: pd.DataFrame(errors) for d, errors in table.items()}
    return pd.concat(parts, names=["dataset", "repeat"])


# Figure 6


def test_disagreement_of_three_members_on_four_samples_by_hand():
    # Samples right:  1 2 . .  /  1 . 3 .  /  1 2 . 4;  pairs differ on 2, 1 and 3 of 4 samples.
    right = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]], dtype=bool)
    assert pools.disagreement(right) == pytest.approx((2 / 4 + 1 / 4 + 3 / 4) / 3)
    assert np.isnan(pools.disagreement(right[:1]))
    matrix = np.array([[0, 0.4, 0.1], [0.4, 0, 0.4], [0.1, 0.4, 0]])
    assert pools.mean_of_pairs(matrix) == pytest.approx(0.3)
    assert np.isnan(pools.mean_of_pairs(matrix[:1, :1]))


def test_who_is_right_by_hand():
    # Two classes, one column: the probability of class 1.
    two = np.array([[[0.2], [0.9]], [[0.6], [0.5]], [[0.2], [0.9]]], dtype=np.float32)
    assert pools.correct(two, np.array([0, 1])).tolist() == [
        [True, True], [False, False], [True, True]]  # fmt: skip
    three = np.array([[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]]], dtype=np.float32)
    assert pools.correct(three, np.array([0, 2])).tolist() == [[True, False], [True, True]]


def test_disagreement_is_the_mean_over_pairs():
    right = np.random.default_rng(0).random((7, 30)) < 0.7
    pairs = [np.mean(a != b) for a, b in combinations(right, 2)]
    assert pools.disagreement(right) == pytest.approx(np.mean(pairs))


# Families of methods


def study() -> dict:
    searches = {
        "bo": {"optimizer": "bo", "initial": 5},
        "a": {"optimizer": "divbo", "beta": 0.05, "tau": 0.2, "weight": None},
        "b": {"optimizer": "divbo", "beta": 0.1, "tau": 0.2, "weight": None},
        "again": {"optimizer": "divbo", "beta": 0.05, "tau": 0.2, "weight": None},
        "c": {"optimizer": "divbo", "beta": 0.05, "tau": 0.2, "weight": 0.1},
        "d": {"optimizer": "divbo", "beta": 0.9, "tau": 0.9, "weight": 0.1},
    }
    ensembles = {
        "best": {"type": "best"},
        "25": {"type": "selection", "size": 25},
        "100": {"type": "selection", "size": 100},
    }
    methods = {f"{s}/{e}": {"search": s, "ensemble": e} for s in searches for e in ensembles}
    return {"searches": searches, "ensembles": ensembles, "methods": methods}


def test_families_differ_in_the_free_settings_only():
    free = {"search.beta", "search.tau", "search.weight"}.__contains__
    found = variants.families(
        study(), free, lambda s: s["search.optimizer"] == "divbo" and s.get("ensemble.size") == 25
    )
    # "again" has the settings of "a"; with a constant weight, beta and tau do nothing.
    assert found == [["a/25", "b/25", "c/25"]]
    by_size = variants.families(
        study(), "ensemble.size".__eq__, lambda s: s["ensemble.type"] == "selection"
    )
    assert by_size[0] == ["bo/25", "bo/100"]
    assert len(by_size) == 4


def test_grid_has_the_settings_of_each_cell_in_order():
    rows = [("q", "b/25", 0.2), ("q", "a/25", 0.3), ("w", "a/25", 0.1)]
    table = pd.DataFrame(rows, columns=["dataset", "method", "mean"]).assign(std=nan, repeats=1)
    found = variants.grid(study(), table)
    assert found[["dataset", "beta", "tau", "mean"]].to_numpy().tolist() == [
        ["q", 0.05, 0.2, 0.3], ["q", 0.1, 0.2, 0.2], ["w", 0.05, 0.2, 0.1]]  # fmt: skip


# Friedman and Nemenyi


def test_friedman_is_scipys_with_ties():
    errors = pd.DataFrame(
        np.random.default_rng(3).integers(0, 5, size=(9, 4)) / 10, columns=list("abcd")
    )
    found = friedman.friedman(errors)
    expected = stats.friedmanchisquare(*errors.to_numpy().T)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)


def test_friedman_of_demsars_example():
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
    tenth = friedman.friedman(errors, alpha=0.10)
    assert tenth.difference == pytest.approx(1.12, abs=0.005)
    assert tenth.groups() == [["m+cf", "m", "cf"], ["cf", "C4.5"]]
    # Iman and Davenport's F is that of a two-way analysis of variance of the ranks.
    placed = ranks.rank(table)
    between = 14 * np.square(placed.mean(0) - 2.5).sum()
    rest = np.square(placed - 2.5).sum() - between
    assert found.f_statistic == pytest.approx((between / 3) / (rest / 39))


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (10, 3.164)])
def test_critical_difference_has_the_published_quantiles(k, q):
    expected = q * np.sqrt(k * (k + 1) / (6 * 15))
    assert friedman.critical_difference(k, 15) == pytest.approx(expected, rel=3e-4)
    if k == 10:
        assert friedman.critical_difference(k, 15) == pytest.approx(3.498, abs=0.001)


def test_friedman_at_its_ends():
    alike = pd.DataFrame([[0.1, 0.2, 0.3]] * 5, columns=list("abc"))
    found = friedman.friedman(alike)
    assert (found.statistic, found.f_statistic, found.f_p) == (pytest.approx(10), np.inf, 0)
    tied = friedman.friedman(alike * 0)
    assert (tied.statistic, tied.p, tied.f_p) == (0, 1, 1)
    for table in (alike.iloc[:1], alike[["a", "b"]]):
        with pytest.raises(ValueError, match="2 data sets and 3 methods"):
            friedman.friedman(table)


def test_groups_are_the_longest_runs_within_the_difference():
    average = pd.Series({"a": 1.0, "b": 2.0, "c": 3.5, "d": 3.9, "e": 6.0})
    result = friedman.Friedman(average, 5, 0, 1, 0, 1, difference=2.0, alpha=0.05)
    assert result.groups() == [["a", "b"], ["b", "c", "d"]]


# Effect sizes and intervals


def test_rank_biserial_by_hand():
    x, y = np.array([5, 1, 4, 2, 9]) / 10, np.array([2, 2, 2, 2, 4]) / 10
    # Differences 3, -1, 2, 0, 5: ranks 3, -1, 2, none, 4.
    assert effects.rank_biserial(x, y) == pytest.approx((3 - 1 + 2 + 4) / 10)
    assert effects.rank_biserial(y, x) == pytest.approx(-0.8)
    assert effects.rank_biserial(x, x) == 0


def test_cliffs_delta_by_hand():
    # (1: 3 lower), (2: 2 equal, 1 lower), (3: 2 higher, 1 lower).
    assert effects.cliffs_delta([1, 2, 3], [2, 2, 4]) == pytest.approx((2 - 5) / 9)
    assert [effects.magnitude(d) for d in (0.1, -0.147, 0.33, -0.474, 1)] == [
        "negligible", "small", "medium", "large", "large"]  # fmt: skip


def test_within_data_sets_adjusts_by_holm_for_the_methods_of_one_data_set():
    base = np.arange(10) / 100
    steps = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, -1.5]) / 1000
    table = final(
        {
            d: {"ref": base, "all": base + 0.01, "most": base + steps, "same": base}
            for d in ("one", "two")
        }
    )
    found = effects.within_datasets(table, "ref").set_index(["dataset", "method"])
    # All ten higher: 2 / 2^10; all but the one with the second rank: p = 6 / 2^10.
    assert found.loc["two", "p"].tolist() == pytest.approx([2 / 1024, 6 / 1024, 1])
    assert found.loc["two", "p_holm"].tolist() == pytest.approx([6 / 1024, 12 / 1024, 1])
    assert found.loc["one", "holm"].tolist() == ["better", "better", "same"]
    assert found.loc[("one", "same"), "delta"] == 0
    single = effects.within_datasets(final({"one": {"ref": [0.1], "b": [0.2]}}), "ref")
    assert np.isnan(single["delta"][0])
    assert single["magnitude"][0] == ""


def test_intervals_are_scipys():
    rng = np.random.default_rng(1)
    errors = pd.DataFrame(rng.random((15, 3)), columns=["ref", "b", "c"])
    found = effects.intervals(errors, "ref")
    assert found.equals(effects.intervals(errors, "ref"))
    for other in ("b", "c"):
        difference = errors[other] - errors["ref"]
        expected = stats.bootstrap(
            (difference,), np.mean, method="percentile", n_resamples=10_000, random_state=2,
            vectorized=True,
        ).confidence_interval  # fmt: skip
        row = found.loc[other]
        assert row["error"] == pytest.approx(difference.mean())
        spread = 0.03 * (expected.high - expected.low)
        assert row["error_low"] == pytest.approx(expected.low, abs=spread)
        assert row["error_high"] == pytest.approx(expected.high, abs=spread)
    assert effects.intervals(errors.iloc[:1], "ref")["error_low"].isna().all()


def test_intervals_of_ranks_by_hand():
    # The rank differs by 1 on every data set, whatever is drawn.
    errors = pd.DataFrame({"ref": [0.1, 0.2, 0.3], "b": [0.2, 0.3, 0.9]})
    row = effects.intervals(errors, "ref").loc["b"]
    assert (row["rank"], row["rank_low"], row["rank_high"]) == (1, 1, 1)
    # Two data sets, differences 0 and 0.4: means 0, 0.2, 0.4 with probabilities 1/4, 1/2, 1/4.
    errors = pd.DataFrame({"ref": [0.1, 0.1], "b": [0.1, 0.5]})
    row = effects.intervals(errors, "ref").loc["b"]
    assert [row["error_low"], row["error_high"]] == pytest.approx([0, 0.4])


# Overfitting


def test_gaps_are_of_the_same_ensemble_and_nan_until_all_runs_have_one():
    scores = pd.DataFrame(
        {
            "method": "m",
            "dataset": "d",
            "repeat": [0, 0, 0, 1, 1, 1],
            "iteration": [1, 2, 3] * 2,
            # The last ensemble of repeat 0 is worse on validation than the one before.
            "validation_error": [0.3, 0.1, 0.2, nan, 0.2, 0.2],
            "test_error": [0.4, 0.3, 0.3, nan, 0.25, 0.2],
            "members": [1, 2, 3, 0, 1, 1],
        }
    )
    found = overfitting.gaps(scores)
    assert found["gap"].tolist() == pytest.approx([nan, 0.125, 0.05], nan_ok=True)
    assert found["members"].tolist() == pytest.approx([nan, 1.5, 2], nan_ok=True)
    assert found["runs"].tolist() == [2, 2, 2]


def test_resolution_has_the_standard_error_of_a_share():
    table = overfitting.resolution(
        final({"d": {"m": [0.1, 0.3]}, "e": {"m": [0.5, 0.5]}}), pd.Series({"d": 100, "e": 400})
    )
    assert table["of_the_test_part"].tolist() == pytest.approx([0.04, 0.025])
    assert table["over_repeats"].tolist() == pytest.approx([0.1 * 2**0.5, 0])
