"""SMBO of the ESMBO paper: its candidates, and what it finds."""

import numpy as np
import pytest
from ConfigSpace import (
    Categorical,
    ConfigurationSpace,
    Float,
    ForbiddenLessThanRelation,
    Integer,
)
from scipy.stats.qmc import discrepancy

from ensemble_search.optimizers._model_based import acquisition
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.optimizers.random import RandomSearch
from ensemble_search.optimizers.smbo import SequentialModelBasedOptimization
from ensemble_search.runtime import plugins
from ensemble_search.surrogates.gaussian_process import GaussianProcess
from support.toy_space import LABELS, SAMPLES, ToySpace, _Toy, observe

pytestmark = pytest.mark.slow


class Square(_Toy):
    """Two numbers, a logarithmic one, an integer and a category; no conditions."""

    def define(self):
        space = ConfigurationSpace()
        space.add([Float("x", (0.0, 1.0)), Float("y", (1e-3, 1e3), log=True)])
        space.add([Integer("k", (1, 15)), Categorical("c", ["a", "b"])])
        return space


def error(configuration) -> float:
    """0.01 to 0.8; lowest at x = 0.3, y = 1, k = 8, c = a."""
    x, y, k, c = (configuration[name] for name in "xykc")
    off = (x - 0.3) ** 2 + (np.log10(y) / 6) ** 2 + ((k - 8) / 15) ** 2
    return 0.01 + off / 2 + 0.2 * (c == "b")


def lowest(optimizer, evaluations: int, seed: int) -> float:
    past, prediction = History(Square(), LABELS), np.full((SAMPLES, 2), 0.5, dtype=np.float32)
    for t in range(evaluations):
        c = optimizer.suggest(past, np.random.default_rng([seed, t])).configuration
        seen = (*past.observations, Observation(c, "ok", error(c), prediction))
        past = History(past.space, LABELS, seen)
    return past.errors.min()


def test_it_finds_the_minimum_of_a_smooth_function():
    smbo, random = (
        np.median([lowest(optimizer, 24, seed) for seed in range(3)])
        for optimizer in (SequentialModelBasedOptimization(candidates=1000), RandomSearch())
    )
    assert smbo < random / 2


def test_its_candidates_are_a_sobol_sequence(monkeypatch):
    """They fill the unit square more evenly than uniform draws, again for every suggestion."""
    found = []
    propose = acquisition.propose

    def spy(*arguments, **settings):
        found.append(propose(*arguments, **settings))
        return found[-1]

    monkeypatch.setattr("ensemble_search.optimizers.bo.propose", spy)
    plain = SequentialModelBasedOptimization(candidates=300, initial=3, ascents=1)
    lowest(plain, 5, 0)
    lowest(plain.model_copy(update={"ascents": 0}), 5, 0)
    square = [made.points[:, [Square().index["x"], Square().index["y"]]] for made in found]
    assert [made.points.shape for made in found] == [(300, 4)] * 4
    assert [made.n_local for made in found] == [0] * 4
    assert max(map(discrepancy, square[:2])) < min(map(discrepancy, square[2:])) / 3
    assert not np.array_equal(square[0], square[1])


class Cube(_Toy):
    """A few numbers."""

    def __init__(self, dimensions):
        self.dimensions = dimensions

    def define(self):
        space = ConfigurationSpace()
        space.add([Float(f"x{i}", (0.0, 1.0)) for i in range(self.dimensions)])
        return space


@pytest.mark.parametrize(("dimensions", "gain"), [(2, 0.999), (3, 0.999), (5, 1.05)])
def test_ascents_find_the_maximum_of_the_expected_improvement(dimensions, gain):
    """No point of 20 000, nor one near it, has a larger one."""
    draw, space = np.random.default_rng(0), Cube(dimensions)
    points = draw.random((25, dimensions))
    model = GaussianProcess().fit(
        points, ((points - 0.4) ** 2).sum(axis=1), space.categories, np.random.default_rng(0)
    )
    best = ((points - 0.4) ** 2).sum(axis=1).min()

    def improvement(points):
        return acquisition.expected_improvement(*model(points), best)

    def slope(vector):
        return acquisition.log_improvement(*model.gradients(vector), best)

    starts = draw.random((1000, dimensions))
    starts = starts[np.argsort(-improvement(starts))[:5]]
    ends = acquisition.ascend(space, starts, slope)
    found = improvement(ends).max()
    near = np.clip(
        ends[improvement(ends).argmax()] + 0.02 * draw.normal(size=(5000, dimensions)), 0, 1
    )
    assert found > 0.9999 * improvement(near).max()
    assert found >= improvement(draw.random((20_000, dimensions))).max()
    assert (improvement(ends) > gain * improvement(starts)).all()
    values = [list(c.values()) for c in space.at(ends)]
    np.testing.assert_allclose(values, np.round(values, 4), atol=1e-9)


class Half(_Toy):
    """Two numbers, the first not below the second."""

    has_algorithms = False

    def define(self):
        space, x, y = ConfigurationSpace(), Float("x", (0.0, 1.0)), Float("y", (0.0, 1.0))
        space.add([x, y])
        space.add(ForbiddenLessThanRelation(x, y))
        return space


@pytest.mark.parametrize("name", ["smbo", "divbo"])
def test_without_a_legal_candidate_it_suggests_a_random_configuration(name):
    space, rng = Half(), np.random.default_rng(0)
    past = History(space, LABELS, tuple(observe(c) for c in space.sample(4, rng)))
    settings = {"surrogate": "gaussian-process", "interleave": 0} if name == "divbo" else {}
    few = {"candidates": 1, "ascents": 1, "local": 0, "initial": 2}
    optimizer = plugins.load("optimizers", name)(**settings, **few)
    found = [optimizer.suggest(past, np.random.default_rng(seed)) for seed in range(10)]
    assert "fallback" in {suggestion.why["origin"] for suggestion in found}


def test_ascents_move_numbers_only():
    space = Square().restricted({"x": 0.25})
    starts = space.sample_points(4, np.random.default_rng(0))
    up = np.ones(4)
    ends = acquisition.ascend(space, starts, lambda vector: (float(vector.sum()), up))
    values = [dict(c) for c in space.at(ends)]
    assert [v["c"] for v in values] == [c["c"] for c in space.at(starts)]
    assert {(v["x"], v["y"], v["k"]) for v in values} == {(0.25, 1e3, 15)}


def test_climbs_are_an_option():
    optimizer = SequentialModelBasedOptimization(candidates=50, local=10)
    past = History(Square(), LABELS)
    for t in range(5):
        suggestion = optimizer.suggest(past, np.random.default_rng(t))
        c = suggestion.configuration
        new = Observation(c, "ok", error(c), np.full((SAMPLES, 2), 0.5, dtype=np.float32))
        past = History(past.space, LABELS, (*past.observations, new))
    assert suggestion.why["origin"] == "local"


@pytest.mark.parametrize("size", [0, 1, 100, 128])
def test_sobol_points_are_legal_and_as_many_as_asked_for(size):
    space = ToySpace().restricted({"algorithm": "b"})
    points = space.sobol_points(size, np.random.default_rng(0))
    assert points.shape == (size, 4)
    assert all(c["algorithm"] == "b" for c in space.at(points))
    assert [dict(c) for c in space.configurations([dict(c) for c in space.at(points)])] == [
        dict(c) for c in space.at(points)
    ]


def test_forbidden_sobol_points_are_left_out():
    space = plugins.load("spaces", "divbo")()
    points = space.sobol_points(500, np.random.default_rng(0))
    assert 100 < len(points) < 500
    space.configurations([dict(c) for c in space.at(points)])
