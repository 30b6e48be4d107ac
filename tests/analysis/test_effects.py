"""Effect sizes and intervals: by hand and against SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ensemble_search.analysis import effects, wilcoxon
from ensemble_search.analysis.losses import Losses
from support.made_scores import final


def test_rank_biserial_by_hand():
    x, y = np.array([5, 1, 4, 2, 9]) / 10, np.array([2, 2, 2, 2, 4]) / 10
    # Differences 3, -1, 2, 0, 5: ranks 3, -1, 2, none, 4.
    assert wilcoxon.rank_biserial(x, y) == pytest.approx((3 - 1 + 2 + 4) / 10)
    assert wilcoxon.rank_biserial(y, x) == pytest.approx(-0.8)
    assert wilcoxon.rank_biserial(x, x) == 0


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


def test_intervals_are_those_of_students_t():
    rng = np.random.default_rng(1)
    errors = pd.DataFrame(rng.random((15, 3)), columns=["ref", "b", "c"])
    found = effects.intervals(errors, "ref")
    for other in ("b", "c"):
        difference = errors[other] - errors["ref"]
        expected = stats.ttest_1samp(difference, 0).confidence_interval()
        row = found.loc[other]
        assert row["error"] == pytest.approx(difference.mean())
        assert row["error_low"] == pytest.approx(expected.low, abs=1e-9)
        assert row["error_high"] == pytest.approx(expected.high, abs=1e-9)
    assert effects.intervals(errors.iloc[:1], "ref")["error_low"].isna().all()


@pytest.mark.parametrize("n", [5, 6, 10, 30])
@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_cover_what_they_claim(n, skewed):
    rng = np.random.default_rng(n)
    # Of a gamma distribution with skewness 0.7, or a normal one.
    drawn = rng.gamma(8, size=(n, 4000)) - 8 if skewed else rng.normal(size=(n, 4000))
    found = effects.intervals(pd.DataFrame(drawn).assign(ref=0.0), "ref")
    covered = ((found["error_low"] <= 0) & (found["error_high"] >= 0)).mean()
    assert 0.93 <= covered <= 0.97


def test_intervals_of_ranks_by_hand():
    # The rank differs by 1 on every data set.
    errors = pd.DataFrame({"ref": [0.1, 0.2, 0.3], "b": [0.2, 0.3, 0.9]})
    row = effects.intervals(errors, "ref").loc["b"]
    assert (row["rank"], row["rank_low"], row["rank_high"]) == (1, 1, 1)
    # Two data sets, differences 0 and 0.4: 0.2 ± 12.706 (t, one degree of freedom) × 0.2.
    errors = pd.DataFrame({"ref": [0.1, 0.1], "b": [0.1, 0.5]})
    row = effects.intervals(errors, "ref").loc["b"]
    expected = [0.2 - 12.7062 * 0.2, 0.2 + 12.7062 * 0.2]
    assert [row["error_low"], row["error_high"]] == pytest.approx(expected, abs=1e-4)


def test_intervals_of_ranks_are_possible():
    """Ranks differ by -1 and 2, so their mean by 0.5 ± 19.1: with three methods, 2 at most."""
    errors = pd.DataFrame({"ref": [0.2, 0.1], "b": [0.1, 0.3], "c": [0.3, 0.2]})
    row = effects.intervals(errors, "ref").loc["b"]
    assert (row["rank"], row["rank_low"], row["rank_high"]) == (0.5, -2, 2)


def test_intervals_of_shares_are_possible():
    """Errors differ by 0.1 and 0.5, so their mean by 0.3 ± 2.54, and at most by 1."""
    errors = pd.DataFrame({"ref": [0.2, 0.1], "b": [0.3, 0.6]})
    row = effects.intervals(errors, "ref", most=Losses().most).loc["b"]
    assert (row["error_low"], row["error_high"]) == (-1, 1)
    assert np.isnan(row["detectable"])
    row = effects.intervals(errors, "ref", most=Losses("log-loss", percent=False).most).loc["b"]
    assert row["error_high"] == pytest.approx(0.3 + 12.7062 * 0.2, abs=1e-4)
    assert row["detectable"] > 1


def test_the_detectable_difference_is_found_in_four_of_five_cases():
    differences = np.array([0.3, -0.3, 0.1, 0.2, -0.2, 0.1, 0.4])
    n, sd = len(differences), differences.std(ddof=1)
    shift = effects.detectable(differences)
    samples = np.random.default_rng(0).normal(shift, sd, size=(40000, n))
    t = samples.mean(axis=1) / (samples.std(axis=1, ddof=1) / np.sqrt(n))
    assert np.mean(np.abs(t) > 2.4469) == pytest.approx(0.8, abs=0.01)  # t(6) at 97.5 %
    found = effects.intervals(pd.DataFrame({"ref": 0.0, "b": differences}), "ref")
    assert found.loc["b", "detectable"] == shift
    assert np.isnan(effects.detectable(differences[:1]))
    assert np.isnan(effects.detectable(np.full(3, 0.1)))


def test_comparisons_without_effect_are_counted():
    low = [0.1, -0.2, -0.3] + [-0.1] * 19
    high = [0.3, 0.1, -0.1] + [0.1] * 19
    table = pd.DataFrame({"error_low": low, "error_high": high})
    assert effects.by_chance(table) == (
        "Of 22 comparisons without any true effect, about 1.1 would have an interval that excludes "
        "0 by chance; here 2 do."
    )
    assert effects.by_chance(table[1:2]).startswith(
        "Of 1 comparison without any true effect, about 0.05"
    )
    assert effects.by_chance(table[1:2]).endswith("here none does.")
    ranks = table.assign(rank_low=[1] * 3 + [-1] * 19, rank_high=[2] * 3 + [1] * 19)
    assert effects.by_chance(ranks, ("error", "rank")) == (
        "Of 44 comparisons without any true effect, about 2.2 would have an interval that excludes "
        "0 by chance; here 5 do."
    )
