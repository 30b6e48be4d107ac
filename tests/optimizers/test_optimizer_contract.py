"""What every optimizer promises (docs/optimizers.md); a new file is tested without being named."""

import copy
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import count, islice

import numpy as np
import pytest

from ensemble_search.optimizers.base import History, Suggestion
from ensemble_search.runtime import outside
from ensemble_search.spaces._table import TableSpace
from support import PYTHONPATH
from support.quick_optimizers import make, plain, runnable
from support.toy_space import Flat, TinySpace, ToySpace, from_json, history, regression, search

NAMES = outside.names("optimizers") or runnable()  # make contract, or all

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("name", NAMES)]


def rng(t: int = 0) -> np.random.Generator:
    return np.random.default_rng([7, 0, t])


def assert_legal(space, suggestion: Suggestion) -> None:
    values = json.loads(json.dumps(dict(suggestion.configuration)))
    assert space.configuration(values) == suggestion.configuration
    assert isinstance(suggestion.why["origin"], str)
    json.dumps(suggestion.why, allow_nan=False)


def at_first_fidelity(optimizer, past: History) -> History:
    """Evaluate all configurations at the optimizer's lowest fidelity."""
    lowest = min(optimizer.shares)
    return replace(past, observations=tuple(replace(o, fidelity=lowest) for o in past.observations))


def assert_new(past: History, suggestion: Suggestion) -> None:
    """A legal configuration that has not been evaluated at this fidelity."""
    assert_legal(past.space, suggestion)
    done = {(o.configuration, o.fidelity) for o in past.observations}
    assert (suggestion.configuration, suggestion.fidelity) not in done


def test_same_history_and_generator_give_the_same_suggestion(name):
    optimizer = make(name)
    past = history(ToySpace(), 12, failed={3, 8})
    before = copy.deepcopy(
        [(dict(o.configuration), o.error, o.prediction) for o in past.observations]
    )
    first = plain(optimizer.suggest(past, rng()))
    optimizer.suggest(history(ToySpace(), 9, seed=1), rng(1))  # nothing of this may linger
    assert plain(optimizer.suggest(past, rng())) == first
    assert plain(make(name).suggest(copy.deepcopy(past), rng())) == first
    space = ToySpace()
    assert plain(make(name).suggest(from_json(past, space), rng())) == first
    for o, (values, error, prediction) in zip(past.observations, before, strict=True):
        assert dict(o.configuration) == values
        np.testing.assert_equal([o.error], [error])
        np.testing.assert_equal(o.prediction, prediction)


def test_suggests_for_a_regression(name):
    """Failures, and models that are far worse than useless, included."""
    past = regression(history(ToySpace(), 12, failed={3, 8}))
    exploded = replace(past.observations[5], error=1e12)
    past = replace(past, observations=(*past.observations, exploded))
    first = make(name).suggest(past, rng())
    assert_legal(past.space, first)
    assert plain(make(name).suggest(past, rng())) == plain(first)


def test_the_generator_matters(name):
    past = history(ToySpace(), 3)
    suggestions = {plain(make(name).suggest(past, rng(t))) for t in range(5)}
    assert len(suggestions) > 1


def test_a_grown_history_gives_what_a_fresh_one_gives(name):
    """Caches filled along the way change nothing: the search can be resumed anywhere."""
    optimizer, space = make(name), ToySpace()
    past, suggestions = search(optimizer, space, 9)
    for t in (6, 8):
        again = History(space, past.labels, past.observations[:t])
        generator = np.random.default_rng([0, 0, t])
        fresh = make(name).suggest(from_json(again, ToySpace()), generator)
        assert plain(fresh) == plain(suggestions[t])


