"""Win rates and ratings of Bradley and Terry."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ensemble_search.analysis import ranks
from ensemble_search.analysis.ratings import ratings

pytestmark = pytest.mark.slow


def errors(rows: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, [f"d{i}" for i in range(len(rows))], list("ABC")[: len(rows[0])])


def test_two_methods_by_hand():
    """A wins 6 of 8; with the tie 6.5 to 2.5, and 400 points are a factor of ten."""
    found = ratings(errors([[0.1, 0.2]] * 6 + [[0.2, 0.1]] * 2))
    assert found["win_rate"].tolist() == [0.75, 0.25]
    assert found["elo"].mean() == pytest.approx(1000)
    assert found.loc["A", "elo"] - found.loc["B", "elo"] == pytest.approx(400 * np.log10(6.5 / 2.5))
    # The jackknife: six times 5.5 to 2.5 is left, and twice 6.5 to 1.5.
    left = 200 * np.log10([5.5 / 2.5] * 6 + [6.5 / 1.5] * 2)
    half = stats.t.ppf(0.975, 7) * np.sqrt(7 / 8 * np.square(left - left.mean()).sum())
    ends = found.loc["A", ["elo_low", "elo_high"]].tolist()
    assert ends == pytest.approx([found.loc["A", "elo"] - half, found.loc["A", "elo"] + half])


def test_expected_wins_are_those_seen():
    """What maximises the likelihood; a tie counts one half."""
    table = errors(np.random.default_rng(0).integers(3, size=(9, 3)).tolist())
    found = ratings(table)
    placed = ranks.rank(table.to_numpy()).mean(axis=0)
    assert found["win_rate"].tolist() == pytest.approx((3 - placed) / 2)
    odds = 10 ** (found["elo"].to_numpy() / 400)
    chance = odds[:, None] / (odds[:, None] + odds)
    np.fill_diagonal(chance, 0)
    assert (chance.sum(axis=1) * 10).tolist() == pytest.approx(9 * (3 - placed) + 2 * 0.5)


def test_who_always_wins_has_a_rating_and_no_interval():
    found = ratings(errors([[0.1, 0.2, 0.3]] * 50))
    assert np.isfinite(found["elo"]).all()
    assert found["elo"].is_monotonic_decreasing
    assert found[["elo_low", "elo_high"]].isna().all(axis=None)


@pytest.mark.parametrize("rows", [[[0.1, 0.2]], [[0.1]], [[0.1], [0.2]]])
def test_one_data_set_or_method_has_no_interval(rows):
    found = ratings(errors(rows))
    assert found["elo_low"].isna().all()
    assert found["elo"].mean() == pytest.approx(1000)


def test_intervals_cover_the_truth():
    rng = np.random.default_rng(0)
    means = np.array([0.0, 0.3, 0.6])
    truth = ratings(errors(rng.normal(means, size=(20_000, 3)).tolist()))["elo"]
    drawn = [ratings(errors(rng.normal(means, size=(8, 3)).tolist())) for _ in range(300)]
    covered = [((d["elo_low"] <= truth) & (truth <= d["elo_high"])).mean() for d in drawn]
    assert 0.92 < np.mean(covered) < 0.99


def test_an_interval_is_missing_where_that_of_the_rank_is():
    """A is always first, so only the wins of B and C vary, and with them A's rating a little."""
    rows = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.1, 0.2, 0.3]]
    table = errors(rows).rename_axis("dataset")
    found = ratings(table)
    placed = ranks.rank_intervals(table)
    assert placed["low"].isna().tolist() == [True, False, False]
    assert found["elo_low"].isna().tolist() == [True, False, False]
