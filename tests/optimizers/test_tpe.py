"""TPE: what is good, what is modelled, which draws are taken, and what it finds."""

import numpy as np
import pytest
from ConfigSpace import Categorical, ConfigurationSpace, Float, ForbiddenAndConjunction
from ConfigSpace import ForbiddenEqualsClause as Equals
from scipy.stats import kstest

from ensemble_search.optimizers._model_based import parzen
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.optimizers.random import RandomSearch
from ensemble_search.optimizers.tpe import TreeParzenEstimator
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._esmbo import Svm
from ensemble_search.spaces._table import TableSpace, distances
from ensemble_search.spaces.divbo_small import DivboSmall
from support.toy_space import LABELS, SAMPLES, Line, ToySpace, _Toy, history, search

pytestmark = pytest.mark.slow

PREDICTION = np.full((SAMPLES, 2), 0.5, dtype=np.float32)


class Corner(_Toy):
    """Two categories of which one combination is forbidden."""

    def define(self):
        space = ConfigurationSpace()
        a, b, x = Categorical("a", [0, 1]), Categorical("b", [0, 1]), Float("x", (0.0, 1.0))
        space.add([a, b, x, ForbiddenAndConjunction(Equals(a, 1), Equals(b, 1))])
        return space


def evaluated(space, configurations, error) -> History:
    rows = (Observation(c, "ok", error(c), PREDICTION) for c in configurations)
    return History(space, LABELS, tuple(rows))


@pytest.fixture
def past() -> History:
    space = Line()
    return evaluated(space, space.sample(36, np.random.default_rng(3)), lambda c: c["x"] / 2)


def line_models(past: History) -> tuple:
    """l of the two lowest and g of the others, in their order."""
    x = past.space.points([o.configuration for o in past.observations])[:, 0]
    good = x <= np.sort(x)[1]
    return tuple(parzen.estimate(past.space.columns[0], x[part]) for part in (good, ~good))


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (16, 1), (36, 2), (250, 4), (20_000, 25)])
def test_the_best_are_good(n, expected):
    errors = np.random.default_rng(0).permutation(n)
    good = TreeParzenEstimator().good(errors)
    assert sorted(errors[good]) == list(range(expected))


def test_of_equal_ones_the_oldest_are_good():
    good = TreeParzenEstimator(gamma=1.0).good(np.array([0.5, 0.2, 0.2, 0.2, 0.1]))
    assert good.tolist() == [False, True, True, False, True]


def test_failures_are_worse_than_the_only_success():
    """Only x > 0.9 works: the success is the good one although failures are older."""
    space = Line()
    configurations = space.sample(300, np.random.default_rng(1))
    right = next(c for c in configurations if c["x"] > 0.9)
    tried = [c for c in configurations if c["x"] < 0.9][:20]
    success = Observation(right, "ok", 0.2, np.full((SAMPLES, 2), 0.5, np.float32))
    failures = [Observation(c, "timeout", float("nan"), None) for c in tried]
    past = History(space, LABELS, (*failures[:10], success, *failures[10:]))
    optimizer = TreeParzenEstimator(gamma=0.2)
    suggested = [optimizer.suggest(past, np.random.default_rng(t)) for t in range(50)]
    assert {s.why["good"] for s in suggested} == {1}
    assert np.mean([s.configuration["x"] > 0.9 for s in suggested]) > 0.5


def test_one_candidate_is_a_draw_from_the_good_ones(past):
    optimizer, likely = TreeParzenEstimator(candidates=1), line_models(past)[0]
    drawn = [
        optimizer.suggest(past, np.random.default_rng([1, t])).configuration["x"]
        for t in range(400)
    ]
    grid = np.linspace(0, 1, 501)
    density = np.exp(likely.log_likelihood(grid))
    cumulative = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2) / 500)
    assert kstest(drawn, lambda x: np.interp(x, grid, cumulative)).pvalue > 0.01


def test_the_candidate_with_the_largest_ratio_is_suggested(past):
    likely, unlikely = line_models(past)
    grid = np.linspace(0, 1, 1001)
    ratio = likely.log_likelihood(grid) - unlikely.log_likelihood(grid)
    optimizer = TreeParzenEstimator(candidates=5000)
    suggestion = optimizer.suggest(past, np.random.default_rng(0))
    assert suggestion.configuration["x"] == pytest.approx(grid[ratio.argmax()], abs=2e-3)
    assert suggestion.why == {"origin": "parzen", "good": 2}


