"""Ensemble optimization: what its forest learns."""

import numpy as np
import pytest

from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.optimizers.ensemble_optimization import EnsembleOptimization
from ensemble_search.optimizers.random import RandomSearch
from support.made_pools import fill_slots
from support.toy_space import ToySpace, history


@pytest.mark.parametrize("failed", [set(), {4, 13}])
def test_the_forest_learns_the_errors_of_the_slots(failed, monkeypatch):
    """BO with these errors instead of its own suggests the same."""
    past = history(ToySpace(), 20, failed=failed)
    optimizer = EnsembleOptimization(interleave=0, slots=3, candidates=200)
    targets = optimizer.targets(past)
    expected = fill_slots(past.predictions, past.labels, 3)[1]
    np.testing.assert_allclose(targets[past.ok], expected)
    assert len(set(targets)) > 3
    assert all(targets[i] == max(expected) for i in failed)
    got = optimizer.suggest(past, np.random.default_rng(1))
    assert got.why.pop("slot") == len(past.ok) % 3
    plain = BayesianOptimization(interleave=0, candidates=200)
    assert got != plain.suggest(past, np.random.default_rng(1))
    monkeypatch.setitem(past.__dict__, "errors", targets)  # the cached property
    assert got == plain.suggest(past, np.random.default_rng(1))


def test_in_a_batch_pending_evaluations_count_as_median_ones():
    past = history(ToySpace(), 9, failed={4})
    optimizer = EnsembleOptimization(slots=3)
    known = optimizer.targets(past)
    targets = optimizer.targets(
        past.pending(RandomSearch().suggest(past, np.random.default_rng(0)))
    )
    assert targets.tolist() == [*known, np.median(known[past.ok])]
    assert known.max() > np.median(known[past.ok])
