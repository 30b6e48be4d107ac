"""Optimizers of other libraries: a driver of the tests' own, and those that are installed."""

from dataclasses import replace

import numpy as np
import pytest
from ConfigSpace import (
    AndConjunction,
    ConfigurationSpace,
    EqualsCondition,
    GreaterThanCondition,
    InCondition,
    Integer,
    LessThanCondition,
    NotEqualsCondition,
)
from pydantic import ValidationError

from ensemble_search.drivers import _serve, hyperopt
from ensemble_search.drivers.base import active
from ensemble_search.optimizers import ask_tell
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.runtime import outside, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.search import fingerprint
from ensemble_search.spaces._table import TableSpace
from support.quick_optimizers import plain
from support.toy_space import LABELS, ToySpace, history, search

pytestmark = pytest.mark.slow

DRIVER = """
import os
import random

from ensemble_search.drivers._of_mine import LIMIT
from ensemble_search.drivers.base import Driver, active, legal


class Nudge(Driver):
    \"\"\"The best configuration with its numbers moved; others of the space if that is known.\"\"\"

    def suggest(self, space, evaluations, seed):
        print("what libraries print is no answer")
        os.system("echo nor is this")
        rng = random.Random(seed)
        best = min(evaluations, key=lambda e: e[1])[0]
        if len(evaluations) == LIMIT:
            raise RuntimeError("eleven is too\\nmuch")
        if len(evaluations) == 13:
            os._exit(1)
        while True:
            values = {}
            for h in space["hyperparameters"]:
                if not active(h, values):
                    continue
                if "choices" in h:
                    values[h["name"]] = best.get(h["name"]) or rng.choice(h["choices"])
                elif h["kind"] == "integer":
                    values[h["name"]] = rng.randint(h["lower"], h["upper"])
                else:
                    values[h["name"]] = rng.uniform(h["lower"], h["upper"])
            if legal(space, values):
                return values
"""


@pytest.fixture
def nudge(tmp_path):
    """Let the library ``nudge`` be found, of the environment of the tests."""
    file = tmp_path / "parts/drivers/nudge.py"
    file.parent.mkdir(parents=True)
    file.write_text(DRIVER, encoding="utf-8")
    file.with_name("_of_mine.py").write_text("LIMIT = 11\n", encoding="utf-8")
    outside.use([str(tmp_path / "parts")])
    yield file
    outside.use([])


def made(library: str = "nudge", **settings):
    return plugins.load("optimizers", "ask-tell")(library=library, **settings)


def rng(t: int = 0) -> np.random.Generator:
    return np.random.default_rng([7, 0, t])


def test_suggestions_are_the_drivers(nudge):
    past = history(ToySpace(), 10)
    best = past.observations[int(past.errors.argmin())].configuration
    suggestion = made().suggest(past, rng())
    assert suggestion.why == {"origin": "nudge"}
    assert suggestion.configuration["algorithm"] == best["algorithm"]
    assert suggestion.configuration not in past.seen
    assert made().suggest(past, rng(1)).configuration != suggestion.configuration


def test_a_search_can_be_resumed_anywhere(nudge):
    """A new process, which has seen none of it, suggests the same."""
    past, suggestions = search(made(), ToySpace(), 10)
    ask_tell._process.cache_clear()
    for t in (9, 6):
        again = History(ToySpace(), past.labels, past.observations[:t])
        fresh = made().suggest(again, np.random.default_rng([0, 0, t]))
        assert plain(fresh) == plain(suggestions[t])


def test_pending_evaluations_have_the_median_loss_and_failures_the_largest(nudge, monkeypatch):
    past = history(ToySpace(), 9, failed={2})
    past = past.pending(made().suggest(past, rng()))
    seen = []
    monkeypatch.setattr(
        ask_tell._Process, "suggest", lambda _, e, seed: seen.append(e) or dict(e[0][0])
    )
    made().suggest(past, rng())
    losses = [loss for _, loss in seen[0]]
    known = [o.error for o in past.observations if o.status == "ok"]
    assert losses[2] == max(known)
    assert losses[9] == np.median(known)


