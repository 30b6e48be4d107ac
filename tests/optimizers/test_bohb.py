"""BOHB: its densities, the evaluations that it models, and what it finds."""

import numpy as np
import pytest
from scipy.stats import kstest, norm, truncnorm

from ensemble_search.optimizers import bohb
from ensemble_search.optimizers._model_based.kernel_density import KernelDensity
from ensemble_search.optimizers.base import PENDING, History, Observation
from ensemble_search.optimizers.bohb import ModelBasedHyperband, filled, scaled
from support.toy_space import LABELS, SAMPLES, Line, ToySpace, history

pytestmark = pytest.mark.slow

PREDICTION = np.full((SAMPLES, 2), 0.5, dtype=np.float32)


def test_bandwidths_and_densities_by_hand():
    """A number, a category of three, and one that is the same in all observations."""
    points = np.array([[0.1, 0, 0.5], [0.3, 2, 0.5], [0.8, 2, 0.5], [0.4, 2, 0.5]])
    density = KernelDensity.of(points, np.array([0, 3, 0]), 1e-3)
    scale = 1.06 * 4 ** (-1 / 7)
    h, c = scale * points[:, 0].std(), scale * np.sqrt(3 / 4)
    np.testing.assert_allclose(density.bandwidths, [h, 2 / 3, 1e-3])  # c is above 2/3
    assert c > 2 / 3
    narrow = KernelDensity(points, np.array([0, 3, 0]), np.array([h, 0.4, 1e-3]))
    asked = np.array([[0.2, 0, 0.5], [0.2, 1, 0.501]])
    numbers = norm.pdf(0.2, points[:, 0], h)
    first = (numbers * [0.6, 0.2, 0.2, 0.2]).mean() * norm.pdf(0, 0, 1e-3)
    second = (numbers * 0.2).mean() * norm.pdf(0.001, 0, 1e-3)
    np.testing.assert_allclose(np.exp(narrow.log_density(asked)), [first, second])


def test_draws_are_near_the_observations():
    density = KernelDensity(np.array([[0.1, 2.0]]), np.array([0, 4]), np.array([0.05, 0.3]))
    drawn = density.draw(4000, 3.0, np.random.default_rng(0))
    expected = truncnorm(-0.1 / 0.15, 0.9 / 0.15, loc=0.1, scale=0.15)
    assert kstest(drawn[:, 0], expected.cdf).pvalue > 0.01
    counts = np.bincount(drawn[:, 1].astype(int), minlength=4) / 4000
    np.testing.assert_allclose(counts, [0.075, 0.075, 0.775, 0.075], atol=0.02)


def made(shares: dict[float, int], failed=(), pending=()) -> History:
    """So many evaluations at every fidelity, with falling errors."""
    space, rows = ToySpace(), []
    drawn = iter(space.sample(sum(shares.values()), np.random.default_rng(0)))
    for share, size in shares.items():
        for _ in range(size):
            i, configuration = len(rows), next(drawn)
            if i in failed or i in pending:
                status = "crash" if i in failed else PENDING
                rows.append(Observation(configuration, status, float("nan"), None, share))
            else:
                rows.append(Observation(configuration, "ok", 0.9 - i / 100, PREDICTION, share))
    return History(space, LABELS, tuple(rows))


