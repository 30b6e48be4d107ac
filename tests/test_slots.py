"""Ensemble optimization: the slots by hand and by brute force, and what its forest learns."""

import numpy as np
import pytest

from divbo.ensembles.base import Members, Pool
from divbo.ensembles.slots import Slots
from divbo.optimizers.bo import BayesianOptimization
from divbo.optimizers.ensemble_optimization import EnsembleOptimization
from divbo.slots import fillings, next_errors
from toy_space import ToySpace, history

# Probabilities of class 1 of four models on four samples whose labels are all 1.
BY_HAND = np.array(
    [
        [0.9, 0.9, 0.2, 0.2],  # 2 errors
        [0.9, 0.4, 0.3, 0.9],  # 2 errors
        [0.0, 0.9, 0.9, 0.4],  # 2 errors
        [0.6, 0.55, 0.6, 0.4],  # 1 error
    ],
    dtype=np.float32,
)[:, :, None]
LABELS = np.ones(4, dtype=int)


def test_slots_by_hand():
    """Two slots. In words, after each success:

    1. slot 0 gets model 0.
    2. slot 1: with 0, means of 0 are (.9 .9 .2 .2), 2 errors; of 1 (.9 .65 .25 .55), 1 error.
    3. slot 0, slot 1 holds 1: 0 gives 1 error as before; 1 (itself) 2; 2 gives (.45 .65 .6 .65),
       1 error: a tie, which 0 wins because it holds the slot.
    4. slot 1, slot 0 holds 0: 0 gives 2 errors; 1 gives 1; 2 gives (.45 .9 .55 .3), 2 errors;
       3 gives (.75 .75 .4 .3), 2 errors: 1 stays.
    """
    assert list(fillings(BY_HAND, LABELS, 2)) == [[0], [0, 1], [0, 1], [0, 1]]
    # Next is slot 0 again; model 3 with 1 gives (.75 .475 .45 .65), 2 errors.
    np.testing.assert_allclose(next_errors(BY_HAND, LABELS, 2), [0.25, 0.5, 0.25, 0.5])
    # One slot is the best model so far; a success that is no better changes nothing.
    assert list(fillings(BY_HAND, LABELS, 1)) == [[0], [0], [0], [3]]


def brute_force(predictions, labels, size):
    """The rule in its own words; errors as scores.parquet has them."""

    def wrong(models):
        indices, counts = np.unique(models, return_counts=True)
        members = Members(indices, counts / len(models))
        return np.count_nonzero(members.predict(predictions) != labels)

    slots, result = [], []
    for n in range(1, len(predictions) + 1):
        turn = (n - 1) % size
        holder = slots[turn] if turn < len(slots) else None
        others = [m for i, m in enumerate(slots) if i != turn]
        best = min(range(n), key=lambda m: (wrong([*others, m]), m != holder, wrong([m]), m))
        slots = [*slots[:turn], best, *slots[turn + 1 :]]
        result.append(slots)
    turn = len(predictions) % size
    others = [m for i, m in enumerate(slots) if i != turn]
    return result, [wrong([*others, m]) / len(labels) for m in range(len(predictions))]


def mixed_pool(classes, seed):
    """Models that err on different samples, the better ones later; a few have failed."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=41)
    p = rng.dirichlet([1] * classes, size=(30, 41))
    p[:, np.arange(41), labels] += np.linspace(0, 0.3, 30)[:, None]
    p = (p / p.sum(axis=2, keepdims=True)).astype(np.float32)
    errors = (p.argmax(axis=2) != labels).mean(axis=1)
    failed = [0, 7, 8, 20]
    p[failed] = errors[failed] = np.nan
    return Pool(p[:, :, 1:] if classes == 2 else p, labels, errors, 0)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("size", [3, 12])
def test_slots_by_brute_force(classes, size):
    pool = mixed_pool(classes, size)
    ok = np.flatnonzero(~np.isnan(pool.errors))
    slots, errors = brute_force(pool.predictions[ok], pool.labels, size)
    assert list(fillings(pool.predictions[ok], pool.labels, size)) == slots
    assert len({tuple(s) for s in slots}) > size  # they do change after they are full
    np.testing.assert_allclose(next_errors(pool.predictions[ok], pool.labels, size), errors)
    for content, members in zip(slots, [Slots(size=size).trace(pool)[i] for i in ok], strict=True):
        assert members.weights.sum() == pytest.approx(1)
        counts = {
            int(i): w * len(content) for i, w in zip(members.indices, members.weights, strict=True)
        }
        assert counts == pytest.approx({int(ok[m]): content.count(m) for m in content})


@pytest.mark.parametrize("failed", [set(), {4, 13}])
def test_the_forest_learns_the_errors_of_the_slots(failed, monkeypatch):
    """BO that is told these errors instead of its own suggests the same."""
    past = history(ToySpace(), 20, failed=failed)
    optimizer = EnsembleOptimization(slots=3, candidates=200)
    targets = optimizer.targets(past)
    expected = brute_force(past.predictions, past.labels, 3)[1]
    np.testing.assert_allclose(targets[past.ok], expected)
    assert len(set(targets)) > 3
    assert all(targets[i] == max(expected) for i in failed)
    got = optimizer.suggest(past, np.random.default_rng(1))
    assert got.why.pop("slot") == len(past.ok) % 3
    plain = BayesianOptimization(candidates=200)
    assert got != plain.suggest(past, np.random.default_rng(1))
    monkeypatch.setitem(past.__dict__, "errors", targets)  # the cached property
    assert got == plain.suggest(past, np.random.default_rng(1))


def test_two_columns_and_one_give_the_same_slots():
    """The optimizer sees two columns of two classes; what is stored is one."""
    both = np.concatenate([1 - BY_HAND, BY_HAND], axis=2)
    assert list(fillings(both, LABELS, 2)) == list(fillings(BY_HAND, LABELS, 2))
    pool = Pool(BY_HAND, LABELS, np.array([0.5, 0.5, 0.5, 0.25]), 0)
    assert [m.indices.tolist() for m in Slots(size=1).trace(pool)] == [[0], [0], [0], [3]]
