"""Mutations of a configuration: one hyperparameter, drawn uniformly, and what hangs on it."""

from collections import Counter

import numpy as np
import pytest

from ensemble_search.runtime import plugins
from support.toy_space import TinySpace, ToySpace

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_mutation_changes_one_hyperparameter_and_what_hangs_on_it(task):
    space = plugins.load("spaces", "divbo")().for_task(task)
    rng = np.random.default_rng(0)
    for parent in space.sample(300, rng):
        mutant, name = space.mutate(parent, rng)
        assert space.configuration(dict(mutant)) == mutant
        assert mutant[name] != parent[name]
        changed = {k for k in parent.keys() & mutant.keys() if parent[k] != mutant[k]}
        assert changed == {name}
        came = mutant.keys() - parent.keys()
        if name not in ("algorithm", "preprocessor", "rescaler"):
            children = {h.name for h in space.configspace.children_of[name]}
            assert came <= children


def test_mutations_are_uniform():
    """The hyperparameter is drawn uniformly, and so is its new value."""
    space = ToySpace()
    parent = space.configuration({"algorithm": "a", "x": 0.1, "k": 3})
    rng = np.random.default_rng(1)
    mutants = [space.mutate(parent, rng) for _ in range(1200)]
    names = Counter(name for _, name in mutants)
    assert set(names) == {"algorithm", "x", "k"}
    assert max(names.values()) - min(names.values()) < 120  # 4 standard deviations
    values = np.array([m["x"] for m, name in mutants if name == "x"])
    assert abs(values.mean() - 0.5) < 0.06
    assert {m["algorithm"] for m, name in mutants if name == "algorithm"} == {"b", "c"}
    rates = {m["rate"] for m, name in mutants if name == "algorithm" and m["algorithm"] == "b"}
    assert len(rates) > 100  # a child that becomes active gets a random value
    part = space.restricted({"algorithm": "a"})
    assert {part.mutate(parent, rng)[1] for _ in range(40)} == {"x", "k"}


def test_nothing_to_mutate():
    space = TinySpace().restricted({"algorithm": "a", "flag": True})
    assert (
        space.mutate(space.sample(1, np.random.default_rng(0))[0], np.random.default_rng(0)) is None
    )