def test_the_model_is_of_the_largest_fidelity_with_enough_evaluations():
    """Four hyperparameters: a model needs 4 + 3."""
    optimizer = ModelBasedHyperband()
    assert optimizer.modelled(made({1 / 27: 6})) is None
    assert optimizer.modelled(made({1 / 27: 7})) == [6, 5, 4, 3, 2, 1, 0]
    assert optimizer.modelled(made({1 / 27: 9, 1 / 9: 6})) == list(range(8, -1, -1))
    assert optimizer.modelled(made({1 / 27: 9, 1 / 9: 7})) == list(range(15, 8, -1))
    assert optimizer.modelled(made({1 / 27: 7}, failed={6, 2})) == [5, 4, 3, 1, 0, 2, 6]
    assert optimizer.modelled(made({1 / 27: 8}, pending={3})) == [7, 6, 5, 4, 2, 1, 0]
    assert optimizer.modelled(made({1 / 27: 7}, pending={3})) is None
    assert optimizer.modelled(made({1 / 27: 7, 1: 7}, failed=range(7, 14))) == [6, 5, 4, 3, 2, 1, 0]
    assert optimizer.modelled(made({1 / 27: 7}, failed=range(7))) is None
    assert ModelBasedHyperband(points=2).modelled(made({1 / 27: 4})) == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("size", "settings", "good", "bad"),
    [
        (7, {}, 5, 5),
        (20, {}, 5, 15),
        (26, {"points": 2}, 3, 23),
    ],
)
def test_which_are_good_and_bad(size, settings, good, bad, monkeypatch):
    """15 %, but at least one more than hyperparameters; the others, at least as many."""
    asked, of = [], KernelDensity.of

    def spy(points, sizes, floor):
        asked.append(points)
        return of(points, sizes, floor)

    monkeypatch.setattr(KernelDensity, "of", spy)
    past = made({1 / 27: size})
    monkeypatch.setattr(bohb, "INTERLEAVE", 0.0)
    optimizer = ModelBasedHyperband(**settings)
    suggestion = optimizer.suggest(past, np.random.default_rng(0))
    assert suggestion.why["origin"] == "density"
    assert suggestion.why["model"] == 1 / 27
    assert suggestion.why["good"] == good
    assert suggestion.fidelity == 1 / 27
    x = ToySpace().index["x"]
    falling = [o.configuration["x"] for o in past.observations][::-1]
    np.testing.assert_allclose(asked[0][:, x], falling[:good])
    np.testing.assert_allclose(asked[1][:, x], falling[-bad:])


def test_inactive_entries_are_those_of_others():
    space = ToySpace()
    configurations = space.sample(40, np.random.default_rng(0))
    rate = space.index["rate"]
    points = scaled(space, configurations)
    missing = np.isnan(points[:, rate])
    assert 0 < missing.sum() < 40
    done = filled(space, points, np.random.default_rng(0))
    np.testing.assert_array_equal(done[~missing], points[~missing])
    assert set(done[missing, rate]) <= set(points[~missing, rate])
    assert len(set(done[missing, rate])) > 2
    alone = filled(space, points[missing], np.random.default_rng(0))[:, rate]
    assert len(set(alone)) == missing.sum()
    assert ((alone >= 0) & (alone < 1)).all()


def test_a_third_is_random():
    past = history(ToySpace(), 20)
    optimizer = ModelBasedHyperband()
    origins = [optimizer.suggest(past, np.random.default_rng(t)).why["origin"] for t in range(300)]
    assert set(origins) == {"random", "density"}
    assert 75 <= origins.count("random") <= 125


def test_the_candidate_with_the_largest_ratio_is_suggested(monkeypatch):
    space, x = Line(), np.linspace(0.01, 0.99, 20)
    rows = (
        Observation(space.configuration({"x": v}), "ok", abs(v - 0.3), PREDICTION, 1 / 27)
        for v in x
    )
    past = History(space, LABELS, tuple(rows))
    monkeypatch.setattr(bohb, "INTERLEAVE", 0.0)
    monkeypatch.setattr(bohb, "CANDIDATES", 5000)
    found = ModelBasedHyperband().suggest(past, np.random.default_rng(0)).configuration["x"]
    order = np.argsort(abs(x - 0.3), kind="stable")
    good, bad = (
        KernelDensity.of(x[part, None], np.array([0]), 1e-3) for part in (order[:3], order[3:])
    )
    grid = np.linspace(0, 1, 2001)[:, None]
    ratio = good.log_density(grid) - bad.log_density(grid)
    assert found == pytest.approx(grid[ratio.argmax(), 0], abs=5e-3)
    assert found == pytest.approx(0.3, abs=0.1)
