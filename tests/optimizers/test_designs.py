"""Designs: features, k-DPPs and Sobol sequences, and searches that begin with them."""

from itertools import count, islice

import numpy as np
import pytest
from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, Integer
from ConfigSpace import OrdinalHyperparameter as Ordinal
from pydantic import ValidationError
from scipy.stats.qmc import Sobol

from ensemble_search.dpp.kernels import rbf
from ensemble_search.optimizers.base import History, Suggestion
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.optimizers.divbo import DivBO
from ensemble_search.optimizers.k_dpp import DeterminantalDesign
from ensemble_search.optimizers.sobol import SobolSequence
from ensemble_search.optimizers.tpe import TreeParzenEstimator
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._dodge import NeuralEasy
from ensemble_search.spaces._features import dimensions, features
from ensemble_search.spaces._table import TableSpace
from ensemble_search.spaces.base import Space
from ensemble_search.study import model
from support import subsets
from support.toy_space import LABELS, ToySpace, history, observe

pytestmark = pytest.mark.slow


class Mixed(ToySpace):
    def define(self):
        space = ConfigurationSpace()
        switch = Categorical("l2", ["off", "on"])
        strength = Float("strength", (1e-4, 1.0), log=True)
        size = Ordinal("size", ["s", "m", "l"], default_value="m")
        space.add([Float("x", (-1.0, 3.0)), switch, strength, size, Integer("k", (0, 4))])
        space.add(EqualsCondition(strength, switch, "on"))
        return space


class Levels(ToySpace):
    def define(self):
        space = ConfigurationSpace()
        space.add(Integer("k", (0, 5)))
        return space


class Square(ToySpace):
    def define(self):
        space = ConfigurationSpace()
        space.add([Float("x", (0.0, 1.0)), Float("y", (1e-2, 1e2), log=True)])
        return space


def rng(seed=0):
    return np.random.default_rng(seed)


def empty(space: Space) -> History:
    return History(space, LABELS)


def plan(optimizer, past: History, n: int, seed: int = 0) -> list:
    generators = (np.random.default_rng([seed, t]) for t in count(len(past)))
    return list(islice(optimizer.plan(past, generators), n))


def configurations(suggestions) -> list:
    return [s.configuration for s in suggestions]


def evaluated(past: History, suggestions) -> History:
    rows = (observe(s.configuration) for s in suggestions)
    return History(past.space, past.labels, (*past.observations, *rows))


def test_features_by_hand():
    space = Mixed()
    configurations = [
        space.configuration({"x": 1.0, "l2": "off", "size": "s", "k": 1}),
        space.configuration({"x": 3.0, "l2": "on", "strength": 0.01, "size": "l", "k": 4}),
    ]
    names = [column.name for column in space.columns]
    expected = {
        "x": [[0.5], [1.0]],
        "l2": [[1, 0], [0, 1]],
        "strength": [[0], [0.5]],
        "size": [[1, 0, 0], [1, 1, 1]],
        "k": [[0.25], [1]],
    }
    rows = features(space, space.points(configurations))
    assert rows.tolist() == np.concatenate([expected[name] for name in names], axis=1).tolist()
    assert dimensions(space) == rows.shape[1] == 8


@pytest.mark.parametrize(("table", "given"), [(False, ()), (True, (0, 3))])
def test_the_law_of_sets_in_a_tiny_space(given, table):
    """Against the determinants of all subsets: 3 of 6 configurations, or 2 given 2 others."""
    space = Levels()
    items = [space.configuration({"k": k}) for k in range(6)]
    if table:
        space = TableSpace(space, items)
    rows = features(space, space.points(items))
    size = 2 if given else 3
    whole = subsets.law(rbf(rows, rows, 0.3), size + len(given))
    law = {tuple(i for i in a if i not in given): p for a, p in whole.items() if {*given} <= {*a}}
    law = {a: p / sum(law.values()) for a, p in law.items()}
    past = History(space, LABELS, tuple(observe(items[i]) for i in given))
    optimizer = DeterminantalDesign(batch=size + len(given), sigma=0.3, steps=30)
    seeds = count()

    def sample():
        drawn = configurations(plan(optimizer, past, size, next(seeds)))
        return np.array([items.index(c) for c in drawn])

    uniform = dict.fromkeys(law, 1 / len(law))
    assert subsets.distance(sample, law, 150) < 1 < subsets.distance(sample, uniform, 150)


