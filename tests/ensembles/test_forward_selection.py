"""Greedy forward selection without replacement: by hand, by brute force, and its ties."""

from collections import Counter

import numpy as np
import pytest

from ensemble_search.ensembles.greedy.forward_selection import current, forward_selection
from support.made_pools import mixed_pool


def test_parents_by_hand():
    """Labels are all 1; the third model errs least alone, then the second repairs it.

    Alone: 2, 2, 1, 4 errors. With 2: 0 gives (.75 .75 .3 .45), 2 errors; 1 gives
    (.55 .55 .65 .65), none; 3 gives (.3 .3 .2 .3), 4. With 2 and 1: 0 gives sums of
    (2.0 2.0 1.5 1.6), so 1 error (1.5 of 3 is no majority); 3 gives (1.1 1.1 1.3 1.3), 4.
    """
    predictions = np.array(
        [
            [0.9, 0.9, 0.2, 0.3],
            [0.5, 0.5, 0.9, 0.7],
            [0.6, 0.6, 0.4, 0.6],
            [0.0, 0.0, 0.0, 0.0],
        ],
        dtype=np.float32,
    )[:, :, None]
    rng = np.random.default_rng(0)
    assert forward_selection(predictions, np.ones(4, dtype=int), 3, rng) == [2, 1, 0]
    # Without replacement, and never more than there are.
    assert forward_selection(predictions, np.ones(4, dtype=int), 9, rng) == [2, 1, 0, 3]
    # Equal models are chosen at random.
    same = np.repeat(predictions[:1], 3, axis=0)
    first = Counter(forward_selection(same, np.ones(4, dtype=int), 1, rng)[0] for _ in range(60))
    assert len(first) == 3
    # Drawn in every round: all six orders, about equally often.
    orders = Counter(
        tuple(forward_selection(same, np.ones(4, dtype=int), 3, rng)) for _ in range(600)
    )
    assert len(orders) == 6 and min(orders.values()) > 65 and max(orders.values()) < 135


def test_ties_of_parents_ignore_what_models_err_alone():
    """Model 0 alone never errs. With it, 1 and 2 never err either, though 2 alone does twice."""
    predictions = np.array([[0.9, 0.9], [0.8, 0.8], [0.2, 0.2]], dtype=np.float32)[:, :, None]
    labels, rng = np.ones(2, dtype=int), np.random.default_rng(0)
    starts = [tuple(forward_selection(predictions, labels, 2, rng)) for _ in range(300)]
    from_zero = Counter(second for first, second in starts if first == 0)
    assert set(from_zero) == {1, 2} and min(from_zero.values()) > 50


@pytest.mark.parametrize("classes", [2, 3])
def test_parents_by_brute_force(classes):
    pool = mixed_pool(classes, 5)
    ok = np.flatnonzero(~np.isnan(pool.errors))
    p = pool.predictions[ok].astype(float)

    def wrong(models):
        mean = p[models].mean(axis=0)
        labels = mean[:, 0] > 0.5 if classes == 2 else mean.argmax(axis=1)
        return np.count_nonzero(labels != pool.labels)

    chosen = forward_selection(pool.predictions[ok], pool.labels, 10, np.random.default_rng(0))
    assert len(set(chosen)) == 10
    for i in range(10):
        others = set(range(len(ok))) - set(chosen[:i])
        assert min(wrong([*chosen[:i], m]) for m in others) == wrong(chosen[: i + 1])


def test_the_oldest_leaves():
    ok = np.array([0, 2, 3, 6, 7])
    assert current(ok, 3).tolist() == [3, 6, 7]
    assert current(ok, 5).tolist() == current(ok, 9).tolist() == ok.tolist()