def test_a_known_configuration_is_replaced(nudge, monkeypatch):
    past = history(ToySpace(), 9)
    monkeypatch.setattr(ask_tell._Process, "suggest", lambda _, e, seed: dict(e[3][0]))
    suggestion = made().suggest(past, rng())
    assert suggestion.why == {"origin": "known"}
    assert suggestion.configuration not in past.seen


def test_on_a_table_it_is_the_nearest_row(nudge):
    space = ToySpace()
    table = TableSpace(space, list(dict.fromkeys(space.sample(60, rng()))))
    found, _ = search(made(), table, 10)
    assert len(found.seen) == 10
    assert {o.configuration for o in found.observations} <= set(table.all)


def test_what_a_library_raises_is_one_line(nudge):
    with pytest.raises(UserError, match=r"^library 'nudge': RuntimeError: eleven is too much$"):
        made().suggest(history(ToySpace(), 11), rng())
    assert made().suggest(history(ToySpace(), 10), rng())  # the process continues


def test_a_process_that_ends_is_one_line(nudge):
    with pytest.raises(UserError, match=r"^library 'nudge': "):
        made().suggest(history(ToySpace(), 13), rng())


def test_a_suggestion_outside_the_space_is_one_line(nudge, monkeypatch):
    monkeypatch.setattr(ask_tell._Process, "suggest", lambda _, e, seed: {"algorithm": "x"})
    wrong = r"^library 'nudge': suggests what is not in the space 'toy-space': .*algorithm"
    with pytest.raises(UserError, match=wrong):
        made().suggest(history(ToySpace(), 9), rng())


