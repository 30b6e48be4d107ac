"""Greedy maximisation and points by posterior variance, against plain determinants."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemble_search.dpp.coverage import sample_by_variance, unit_grid
from ensemble_search.dpp.greedy import greedy_map
from ensemble_search.dpp.kernels import rbf
from ensemble_search.runtime.errors import UserError
from support import subsets

pytestmark = pytest.mark.slow

GRID = unit_grid(1, 50)
KERNEL = partial(rbf, sigma=0.1)


def plain_greedy(kernel, k):
    items = []
    for _ in range(k):
        sets = [[*items, i] for i in range(len(kernel))]
        log_dets = [
            np.linalg.slogdet(kernel[np.ix_(s, s)])[1] if len({*s}) == len(s) else -np.inf
            for s in sets
        ]
        items = sets[int(np.argmax(log_dets))]
    return items


@given(st.integers(0, 2**32), st.integers(1, 8))
def test_as_plain_greedy(seed, k):
    rng = np.random.default_rng(seed)
    points, quality = rng.random((12, 3)), rng.uniform(0.5, 2, 12)
    similarity = rbf(points, points, 0.4)
    kernel = quality[:, None] * similarity * quality
    assert greedy_map(similarity, k, quality).tolist() == plain_greedy(kernel, k)
    # Without a size: as long as the determinant grows.
    free = greedy_map(3 * similarity, None, quality)
    dets = [np.linalg.slogdet(3 * kernel[np.ix_(free[:n], free[:n])])[1] for n in range(13)]
    assert (np.diff(dets[: len(free) + 1]) > 0).all()
    if len(free) < 12:
        longer = plain_greedy(3 * kernel, len(free) + 1)
        assert np.linalg.slogdet(3 * kernel[np.ix_(longer, longer)])[1] <= dets[len(free)] + 1e-9


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_the_qualities(scale):
    quality = np.array([3.0, 1.0, 2.0])
    assert greedy_map(np.eye(3), 3, scale * quality).tolist() == [0, 2, 1]
    assert len(greedy_map(np.eye(3), None, scale * quality)) == (3 if scale > 1 else 0)


def test_dependent_items_are_left_out():
    labels = np.array([0, 1, 0, 2, 1, 2, 2])
    similarity = (labels[:, None] == labels).astype(float)
    assert greedy_map(similarity, 7).tolist() == [0, 1, 3]
    assert greedy_map(similarity, 7, np.array([1, 1, 2, 0, 3, 0, 0.0])).tolist() == [4, 2]
    assert greedy_map(np.zeros((3, 3)), 2).tolist() == []
    features = np.random.default_rng(0).normal(size=(40, 9))
    assert len(greedy_map(features @ features.T, 40)) == 9


def test_ties_up_to_rounding_go_to_the_first():
    """After the middle of a grid, both ends are as far."""
    points = np.linspace(0, 1, 11)[:, None]
    noise = 1e-13 * np.arange(11)
    similarity = rbf(points, points, 0.2) + np.diag(noise)
    assert greedy_map(similarity, 3, 1 + 0.1 * (np.arange(11) == 5)).tolist() == [5, 0, 10]
    assert greedy_map(np.eye(4) + np.diag(noise[:4]), 4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("k", [0, 5])
def test_bad_sizes(k):
    with pytest.raises(UserError, match=f"k is {k}, .*at most 4, the number of items"):
        greedy_map(np.eye(4), k)


def test_bad_kernels():
    with pytest.raises(UserError, match="positive semidefinite"):
        greedy_map(np.array([[1.0, 2.0], [2.0, 1.0]]), 2)
    with pytest.raises(UserError, match="symmetric"):
        greedy_map(np.array([[1.0, 0.5], [0.2, 1.0]]), 2)
    with pytest.raises(UserError, match="finite"):
        greedy_map(np.array([[np.inf]]), 1)


def chain_law(kernel, k):
    """The law of sets by all sequences: posterior variances, over their sum at each step."""
    result = {}

    def add(items, probability):
        if len(items) == k:
            key = tuple(sorted(items))
            result[key] = result.get(key, 0) + probability
            return
        base = np.linalg.det(kernel[np.ix_(items, items)])
        others = [i for i in range(len(kernel)) if i not in items]
        left = [np.linalg.det(kernel[np.ix_([*items, i], [*items, i])]) / base for i in others]
        for i, variance in zip(others, left, strict=True):
            add([*items, i], probability * variance / sum(left))

    add([], 1.0)
    return result


def test_the_law_of_draws_by_variance():
    points = np.array([[0.0], [0.1], [0.15], [0.5], [0.9], [1.0]])
    kernel = partial(rbf, sigma=0.3)
    law = chain_law(kernel(points, points), 3)
    rng = np.random.default_rng(0)
    assert subsets.distance(lambda: sample_by_variance(points, 3, kernel, rng), law, 5000) < 1
    k_dpp = subsets.law(kernel(points, points), 3)
    assert sum(abs(law[items] - k_dpp[items]) for items in law) / 2 > 0.03  # another law


def test_projection_kernels_give_the_k_dpp():
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(6, 3)))[0]

    def kernel(a, b):
        return vectors[a[:, 0].astype(int)] @ vectors[b[:, 0].astype(int)].T

    numbers = np.arange(6.0)[:, None]
    law = subsets.law(vectors @ vectors.T, 3)
    assert chain_law(vectors @ vectors.T, 3) == pytest.approx(law)
    assert subsets.distance(lambda: sample_by_variance(numbers, 3, kernel, rng), law, 5000) < 1


def test_points_are_added_one_by_one():
    draws = [sample_by_variance(GRID, k, KERNEL, np.random.default_rng(1)).tolist() for k in (4, 9)]
    assert draws[1][:4] == draws[0]


def test_variance_that_is_used_up():
    points = np.array([[0.0], [0.0], [1.0], [1.0]])
    with pytest.raises(UserError, match="after 2 of 3 points no posterior variance is left"):
        sample_by_variance(points, 3, KERNEL, np.random.default_rng(0))
    with pytest.raises(UserError, match="k is 5"):
        sample_by_variance(points, 5, KERNEL, np.random.default_rng(0))
    with pytest.raises(UserError, match="finite"):
        sample_by_variance(points * np.nan, 2, KERNEL, np.random.default_rng(0))


def test_grids():
    assert unit_grid(1).shape == (10_000, 1)
    assert unit_grid(3).shape == (21**3, 3)
    assert unit_grid(4).shape == (10_000, 4)
    assert unit_grid(2, 9).tolist() == [[a, b] for a in (0, 0.5, 1) for b in (0, 0.5, 1)]