@cache
def in_another_process(code: str) -> dict:
    """Run a function of every optimizer's name in one process; its results, or what it raised."""
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTHONHASHSEED": "123"}
    loop = f"""
import json, sys
{code}
results = {{}}
for name in json.loads(sys.argv[1]):
    try:
        results[name] = function(name)
    except Exception as error:
        results[name] = repr(error)
print(json.dumps(results))
"""
    done = subprocess.run(
        [sys.executable, "-c", loop, json.dumps(NAMES)],
        env={**environment, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_another_process_and_hash_seed_give_the_same(name):
    here = [plain(s) for s in search(make(name), ToySpace(), 7)[1]]
    there = in_another_process("""
from support.quick_optimizers import make, plain, runnable
from support.toy_space import ToySpace, search
def function(name):
    return [plain(suggestion) for suggestion in search(make(name), ToySpace(), 7)[1]]
""")
    assert there[name] == here


def test_legal_and_never_twice(name):
    space = ToySpace()
    past, suggestions = search(make(name), space, 20)
    for suggestion in suggestions:
        assert_legal(space, suggestion)
    # A configuration may be promoted to another fidelity.
    assert len({(o.configuration, o.fidelity) for o in past.observations}) == 20


def test_on_a_table_only_its_rows_are_suggested(name):
    table = TableSpace(Flat(), Flat().sample(60, rng()))
    past, _ = search(make(name), table, 12)
    assert past.seen <= set(table.all)


def test_a_tiny_space_is_used_up_before_anything_repeats(name):
    space = TinySpace()
    past, suggestions = search(make(name), space, 9)
    assert len({(o.configuration, o.fidelity) for o in past.observations[:6]}) == 6
    for suggestion in suggestions[6:]:
        assert_legal(space, suggestion)


@pytest.mark.parametrize("failed", [{0}, {1, 4}, set(range(1, 8)), set(range(8))])
def test_failed_evaluations(name, failed):
    space = ToySpace()
    optimizer = make(name)
    past = at_first_fidelity(optimizer, history(space, 8, failed=failed))
    assert_new(past, optimizer.suggest(past, rng()))


@pytest.mark.parametrize("size", [0, 1, 2])
def test_short_histories(name, size):
    space = ToySpace()
    optimizer = make(name)
    past = at_first_fidelity(optimizer, history(space, size))
    assert_new(past, optimizer.suggest(past, rng()))


def test_three_classes(name):
    space = ToySpace()
    assert_legal(space, make(name).suggest(history(space, 8, classes=3), rng()))


def rng0(t: int) -> np.random.Generator:
    return next(generators(t))


def generators(start: int):
    return (np.random.default_rng([0, 0, t]) for t in count(start))


def test_plans_are_the_suggestions_one_by_one(name):
    """What is planned at once needs no results: it is what is suggested when these are known.

    A batch that is drawn as a whole, with the first generator, is not drawn one by one: only its
    first suggestion is the same.
    """
    optimizer, space = make(name), ToySpace()
    past, suggestions = search(optimizer, space, 9)
    done = 0
    while done < 9:
        known = History(space, past.labels, past.observations[:done])
        used = generators(done)
        planned = list(islice(optimizer.plan(known, used), 9 - done))
        assert planned
        whole = len(planned) > 1 and next(used).random() == next(generators(done + 1)).random()
        expected = suggestions[done : done + (1 if whole else len(planned))]
        assert [plain(s) for s in planned[: len(expected)]] == [plain(s) for s in expected]
        assert not any(optimizer.needs_results(done + i) for i in range(1, len(planned)))
        assert optimizer.together(done, 9 - done) == len(planned)
        done += len(planned)


def test_a_plan_is_the_same_whenever_its_suggestions_are_asked_for(name):
    settings = {"batch": 3} if "batch" in type(make(name)).model_fields else {}
    past = history(ToySpace(), 9, failed={2})
    at_once = [plain(s) for s in islice(make(name, **settings).plan(past, generators(9)), 3)]
    assert make(name, **settings).together(9, 3) == len(at_once)
    later = make(name, **settings).plan(past, generators(9))
    for expected in at_once:
        assert plain(next(later)) == expected
        make(name).suggest(history(ToySpace(), 9, seed=1), rng(1))
    assert len({json.dumps(json.loads(s)[0]) for s in at_once}) == len(at_once)


def test_given_evaluations_come_first_and_are_not_suggested_again(name):
    """Plans after them are as long as they are said to be, and at fidelities that are named."""
    optimizer, space = make(name), ToySpace()
    known = history(space, 7, failed={2})
    given = replace(known, observations=tuple(replace(o, given=True) for o in known.observations))
    planned = list(islice(optimizer.plan(given, generators(7)), 3))
    assert given.made == 0
    assert len(planned) == optimizer.together(7, 3, given=7)
    for suggestion in planned:
        assert_legal(space, suggestion)
        assert suggestion.configuration not in given.seen
        assert suggestion.fidelity in optimizer.shares
    assert plain(planned[0]) == plain(make(name).suggest(given, rng0(7)))


def test_settings(name):
    """Unknown settings are rejected, and the settings can be written as JSON and read again."""
    optimizer = make(name)
    assert type(optimizer).model_validate_json(optimizer.model_dump_json()) == optimizer
    with pytest.raises(ValueError, match="no_such_setting"):
        make(name, no_such_setting=1)
    assert isinstance(optimizer.minimum_evaluations, int)
    assert optimizer.minimum_evaluations >= 1


def test_importing_is_cheap(name):
    """The workflow imports every optimizer to check a study: no learner library may come along."""
    came = in_another_process("""
from ensemble_search.runtime import plugins
def function(name):
    before = set(sys.modules)
    plugins.load("optimizers", name)()
    heavy = {"sklearn", "lightgbm", "xgboost", "pandas", "optuna"}
    return sorted(heavy & (set(sys.modules) - before))
""")
    assert came[name] == []
