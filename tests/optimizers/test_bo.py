"""Bayesian optimization: expected improvement, climbs, candidates, and the search itself."""

import itertools

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.integrate import quad
from scipy.stats import norm, rankdata

from ensemble_search.optimizers._model_based.acquisition import (
    climb,
    descending_ranks,
    expected_improvement,
    first_new,
    propose,
)
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.optimizers.random import RandomSearch
from ensemble_search.surrogates.random_forest import RandomForest
from support.toy_space import LABELS, Grid, TinySpace, ToySpace, history, observe

pytestmark = pytest.mark.slow


def landscape(seed: int):
    """A rugged function of encoded configurations, and what it is for one vector."""
    rng = np.random.default_rng(seed)
    table = {}

    def score(vectors):
        return np.array([table.setdefault(v.tobytes(), rng.random()) for v in vectors])

    return score


def test_expected_improvement_by_hand():
    """At mean = best it is std * phi(0); with no spread nothing is expected."""
    got = expected_improvement(np.array([0.3, 0.1, 0.5]), np.array([0.2, 0.0, 0.0]), 0.3)
    np.testing.assert_allclose(got, [0.2 / np.sqrt(2 * np.pi), 0, 0])


@pytest.mark.parametrize(("mean", "std"), [(0.2, 0.1), (0.4, 0.05), (0.31, 0.3), (0.9, 0.1)])
def test_expected_improvement_is_the_integral(mean, std):
    best = 0.3
    integral = quad(lambda y: (best - y) * norm.pdf(y, mean, std), best - 12, best, points=[mean])
    tight = quad(lambda y: (best - y) * norm.pdf(y, mean, std), mean - 12 * std, best)
    expected = tight[0] if mean - 12 * std < best else integral[0]
    got = expected_improvement(np.array([mean]), np.array([std]), best)[0]
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_ranks():
    np.testing.assert_array_equal(descending_ranks([0.1, 0.7, 0.7, 0.0]), [3, 1.5, 1.5, 4])
    values = np.random.default_rng(0).integers(9, size=50) / 8
    np.testing.assert_array_equal(descending_ranks(values), rankdata(-values, method="average"))


@pytest.mark.parametrize("seed", range(5))
def test_climbs_are_best_improvement_and_end_at_optima(seed):
    space, score = Grid(), landscape(seed)
    starts = space.sample(12, np.random.default_rng(seed))

    def value(configuration):
        return score(space.encode([configuration]))[0]

    expected = []
    for start in starts:  # one climb after the other, written plainly
        here = start
        while True:
            best = max(space.neighbours(here, np.random.default_rng(0)), key=value)
            if value(best) <= value(here):
                break
            here = best
        expected.append(here)
    ends = space.at(climb(space, starts, score, np.random.default_rng(1), steps=1000))
    assert ends == expected
    assert ends != starts


def test_a_climb_stops_at_the_cap():
    """The number of 'd's grows by one a step."""
    space = Grid()
    start = space.configuration({f"c{i}": "a" for i in range(5)})
    is_d = space.encode([space.configuration({f"c{i}": "d" for i in range(5)})])[0]
    for steps in (1, 3, 20):
        end = climb(space, [start], lambda v: v @ is_d, np.random.default_rng(0), steps)
        assert list(space.at(end)[0].values()).count("d") == min(steps, 5)


def test_climbing_calls_the_score_once_a_step():
    space, calls = Grid(), []
    score = landscape(0)

    def counted(vectors):
        calls.append(len(vectors))
        return score(vectors)

    starts = space.sample(10, np.random.default_rng(0))
    climb(space, starts, counted, np.random.default_rng(0))
    assert calls[:2] == [10, 10 * 15]
    assert calls[2:] == sorted(calls[2:], reverse=True)
    assert climb(space, [], counted, np.random.default_rng(0)).shape == (0, 5)


def test_climbs_stand_still_on_a_plateau():
    space = ToySpace()
    starts = space.sample(6, np.random.default_rng(0))
    flat = climb(space, starts, lambda v: np.zeros(len(v)), np.random.default_rng(0))
    assert space.at(flat) == starts


def test_candidates():
    space, score = Grid(), landscape(3)
    starts = space.sample(30, np.random.default_rng(0))
    ends = space.at(climb(space, starts, score, np.random.default_rng(1)))
    found = propose(space, starts, score, np.random.default_rng(1), size=200)
    configurations = space.at(found.points)
    assert len(configurations) == 200
    assert found.n_local == len(set(ends)) < 30
    assert set(configurations[: found.n_local]) == set(ends)
    np.testing.assert_array_equal(found.vectors, space.encode(configurations))
    assert found.vectors.dtype == np.float32


def test_the_first_new_one():
    space = TinySpace()
    points = space.sample_points(40, np.random.default_rng(0))
    all_of_them = space.at(points)
    cost = np.arange(40.0)[::-1]
    generator = np.random.default_rng(0)
    assert first_new(space, points, cost, set(), generator) == (39, all_of_them[39])
    i, configuration = first_new(space, points, cost, {all_of_them[39]}, generator)
    assert i == max(j for j, c in enumerate(all_of_them) if c != all_of_them[39])
    assert configuration == all_of_them[i]
    assert first_new(space, points, cost, set(all_of_them), generator) is None
    ties = {
        first_new(space, points, np.ones(40), set(), np.random.default_rng(s))[0] for s in range(20)
    }
    assert len(ties) > 10


def test_initial_design_then_model():
    optimizer = BayesianOptimization(interleave=0, candidates=50)
    origins = [
        optimizer.suggest(history(ToySpace(), n), np.random.default_rng(0)).why["origin"]
        for n in range(7)
    ]
    assert origins[:5] == ["initial"] * 5
    assert set(origins[5:]) <= {"local", "random"}
    assert optimizer.minimum_evaluations == 6
    assert BayesianOptimization(initial=9).minimum_evaluations == 10