def test_only_evaluations_in_which_it_is_active_are_learned_from(monkeypatch):
    """The split is over all of them; failed evaluations are not good."""
    past = history(ToySpace(), 40, failed={2, 7, 11}, seed=1)
    asked = []

    def spy(column, entries):
        asked.append((column.name, entries.tolist()))
        return estimate(column, entries)

    estimate = parzen.estimate
    monkeypatch.setattr(parzen, "estimate", spy)
    for t in range(30):
        TreeParzenEstimator(candidates=1).suggest(past, np.random.default_rng(t))
    points, errors = past.space.points([o.configuration for o in past.observations]), past.errors
    assert errors[2] == errors[past.ok].max()
    good = np.isin(np.arange(40), np.argsort(errors, kind="stable")[:2])
    for name, i in past.space.index.items():
        active = ~np.isnan(points[:, i])
        expected = [points[active & part, i].tolist() for part in (good, ~good)]
        found = [entries for asked_name, entries in asked if asked_name == name]
        assert found == expected * (len(found) // 2)
        assert len(found) == 60 if name != "rate" else 2 <= len(found) < 60
    assert 0 < (~np.isnan(points[:, past.space.index["rate"]])).sum() < 40


@pytest.mark.parametrize("candidates", [1, 24])
def test_forbidden_combinations_are_drawn_again(candidates):
    """Each value of the forbidden pair is that of half of the good ones, and of no others."""
    space, numbers = Corner(), np.linspace(0, 1, 20)
    pairs = [(1, 0), (0, 1), (0, 0), (0, 0)]
    values = [{"a": a, "b": b, "x": x} for x in numbers for a, b in pairs]
    past = evaluated(space, space.configurations(values), lambda c: 0.5 - (c["a"] + c["b"]) / 4)
    optimizer = TreeParzenEstimator(gamma=4.0, candidates=candidates)
    found = [optimizer.suggest(past, np.random.default_rng(t)) for t in range(60)]
    assert {s.why["origin"] for s in found} == {"parzen"}
    assert {(s.configuration["a"], s.configuration["b"]) for s in found} == {*pairs}


def test_known_configurations_are_drawn_again():
    table = TableSpace(Line(), Line().sample(23, np.random.default_rng(0)))
    past, suggestions = search(TreeParzenEstimator(), table, 24)
    assert len(past.seen) == 23
    assert [s.why["origin"] for s in suggestions[20:]] == ["parzen"] * 3 + ["fallback"]


@pytest.mark.parametrize("seed", range(5))
def test_in_a_table_the_entry_nearest_to_the_draw_is_suggested(seed):
    whole = DivboSmall()
    rows = list(dict.fromkeys(whole.sample(80, np.random.default_rng(7))))
    past = evaluated(
        whole, rows[:30], lambda c: 0.1 * ("knn" in c["algorithm"]) + len(str(dict(c))) / 9999
    )
    table = TableSpace(whole, rows)
    optimizer = TreeParzenEstimator()
    free = optimizer.suggest(past, np.random.default_rng(seed)).configuration
    found = optimizer.suggest(
        History(table, LABELS, past.observations), np.random.default_rng(seed)
    ).configuration
    assert found in rows[30:]
    apart = distances(table.columns, free.point, whole.points(rows[30:]))
    assert distances(table.columns, free.point, found.point[None])[0] == apart.min()


def test_a_batch_takes_pending_evaluations_for_median_ones():
    past = history(ToySpace(), 30, failed={4})
    optimizer = TreeParzenEstimator()
    planned = list(TreeParzenEstimator(batch=3).plan(past, iter([np.random.default_rng(5)])))
    rng = np.random.default_rng(5)
    for suggestion in planned:
        assert optimizer.suggest(past, rng).configuration == suggestion.configuration
        past = past.pending(suggestion)
        assert past.errors[-1] == np.median(past.errors[past.ok])
    assert len(planned) == 3


def test_random_until_there_is_a_design():
    suggestions = search(TreeParzenEstimator(initial=4), ToySpace(), 7)[1]
    assert [s.why["origin"] for s in suggestions] == ["initial"] * 4 + ["parzen"] * 3
    assert TreeParzenEstimator().minimum_evaluations == 21


def test_it_finds_a_minimum():
    def error(c):
        rate = abs(np.log10(c.get("rate", 1e3)) + 1) / 8
        return 0.01 + (c["x"] - 0.3) ** 2 / 4 + ((c["k"] - 8) / 60) ** 2 + rate / 4

    def lowest(optimizer, seed):
        past = History(ToySpace(), LABELS)
        for t in range(80):
            c = optimizer.suggest(past, np.random.default_rng([seed, t])).configuration
            past = History(
                past.space,
                LABELS,
                (*past.observations, Observation(c, "ok", error(c), PREDICTION)),
            )
        return past.errors.min() - 0.01

    tpe, random = (
        np.median([lowest(optimizer, seed) for seed in range(5)])
        for optimizer in (TreeParzenEstimator(), RandomSearch())
    )
    assert tpe < random / 2


def test_only_one_algorithm_is_tuned():
    """It is TPE in the part of the space: the others are not drawn, and enter no estimate."""
    space = DivboSmall()
    alone = {"algorithm": "knn"}
    past = evaluated(
        space.restricted(alone),
        space.restricted(alone).sample(9, np.random.default_rng(3)),
        lambda c: c["knn:n_neighbors"] / 100,
    )
    others = evaluated(space, space.sample(9, np.random.default_rng(4)), lambda c: 0.0)
    rows = [o for o in others.observations if o.configuration["algorithm"] != "knn"]
    mixed = History(space, LABELS, (*rows, *past.observations))
    for size in (9, 10):
        optimizer = TreeParzenEstimator(initial=size, algorithm="knn")
        found = optimizer.suggest(mixed, np.random.default_rng(0))
        expected = TreeParzenEstimator(initial=size).suggest(past, np.random.default_rng(0))
        assert found == expected
        assert found.configuration["algorithm"] == "knn"
    (planned,) = TreeParzenEstimator(initial=1, algorithm="knn").plan(
        History(space, LABELS), iter([np.random.default_rng(0)])
    )
    assert planned.configuration["algorithm"] == "knn"


@pytest.mark.parametrize(("space", "message"), [(DivboSmall, "it has knn, lda"), (Svm, "single")])
def test_an_unknown_algorithm_is_rejected(space, message):
    with pytest.raises(UserError, match=f"^algorithm: 'nonsense' is not in the space.*{message}"):
        TreeParzenEstimator(algorithm="nonsense").check_space(space())
