"""The performance forest: its splits of categories, its thresholds, and what it does not know."""

import itertools

import numpy as np
import pytest

from ensemble_search.optimizers._model_based.acquisition import expected_improvement
from ensemble_search.runtime import plugins
from ensemble_search.surrogates._categories import Categories
from ensemble_search.surrogates.one_hot_forest import OneHotForest
from ensemble_search.surrogates.random_forest import RandomForest, _Tree

pytestmark = pytest.mark.slow


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def made(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of two numbers, a category of 3 and one of 6, and errors that depend on all."""
    draw = rng(seed)
    vectors = np.hstack([draw.random((n, 2)), draw.integers(3, size=(n, 1))])
    vectors = np.hstack([vectors, draw.integers(6, size=(n, 1))])
    errors = vectors[:, 0] / 4 + np.array([0.1, 0.5, 0.3])[vectors[:, 2].astype(int)]
    return vectors, errors + 0.1 * np.sin(9 * vectors[:, 3]) + 0.02 * draw.random(n)


CATEGORIES = np.array([0, 0, 3, 6])


def test_categories_are_ordered_by_mean_error():
    """Column 1: b .1, c .3, a .5; column 2 has only z (of x, y, z), x and y are unobserved."""
    known = Categories(np.array([3, 0, 3]))
    vectors = np.array([[0, 0.2, 2], [1, 0.4, 2], [1, 0.1, 2], [2, 0.9, 2]])
    flat = known.codes(vectors)
    np.testing.assert_array_equal(flat, [[0, 5], [1, 5], [1, 5], [2, 5]])
    errors = np.array([0.5, 0.2, 0.0, 0.3])
    drawn = np.array([known.places(flat, errors, rng(s)) for s in range(200)])
    np.testing.assert_array_equal(drawn[:, :3], np.tile([2, 0, 1], (200, 1)))
    np.testing.assert_array_equal(drawn[:, 5], 0)
    assert drawn[:, 3:5].min() >= -0.5
    assert drawn[:, 3:5].max() < 0.5
    assert np.histogram(drawn[:, 3:5], 4)[0].min() > 60


def test_an_absent_category_falls_anywhere_between_the_others():
    known = Categories(np.array([5]))
    flat = np.array([[0], [1], [3], [4]])
    places = [known.places(flat, np.arange(4.0), rng(s))[2] for s in range(400)]
    counts = np.histogram(places, 4, range=(-0.5, 3.5))[0]
    assert counts.sum() == 400
    assert counts.min() > 60


def test_equal_categories_are_ordered_at_random():
    known = Categories(np.array([2]))
    orders = {tuple(known.places(np.array([[0], [1]]), np.ones(2), rng(s))) for s in range(20)}
    assert orders == {(0, 1), (1, 0)}


@pytest.mark.parametrize("seed", range(6))
def test_the_first_split_is_the_best_of_all_subsets(seed):
    """Least squares over every way to split six categories in two, at least 3 rows on each side."""
    draw = rng(seed)
    vectors, effect = draw.integers(6, size=(40, 1)).astype(np.float32), draw.random(6)
    errors = effect[vectors[:, 0].astype(int)] + draw.random(40) / 3
    tree = _Tree(vectors, Categories(np.array([6])), errors, rng(seed))
    # The sample that the tree has drawn first.
    rows = rng(seed).integers(40, size=40)
    values, y = vectors[rows, 0].astype(int), errors[rows]

    def loss(left):
        return sum(((y[s] - y[s].mean()) ** 2).sum() for s in (left, ~left))

    sides = [
        np.isin(values, chosen)
        for k in range(1, 6)
        for chosen in itertools.combinations(range(6), k)
    ]
    best = min(loss(left) for left in sides if 3 <= left.sum() <= 37)
    place = tree.places[np.arange(6)]
    found = loss(place[values] <= tree.tree.threshold[0])
    assert found == pytest.approx(best)


def test_thresholds_lie_anywhere_between_the_neighbours():
    vectors, errors = made(60)
    vectors = vectors.astype(np.float32)
    tree = _Tree(vectors, Categories(CATEGORIES), errors, rng(1))
    rows = rng(1).integers(60, size=60)
    columns = vectors[rows].copy()
    columns[:, 2:] = tree.places[Categories(CATEGORIES).codes(columns)]
    shares, nodes = [], [(0, np.arange(60))]
    while nodes:
        node, here = nodes.pop()
        children = tree.tree.children_left[node], tree.tree.children_right[node]
        if children[0] < 0:
            assert len(here) >= 3
            assert tree.tree.value[node, 0, 0] == pytest.approx(errors[rows[here]].mean())
            continue
        values = columns[here, tree.tree.feature[node]]
        left = values <= tree.tree.threshold[node]
        low, high = values[left].max(), values[~left].min()
        shares.append((tree.tree.threshold[node] - low) / (high - low))
        nodes += [(children[0], here[left]), (children[1], here[~left])]
    assert len(shares) > 8
    assert min(shares) < 0.3
    assert max(shares) > 0.7
    assert len(set(np.round(shares, 6))) > 8


def test_mean_and_spread_are_those_of_the_trees():
    vectors, errors = made(50)
    new = made(30, seed=1)[0]
    mean, std = RandomForest().fit(vectors, errors, CATEGORIES, rng(3))(new)
    draw, known = rng(3), Categories(CATEGORIES)
    trees = [_Tree(vectors.astype(np.float32), known, errors, draw) for _ in range(10)]
    columns = new.astype(np.float32)
    means = []
    for tree in trees:
        one = columns.copy()
        one[:, 2:] = tree.places[known.codes(columns)]
        means.append(tree.tree.predict(one).ravel())
    np.testing.assert_allclose(mean, np.mean(means, axis=0))
    np.testing.assert_allclose(std**2, np.maximum(np.var(means, axis=0, ddof=1), 1e-5))
    assert std.max() > 0.01
    _, floor = RandomForest().fit(vectors, np.full(50, 0.3), CATEGORIES, rng(0))(new)
    np.testing.assert_allclose(floor**2, 1e-5)


def test_a_prediction_depends_on_its_own_vector_only():
    vectors, errors = made(50)
    new = made(30, seed=1)[0]
    model = RandomForest().fit(vectors, errors, CATEGORIES, rng(3))
    kept = new.copy()
    mean, std = model(new)
    np.testing.assert_array_equal(new, kept)
    for i in range(30):
        alone = np.hstack(model(new[i : i + 1]))
        np.testing.assert_allclose(alone, [mean[i], std[i]], rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_observations_are_not_split(n):
    vectors, errors = made(n)
    mean, _ = RandomForest().fit(vectors, errors, CATEGORIES, rng(0))(made(50, 1)[0])
    assert len(set(mean)) == 1


def test_it_learns():
    vectors, errors = made(200)
    new, truth = made(100, seed=1)
    mean, _ = RandomForest().fit(vectors, errors, CATEGORIES, rng(0))(new)
    assert np.corrcoef(mean, truth)[0, 1] > 0.95


def test_it_is_unsure_of_algorithms_that_were_never_tried():
    """On the real space: among the 50 largest expected improvements, far more than on one-hot."""
    space = plugins.load("spaces", "divbo")()
    column = space.index["algorithm"]
    shares = {RandomForest: [], OneHotForest: []}
    for seed in range(6):
        draw = rng(seed)
        tried = draw.permutation(11)[:5]
        points = space.encode_points(space.sample_points(400, draw))
        old = points[np.isin(points[:, column], tried)][:40]
        errors = 0.3 * draw.random(11)[old[:, column].astype(int)] + 0.1 * draw.random(40)
        candidates = space.encode_points(space.sample_points(3000, draw))
        for surrogate, found in shares.items():
            model = surrogate().fit(old, errors, space.categories, rng(seed))
            gain = expected_improvement(*model(candidates), errors.min())
            largest = candidates[np.argsort(-gain)[:50], column]
            found.append(np.mean(~np.isin(largest, tried)))
    native, one_hot = (np.mean(found) for found in shares.values())
    assert native > 0.35
    assert native > one_hot + 0.2