def test_its_points_repel_each_other():
    space = Square()

    def nearest(optimizer):
        rows = features(space, space.points(configurations(plan(optimizer, empty(space), 20))))
        distances = np.linalg.norm(rows[:, None] - rows, axis=2) + 9 * np.eye(20)
        return distances.min(axis=1).mean()

    dpp = np.mean([nearest(DeterminantalDesign(batch=20)) for _ in range(3)])
    uniform = [features(space, space.sample_points(20, rng(seed))) for seed in range(100)]
    eye = 9 * np.eye(20)
    means = [(np.linalg.norm(u[:, None] - u, axis=2) + eye).min(axis=1).mean() for u in uniform]
    assert dpp > np.quantile(means, 0.99)


def test_batches_avoid_what_was_evaluated():
    space = Square()
    optimizer = DeterminantalDesign(batch=10)
    first = plan(optimizer, empty(space), 99)
    assert len(first) == 10
    second = plan(optimizer, evaluated(empty(space), first), 99)
    assert len(second) == 10
    why = second[0].why
    assert why["log_det"] > why["uniform_log_det"] + why["spread"]
    rows = features(space, space.points(configurations(first + second)))
    expected = np.linalg.slogdet(rbf(rows, rows, why["sigma"]))[1]
    assert why["log_det"] == pytest.approx(expected, abs=1e-6)
    # One that was interrupted within a batch draws the rest of it.
    assert len(plan(optimizer, evaluated(empty(space), first[:4]), 99)) == 6


def test_a_long_chain_and_a_long_scale():
    space = Square()
    paper = DeterminantalDesign(batch=4, steps="paper")
    assert len(plan(paper, empty(space), 4)) == 4
    paper.check_space(space)
    with pytest.raises(UserError, match=r"^steps: 'paper' is 1000\^3 times 2 features = 2e\+09"):
        DeterminantalDesign(steps="paper").planned(5000).check_space(space)
    with pytest.raises(UserError, match=r"^sigma: 50 is too large; .* a smaller sigma"):
        plan(DeterminantalDesign(batch=20, sigma=50.0), empty(space), 20)
    with pytest.raises(UserError, match=r"^sigma: 10000 is too large; .* a smaller sigma"):
        plan(DeterminantalDesign(batch=5, sigma=1e4), empty(NeuralEasy()), 5)
    for sigma in (1e-6, 1, 1e6):
        assert DeterminantalDesign(batch=2, sigma=sigma).sigma == sigma
    for sigma in (0.0, -1.0, 1e-200, 1e200, np.nan, np.inf, True, [0.1], None):
        with pytest.raises(ValidationError) as caught:
            DeterminantalDesign(batch=2, sigma=sigma)
        assert [e["msg"] for e in caught.value.errors()] == [
            "Value error, must be a number from 0.000001 to 1000000, or 'auto'"
        ]
    for steps in (-1, 2.5, True, "long"):
        with pytest.raises(ValidationError) as caught:
            DeterminantalDesign(batch=2, steps=steps)
        assert [e["msg"] for e in caught.value.errors()] == [
            "Value error, must be an integer from 0 to 10^6, 'paper' or null"
        ]


def test_sobol_is_the_sequence_with_one_shift():
    space = Square()
    suggestions = plan(SobolSequence(), empty(space), 200)
    rows = features(space, space.points(configurations(suggestions)))
    shift = (rows - Sobol(2, scramble=False).random(256)[:200]) % 1
    assert shift == pytest.approx(np.tile(shift[0], (200, 1)), abs=1e-6)
    assert plan(SobolSequence(), empty(space), 30) == suggestions[:30]
    assert plan(SobolSequence(), empty(space), 30, seed=1) != suggestions[:30]


def test_sobol_goes_on_after_thousands_of_points():
    space = Square()
    past = empty(space)
    past = evaluated(past, [Suggestion(c, {}) for c in space.sample(9000, rng())])
    found = plan(SobolSequence(), past, 70)
    assert {suggestion.why["origin"] for suggestion in found} == {"sobol"}


def test_sobol_in_a_table_takes_the_nearest_rows():
    space = Square()
    table = TableSpace(space, space.sample(40, rng()))
    wanted = configurations(plan(SobolSequence(), empty(space), 10))
    drawn = configurations(plan(SobolSequence(), empty(table), 60))
    assert set(drawn[:40]) == set(table.all)
    rows, points = space.points(table.all), space.points(wanted)
    nearest = np.abs(rows - points[:, None]).sum(axis=2).argmin(axis=1)
    assert drawn[0] == table.all[nearest[0]]
    first = dict(zip(nearest.tolist(), drawn, strict=False))
    assert sum(table.all[i] == c for i, c in first.items()) > 5


def test_the_last_of_a_table_are_drawn_once_by_a_k_dpp():
    table = TableSpace(Square(), Square().sample(1000, rng()))
    past = History(table, LABELS, tuple(observe(c) for c in table.all[:995]))
    for seed in range(5):
        planned = DeterminantalDesign(batch=5).plan(past, iter([rng(seed)]))
        assert set(configurations(planned)) == set(table.all[995:])


