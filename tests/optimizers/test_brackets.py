"""Successive halving and Hyperband: the published schedule, promotions and plans."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from ensemble_search.optimizers._brackets import Hyperband, SuccessiveHalving, brackets, place
from ensemble_search.optimizers.base import History
from ensemble_search.optimizers.bohb import ModelBasedHyperband
from support.toy_space import LABELS, ToySpace, from_json, observe, search


def sizes(schedule) -> list[list[tuple[int, int]]]:
    """Configurations and 1 / fidelity of every rung."""
    return [[(r.size, round(1 / r.fidelity)) for r in bracket] for bracket in schedule]


def test_the_published_schedule():
    """Table 1 of the Hyperband paper, with 1 of 81 epochs as the fidelity 1/81."""
    assert sizes(brackets(3, 4)) == [
        [(81, 81), (27, 27), (9, 9), (3, 3), (1, 1)],
        [(34, 27), (11, 9), (3, 3), (1, 1)],
        [(15, 9), (5, 3), (1, 1)],
        [(8, 3), (2, 1)],
        [(5, 1)],
    ]
    assert sizes(Hyperband().schedule) == [
        [(27, 27), (9, 9), (3, 3), (1, 1)],
        [(12, 9), (4, 3), (1, 1)],
        [(6, 3), (2, 1)],
        [(4, 1)],
    ]
    assert sizes(SuccessiveHalving().schedule) == [[(27, 27), (9, 9), (3, 3), (1, 1)]]
    assert sizes(SuccessiveHalving(eta=2, smallest=0.25).schedule) == [[(4, 4), (2, 2), (1, 1)]]


@pytest.mark.parametrize(
    ("smallest", "eta", "deepest"),
    [(1 / 27, 3, 3), (1 / 81, 3, 4), (0.04, 3, 2), (1 / 3, 3, 1), (0.001, 10, 3), (1 / 64, 4, 3)],
)
def test_no_fidelity_is_below_the_smallest(smallest, eta, deepest):
    optimizer = Hyperband(smallest=smallest, eta=eta)
    assert optimizer.deepest == deepest
    assert optimizer.schedule[0][0].fidelity == pytest.approx(eta**-deepest)
    assert {bracket[-1].fidelity for bracket in optimizer.schedule} == {1.0}


def test_smallest_fidelities_out_of_range():
    for settings in ({"smallest": 0.34}, {"smallest": 0.0}, {"eta": 50}, {"eta": 1}):
        with pytest.raises(ValueError, match=r"smallest|eta"):
            Hyperband(**settings)
    assert Hyperband().minimum_evaluations == 40
    assert Hyperband(smallest=1 / 3).minimum_evaluations == 4


def test_places_are_repeated():
    schedule = Hyperband().schedule
    found = [place(schedule, t) for t in range(2 * 69)]
    fidelities = [round(1 / p.fidelity) for p in found[:69]]
    expected = [27] * 27 + [9] * 9 + [3] * 3 + [1] + [9] * 12 + [3] * 4 + [1] + [3] * 6 + [1] * 6
    assert fidelities == expected
    for first, second in zip(found[:69], found[69:], strict=True):
        assert second.bracket == first.bracket + 4
        assert (second.rung, second.index) == (first.rung, first.index)
        assert second.fidelity == first.fidelity
        assert [i - 69 for i in second.before] == list(first.before)
    assert (found[41].bracket, found[41].rung, found[41].index) == (1, 0, 1)
    assert (found[53].rung, found[53].before) == (1, range(40, 52))


@pytest.mark.parametrize("optimizer", [Hyperband(), SuccessiveHalving()])
def test_the_best_of_a_rung_are_promoted_in_order(optimizer):
    past, suggestions = search(optimizer, ToySpace(), 69)
    errors = past.errors
    for t, s in enumerate(suggestions):
        here = place(optimizer.schedule, t)
        assert s.fidelity == here.fidelity
        assert (s.why["bracket"], s.why["rung"]) == (here.bracket + 1, here.rung + 1)
        if here.rung == 0:
            assert s.why["origin"] == "random"
            assert s.configuration not in {o.configuration for o in past.observations[:t]}
            continue
        order = sorted(here.before, key=lambda i: (errors[i], i))
        assert s.why["origin"] == "promoted"
        assert s.why["from"] == order[here.index] + 1, "iterations are from 1"
        assert s.configuration == past.observations[order[here.index]].configuration
    again = History(ToySpace(), LABELS, past.observations[:30])
    resumed = optimizer.suggest(from_json(again, ToySpace()), np.random.default_rng([0, 0, 30]))
    assert resumed == suggestions[30]


def test_failures_are_not_promoted():
    """Four of 27 succeed: they are promoted, and five new configurations join them."""
    optimizer, space = Hyperband(), ToySpace()
    past = search(optimizer, space, 27)[0]
    rows = [
        o if i in (3, 8, 20, 21) else replace(observe(o.configuration, "crash"), fidelity=1 / 27)
        for i, o in enumerate(past.observations)
    ]
    past = History(space, LABELS, tuple(rows))
    known, found = past.seen, []
    for t in range(27, 36):
        found.append(optimizer.suggest(past, np.random.default_rng(t)))
        past = past.pending(found[-1])
    assert [s.why["origin"] for s in found] == ["promoted"] * 4 + ["random"] * 5
    assert sorted(s.why["from"] for s in found[:4]) == [4, 9, 21, 22]
    assert {s.fidelity for s in found} == {1 / 9}
    assert len({s.configuration for s in found} - known) == 5


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (Hyperband(), [27, 9, 3, 13, 4, 7, 33, 9]),
        (SuccessiveHalving(), [27, 9, 3, 28, 9, 3, 28]),
        (ModelBasedHyperband(), [1] * 27 + [9, 3, 1] + [1] * 12 + [4, 1]),
    ],
)
def test_a_plan_ends_where_results_are_needed(optimizer, expected):
    past, suggestions = search(optimizer, ToySpace(), sum(expected))
    done = 0
    for size in expected:
        known = History(past.space, LABELS, past.observations[:done])
        generators = (np.random.default_rng([0, 0, t]) for t in range(done, done + 99))
        planned = list(islice(optimizer.plan(known, generators), 99))
        assert planned == suggestions[done : done + size]
        done += size
