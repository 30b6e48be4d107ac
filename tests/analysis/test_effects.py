"""Effect sizes and intervals: by hand and against SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ensemble_search.analysis import effects, wilcoxon
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
