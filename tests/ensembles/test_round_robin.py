"""Ensemble optimization: its slots by hand and by brute force, and how ties are drawn."""

import numpy as np
import pytest

import ensemble_search.ensembles.greedy.round_robin
from ensemble_search.ensembles.greedy.round_robin import fillings, next_losses
from ensemble_search.ensembles.slots import Slots
from support.made_pools import fill_slots, mixed_pool

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


def test_slots_by_hand(monkeypatch):
    """Two slots, after each success:

    1. slot 0 gets model 0.
    2. slot 1: with 0, means of 0 are (.9 .9 .2 .2), 2 errors; of 1 (.9 .65 .25 .55), 1 error.
    3. slot 0, slot 1 holds 1: 0 gives 1 error as before; 1 (itself) 2; 2 gives (.45 .65 .6 .65),
       1 error: a tie, so 0 or 2 is drawn.
    4. slot 1. Slot 0 holds 0: 0 gives 2 errors; 1 gives 1; 2 gives (.45 .9 .55 .3), 2 errors;
       3 gives (.75 .75 .4 .3), 2 errors: 1 stays. Slot 0 holds 2: 0 gives 2 errors; 1 gives 1; 2
       gives 2; 3 gives (.3 .725 .75 .4), 2 errors: 1 stays again.
    """
    found = set()
    for seed in range(20):
        monkeypatch.setattr(ensemble_search.ensembles.greedy.round_robin, "SEED", seed)
        found.add(tuple(map(tuple, fillings(BY_HAND, LABELS, 2))))
        # Next is slot 0 again; model 3 with 1 gives (.75 .475 .45 .65), 2 errors.
        np.testing.assert_allclose(next_losses(BY_HAND, LABELS, 2), [0.25, 0.5, 0.25, 0.5])
        # One slot is the best model so far; models 0 to 2 have the same error.
        one = [slots for [slots] in fillings(BY_HAND, LABELS, 1)]
        assert one[0] == 0 and one[1] in (0, 1) and one[2] in (0, 1, 2) and one[3] == 3
    assert found == {
        ((0,), (0, 1), (0, 1), (0, 1)),
        ((0,), (0, 1), (2, 1), (2, 1)),
    }


def test_ties_are_uniform_and_anew_in_every_turn():
    """Many equal models in one slot: each turn draws one of those so far, with equal chances.

    Chi-square of 9 degrees of freedom exceeds 27.9 once in 1000 times. A slot that kept its model,
    or took the earliest one, would hold the first for ever.
    """
    same = np.repeat(BY_HAND[:1], 400, axis=0)
    drawn = np.array([slots[0] for slots in fillings(same, LABELS, 1)])
    turns = np.arange(1, 401)
    assert (drawn < turns).all()
    tenths = np.floor(10 * drawn[100:] / turns[100:]).astype(int)
    assert ((np.bincount(tenths, minlength=10) - 30) ** 2 / 30).sum() < 27.9
    # The same turns, whatever follows: the search and its ensemble have the same slots.
    shorter = [slots[0] for slots in fillings(same[:50], LABELS, 1)]
    assert shorter == drawn[:50].tolist()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("size", [3, 12])
def test_slots_by_brute_force(classes, size):
    pool = mixed_pool(classes, size)
    ok = np.flatnonzero(~np.isnan(pool.errors))
    slots, errors = fill_slots(pool.predictions[ok], pool.labels, size)
    assert list(fillings(pool.predictions[ok], pool.labels, size)) == slots
    assert len({tuple(s) for s in slots}) > size  # they do change after they are full
    np.testing.assert_allclose(next_losses(pool.predictions[ok], pool.labels, size), errors)
    for content, members in zip(
        slots, [Slots(size=size).build_prefixes(pool)[i] for i in ok], strict=True
    ):
        assert members.weights.sum() == pytest.approx(1)
        counts = {
            int(i): w * len(content) for i, w in zip(members.indices, members.weights, strict=True)
        }
        assert counts == pytest.approx({int(ok[m]): content.count(m) for m in content})


def test_two_columns_and_one_give_the_same_slots():
    """The optimizer sees two columns of two classes; what is stored is one."""
    both = np.concatenate([1 - BY_HAND, BY_HAND], axis=2)
    assert list(fillings(both, LABELS, 2)) == list(fillings(BY_HAND, LABELS, 2))
    pool = mixed_pool(2, 3)
    ok = ~np.isnan(pool.errors)
    one = pool.predictions[ok]
    both = np.concatenate([1 - one, one], axis=2)
    filled = list(fillings(both, pool.labels, 3))
    traced = [
        m for m, success in zip(Slots(size=3).build_prefixes(pool), ok, strict=True) if success
    ]
    for slots, members in zip(filled, traced, strict=True):
        assert set(np.flatnonzero(ok)[slots]) == set(members.indices)