@pytest.mark.parametrize(
    ("name", "says"),
    [("random-forrest", "did you mean 'random-forest'"), ("forest-kernel", "no errors")],
)
def test_wrong_surrogates_are_rejected(name, says):
    with pytest.raises(ValidationError, match=says):
        BayesianOptimization(surrogate=name)


def test_the_surrogate_is_chosen_by_name():
    past = history(ToySpace(), 30)
    whys = [
        BayesianOptimization(interleave=0, surrogate=name)
        .suggest(past, np.random.default_rng(0))
        .why
        for name in ("random-forest", "one-hot-forest")
    ]
    assert whys[0]["mean"] != whys[1]["mean"]
    assert BayesianOptimization().modules == ["ensemble_search.surrogates.random_forest"]


def test_all_failed_is_random():
    past = history(ToySpace(), 8, failed=set(range(8)))
    why = BayesianOptimization().suggest(past, np.random.default_rng(0)).why
    assert why == {"origin": "initial"}


def test_a_failure_counts_as_the_worst_success():
    space = ToySpace()
    past = history(space, 10, failed={2, 6})
    worst = max(o.error for o in past.observations if o.status == "ok")
    rows = tuple(
        Observation(o.configuration, "ok", worst, observe(o.configuration).prediction)
        if o.status != "ok"
        else o
        for o in past.observations
    )
    imputed = History(space, LABELS, rows)
    optimizer = BayesianOptimization(interleave=0)
    one, two = (optimizer.suggest(h, np.random.default_rng(0)) for h in (past, imputed))
    assert (one.configuration, one.why) == (two.configuration, two.why)


def test_the_suggestion_has_the_largest_improvement_of_its_candidates():
    """20 000 draws hold all 1024 configurations of the space."""
    space = Grid()
    past = history(space, 20)
    optimizer = BayesianOptimization(interleave=0, candidates=20_000)
    suggestion = optimizer.suggest(past, np.random.default_rng(4))
    seed = np.random.default_rng(4).integers(2**63, size=4)[0]
    model = RandomForest().fit(
        past.vectors, past.errors, past.space.categories, np.random.default_rng(seed)
    )
    everything = [
        space.configuration({f"c{i}": v for i, v in enumerate(values)})
        for values in itertools.product("abcd", repeat=5)
    ]
    mean, std = model(space.encode(everything))
    gain = expected_improvement(mean, std, past.errors.min())
    gain[[c in past.seen for c in everything]] = -1
    i = everything.index(suggestion.configuration)
    assert gain[i] == gain.max()
    assert suggestion.why["expected_improvement"] == pytest.approx(gain[i])
    assert suggestion.why["mean"] == pytest.approx(mean[i])
    assert suggestion.why["std"] == pytest.approx(std[i])


def test_where_climbs_start():
    past = history(ToySpace(), 12)
    by_gain = BayesianOptimization(local=4)
    gain = np.random.default_rng(2).random(12)
    starts = by_gain._starts(past, lambda vectors: gain, np.random.default_rng(0))
    assert starts == [past.observations[i].configuration for i in np.argsort(-gain)[:4]]


def test_interleaved_random_configurations():
    past = history(ToySpace(), 8)
    share = BayesianOptimization(interleave=0.5, candidates=20, local=0)
    whys = [share.suggest(past, np.random.default_rng(s)).why for s in range(60)]
    without_model = sum("mean" not in why for why in whys)
    assert 15 <= without_model <= 45


def quadratic(configuration) -> Observation:
    """Error of a smooth function with its minimum 0 at algorithm b, x = 0.7, k = 12."""
    v = configuration
    error = (v["x"] - 0.7) ** 2 + ((v["k"] - 12) / 30) ** 2 + 0.3 * (v["algorithm"] != "b")
    return Observation(configuration, "ok", error / 2, observe(configuration).prediction)


def test_beats_random_search_on_a_smooth_function():
    """Median of the lowest error after 60 evaluations over five seeds is less than half."""
    lowest = {}
    for optimizer in (RandomSearch(), BayesianOptimization(candidates=1000, local=10)):
        for seed in range(5):
            past = History(ToySpace(), LABELS)
            for t in range(60):
                c = optimizer.suggest(past, np.random.default_rng([seed, t])).configuration
                past = History(past.space, LABELS, (*past.observations, quadratic(c)))
            lowest.setdefault(type(optimizer), []).append(past.errors.min())
    random, bo = (np.median(v) for v in lowest.values())
    assert bo < random / 2


def test_a_batch_takes_pending_evaluations_for_median_ones():
    """Each configuration of a batch is what is suggested if those before it had the median."""
    space, optimizer = ToySpace(), BayesianOptimization(candidates=40, local=3, interleave=0)
    past = history(space, 9, failed={4})
    batch = optimizer.model_copy(update={"batch": 3})
    planned = list(batch.plan(past, iter([np.random.default_rng(5)])))
    assert len(planned) == 3
    rng, median = np.random.default_rng(5), float(np.median(past.errors[past.ok]))
    for suggestion in planned:
        assert dict(optimizer.suggest(past, rng).configuration) == dict(suggestion.configuration)
        past = past.pending(suggestion)
        assert past.errors[-1] == median
    assert past.errors[4] == past.errors[past.ok].max()
    assert len(past.ok) == 8


def test_without_a_success_pending_evaluations_count_as_the_worst():
    past = history(ToySpace(), 2, failed={0, 1})
    suggestion = RandomSearch().suggest(past, np.random.default_rng(0))
    assert past.pending(suggestion).errors.tolist() == [1.0, 1.0, 1.0]