def test_a_driver_of_a_package_that_is_not_in_its_environment_is_read_from_its_file(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("VALUE = 3\n", encoding="utf-8")
    assert _serve.load("absent_package.own", str(file)).VALUE == 3
    with pytest.raises(ModuleNotFoundError, match="absent"):
        _serve.load("ensemble_search.drivers.absent", str(file))


def test_unknown_and_missing_libraries(nudge, monkeypatch, tmp_path):
    with pytest.raises(ValidationError, match="no driver is called 'optunna'; did you mean"):
        made("optunna")
    monkeypatch.setattr(plugins.load("drivers", "optuna"), "environment", "nowhere")
    says = r"^library: 'optuna' needs the environment '.venv-nowhere'.*run: python3 -m venv .venv-n"
    with pytest.raises(UserError, match=says):
        made("optuna").planned(20)
    monkeypatch.setattr(ask_tell, "SCRIPTS", tmp_path / "workflow_scripts")  # without environments
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs/nowhere.txt").touch()
    with pytest.raises(UserError, match=r"which is not there; run: make peers$"):
        made("optuna").planned(20)
    monkeypatch.undo()
    assert made().planned(20) == made()


def test_driver_and_versions_are_in_the_fingerprint(nudge):
    job = {
        "optimizer": {"optimizer": "ask-tell", "library": "nudge"}, "space": "divbo",
        "metric": "error", "seed": 0, "repeat": 0, "limits": {},
    }  # fmt: skip
    before = fingerprint.fingerprint(job, "data", 1, ())
    assert before["libraries"]["numpy"] == np.__version__
    outside.use([])
    nudge.write_text(DRIVER.replace("rng.randint(", "1 + 0 * rng.randint("), encoding="utf-8")
    outside.use([str(nudge.parents[1])])
    after = fingerprint.fingerprint(job, "data", 1, ())
    assert before["code"]["optimizer"] != after["code"]["optimizer"]
    assert before["code"]["evaluation"] == after["code"]["evaluation"]


def test_description_of_a_space():
    """Every kind of hyperparameter, conditions, and forbidden combinations."""
    described = ask_tell.describe(plugins.load("spaces", "divbo")())
    by_name = {h["name"]: h for h in described["hyperparameters"]}
    assert {h["kind"] for h in by_name.values()} == {"categorical", "ordinal", "integer", "float"}
    names = list(by_name)
    for h in by_name.values():
        if h["when"]:
            assert names.index(h["when"][0]) < names.index(h["name"])
    assert described["forbidden"]
    for clause in described["forbidden"]:
        assert all(value in by_name[name]["choices"] for name, value in clause.items())


def test_several_conditions_are_rejected():
    space = ConfigurationSpace({"a": ["x", "y"], "b": ["x", "y"], "c": (0.0, 1.0)})
    parts = [EqualsCondition(space["c"], space[parent], "x") for parent in "ab"]
    space.add(AndConjunction(*parts))

    class Two(ToySpace):
        def define(self):
            return space

    with pytest.raises(UserError, match=r"^optimizer: 'ask-tell' cannot describe 'c' .*several"):
        made("optuna").check_space(Two())


def conditional(*conditions):
    """A space of ``kind``, ``count``, ``share`` and others that depend on one of these each."""
    space = ConfigurationSpace({"kind": ["x", "y", "z"], "count": (1, 4), "share": (0.0, 1.0)})
    for number, (condition, parent, value) in enumerate(conditions):
        space.add(child := Integer(f"child_{number}", (1, 9)))
        space.add(condition(child, space[parent], value))

    class Conditional(ToySpace):
        has_algorithms = False

        def define(self):
            return space

    return Conditional()


def test_conditions_are_described_by_the_values_that_meet_them():
    space = conditional(
        (NotEqualsCondition, "kind", "x"),
        (InCondition, "kind", ["z", "x"]),
        (GreaterThanCondition, "count", 2),
        (LessThanCondition, "count", 3),
    )
    made("optuna").check_space(space)
    described = ask_tell.describe(space)["hyperparameters"]
    when = {h["name"]: h["when"] for h in described if h["when"]}
    assert when == {
        "child_0": ["kind", ["y", "z"]],
        "child_1": ["kind", ["x", "z"]],
        "child_2": ["count", [3, 4]],
        "child_3": ["count", [1, 2]],
    }
    for configuration in space.sample(50, rng()):
        values = dict(configuration)
        assert set(values) == {h["name"] for h in described if active(h, values)}
    choices = {h["name"]: h.get("choices") for h in hyperopt._with_choices(described)}
    assert choices == {"kind": ["x", "y", "z"], "count": [1, 2, 3, 4], "share": None} | (
        dict.fromkeys(when)
    )


def test_conditions_on_real_numbers_are_rejected():
    space = conditional((GreaterThanCondition, "share", 0.5))
    wrong = r"^optimizer: .* cannot describe 'child_0' .* depends on 'share', which has too many"
    with pytest.raises(UserError, match=wrong):
        made("optuna").check_space(space)


@pytest.mark.parametrize("library", plugins.available("drivers"))
def test_installed_libraries(library):
    """In DivBO's space: legal, new, the same for the same arguments, with a failure."""
    space = plugins.load("spaces", "divbo")()
    optimizer = made(library)
    if not optimizer._python.exists():
        pytest.skip(f"there is no {optimizer._python.parents[1].name}")
    past = History(space, LABELS)
    for t in range(9):
        suggestion = optimizer.suggest(past, rng(t))
        assert suggestion.why["origin"] == ("initial" if t < 5 else library)
        assert suggestion.configuration not in past.seen
        status = "timeout" if t == 3 else "ok"
        error = float("nan") if t == 3 else float(suggestion.configuration.point[0]) / 11
        new = Observation(suggestion.configuration, status, error, None)
        past = replace(past, observations=(*past.observations, new))
    ask_tell._process.cache_clear()
    again = made(library).suggest(past, rng())
    assert plain(optimizer.suggest(past, rng())) == plain(again)
    assert optimizer.versions