@pytest.mark.parametrize("design", ["defaults", "k-dpp", "sobol", "random"])
def test_designs_in_a_table_of_one_learner(design):
    space = plugins.load("spaces", "svm")()
    table = TableSpace(space, space.sample(30, rng()))
    optimizer = BayesianOptimization(initial=3, design=design)
    assert optimizer.suggest(History(table, LABELS), rng()).configuration in table.all


@pytest.mark.parametrize("design", ["k-dpp", "sobol"])
@pytest.mark.parametrize("kind", [BayesianOptimization, DivBO])
def test_searches_begin_with_a_design(design, kind):
    space = ToySpace()
    optimizer = kind(initial=6, design=design, interleave=0)
    first = plan(optimizer, empty(space), 99)
    assert [s.why["origin"] for s in first] == ["initial"] * 6
    own = {"k-dpp": DeterminantalDesign(batch=6), "sobol": SobolSequence()}[design]
    assert configurations(first) == configurations(plan(own, empty(space), 6))
    past = evaluated(empty(space), first)
    assert [s.why["origin"] in ("local", "random") for s in plan(optimizer, past, 9)] == [True]
    past = history(space, 6, failed=set(range(6)))
    assert optimizer.suggest(past, rng()).why["origin"] == "initial"


@pytest.mark.parametrize("kind", [BayesianOptimization, DivBO])
def test_defaults_come_first(kind):
    """One of every algorithm, then random ones; a space of one learner has one default."""
    space = ToySpace()
    names = space.algorithms
    optimizer = kind(initial=len(names) + 2, design="defaults", interleave=0)
    first = plan(optimizer, empty(space), 99)
    assert [s.why["origin"] for s in first] == ["initial"] * (len(names) + 2)
    assert [s.configuration["algorithm"] for s in first[: len(names)]] == names
    for suggestion in first[: len(names)]:
        for name, value in suggestion.configuration.items():
            assert name == "algorithm" or value == space.configspace[name].default_value
    assert len(set(configurations(first))) == len(first)
    # One that was interrupted within the design continues with it.
    rest = plan(optimizer, evaluated(empty(space), first[:2]), 99)
    assert configurations(rest)[: len(names) - 2] == configurations(first)[2 : len(names)]
    space = plugins.load("spaces", "svm")()
    first, second = plan(kind(initial=2, design="defaults"), empty(space), 2)
    assert dict(first.configuration) == {n: c.default_value for n, c in space.configspace.items()}
    assert second.configuration != first.configuration


def test_the_default_of_the_only_algorithm():
    """Another algorithm's would neither be asked for nor count as an evaluation of the design."""
    space = ToySpace()
    optimizer = TreeParzenEstimator(initial=4, design="defaults", algorithm="b")
    first = plan(optimizer, empty(space), 4)
    assert {s.configuration["algorithm"] for s in first} == {"b"}
    default = {n: c.default_value for n, c in space.configspace.items()} | {"algorithm": "b"}
    assert dict(first[0].configuration) == default
    assert len(set(configurations(first))) == 4


@pytest.mark.parametrize(
    ("settings", "space", "message"),
    [
        ("sobol", "divbo", "optimizer: a Sobol sequence needs a space without cond"),
        ("bo design=sobol", "divbo", "design: a Sobol sequence needs a space without"),
        ("bo design=halton", "svm", "design"),
        ("k-bo design=k-dpp", "divbo", "design: must be random"),
        (
            "rising-bandit",
            "svm",
            "optimizer: it is for spaces of several .* 'svm' has a single learner",
        ),
        ("k-dpp sigma=0", "svm", "sigma"),
        ("k-dpp sigma=wide", "svm", "sigma"),
        ("k-dpp batch=0", "svm", "batch"),
        ("k-dpp", "svm", "batch: must be written out where the study's budget is in seconds"),
    ],
)
def test_bad_settings(settings, space, message):
    name, *rest = settings.split()
    values = {key: int(v) if v.isdigit() else v for key, v in (item.split("=") for item in rest)}
    content = {
        "study": "s",
        "space": space,
        "budget": {"seconds": 60.0},
        "datasets": {"iris": {"sklearn": "iris"}},
        "searches": {"a": {"optimizer": name, **values}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"A": {"search": "a", "ensemble": "best"}},
    }
    with pytest.raises(UserError, match=rf"^study: searches\.a\.{message}") as caught:
        model.check(content)
    assert "\n" not in str(caught.value)


def test_a_draw_for_a_large_budget_has_the_largest_size_that_is_allowed():
    for budget, size in ((50, 50), (1000, 1000), (1001, 1000)):
        made = DeterminantalDesign().planned(budget)
        assert DeterminantalDesign(**made.model_dump()).batch == size
