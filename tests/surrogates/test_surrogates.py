"""Surrogates: compared with independent implementations, and whether they learn."""

import numpy as np
import pytest
from scipy.stats import kendalltau, norm

from ensemble_search.problems.diversity import pairwise
from ensemble_search.runtime import plugins
from ensemble_search.surrogates._categories import Categories
from ensemble_search.surrogates._on_pairs import (
    LightGBMPairs,
    LightGBMSingle,
    RandomForestPairs,
    normal_scores,
)
from ensemble_search.surrogates._pairs.rows import Pairs
from ensemble_search.surrogates.base import DiversitySurrogate, one_hot
from ensemble_search.surrogates.forest_kernel import ForestKernel
from ensemble_search.surrogates.xgboost_pairs import XGBoostPairs

pytestmark = pytest.mark.slow

CATEGORIES = np.array([4, 0, 0, 0, 0, 0, 0])  # of made()
DIVERSITY = [
    name
    for name in plugins.available("surrogates")
    if issubclass(plugins.load("surrogates", name), DiversitySurrogate)
]
PERFORMANCE = [name for name in plugins.available("surrogates") if name not in DIVERSITY]
#: Those of which more is known than the contract, which holds for every file.
SYMMETRIC = ["forest-kernel", "lightgbm-pairs", "random-forest-pairs", "xgboost-pairs"]
KNOWN = [*SYMMETRIC, "lightgbm-single"]


def made(n: int, seed: int = 0, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Encoded configurations (a choice, two numbers, noise columns) and their diversities."""
    rng = np.random.default_rng(seed)
    choice = rng.integers(4, size=n)
    vectors = np.hstack([choice[:, None], rng.random((n, 6))]).astype(np.float32)
    effect = np.array([0, 1, 2, 4])[choice]
    hidden = np.stack([effect, 3 * vectors[:, 1], np.sin(6 * vectors[:, 2])], 1)
    weights = np.random.default_rng(5).normal(size=(3, 40 * classes))
    p = np.exp((hidden @ weights / 2).reshape(n, 40, classes))
    return vectors, pairwise(list((p / p.sum(axis=2, keepdims=True)).astype(np.float32)))


def hot(vectors: np.ndarray) -> np.ndarray:
    """One column per category of made()."""
    return np.hstack([np.eye(4, dtype=np.float32)[vectors[:, 0].astype(int)], vectors[:, 1:]])


def test_one_hot():
    vectors = np.array([[0.5, 2, 1, 0.1], [0.0, 0, 0, 1.0]])
    expected = [[0.5, 0, 0, 1, 0, 1, 0.1], [0, 1, 0, 0, 1, 0, 1]]
    np.testing.assert_allclose(one_hot(vectors, np.array([0, 3, 2, 0])), expected, rtol=1e-7)
    np.testing.assert_array_equal(one_hot(made(9)[0], CATEGORIES), hot(made(9)[0]))


def predicted(library: str, booster, rows: np.ndarray) -> np.ndarray:
    """Predict by the library itself."""
    if library == "lightgbm":
        return booster.predict(rows)
    import xgboost

    return booster.predict(xgboost.DMatrix(rows)).astype(float)


BOOSTERS = {"lightgbm": LightGBMPairs, "xgboost": XGBoostPairs}
EXACT = {"lightgbm": 1e-12, "xgboost": 2e-6}  # XGBoost itself adds in float32


@pytest.mark.parametrize("library", BOOSTERS)
@pytest.mark.parametrize("n", [3, 30])
def test_pair_trees_equal_the_library(library, n):
    """The shortcut gives what the library's own predict gives for the rows of all pairs."""
    vectors, matrix = made(n)
    pairs = Pairs.of(vectors, matrix, CATEGORIES)
    surrogate = BOOSTERS[library](models=2, trees=60)
    boosters = surrogate.boosters(pairs, np.random.default_rng(0))
    a, b = (pairs.columns(made(m, seed)[0]) for m, seed in ((50, 1), (7, 2)))
    a[:n] = pairs.columns(vectors)  # values that lie on either side of a threshold, too
    left, right = np.repeat(a, 7, axis=0), np.tile(b, (50, 1))
    for booster in boosters:
        rows = (np.hstack(x) for x in ((left, right), (right, left)))
        expected = sum(predicted(library, booster, x) for x in rows).reshape(50, 7) / 2
        got = surrogate.read(booster).predict(a, b)
        np.testing.assert_allclose(got, expected, rtol=EXACT[library], atol=EXACT[library] / 10)
    if n > 3:
        assert np.ptp(expected) > 0.1


@pytest.mark.parametrize("library", BOOSTERS)
def test_pair_trees_at_thresholds(library):
    """A float32 at a threshold, or next to it, goes where the library sends it."""
    vectors, matrix = made(30)
    pairs = Pairs.of(vectors, matrix, CATEGORIES)
    surrogate = BOOSTERS[library](models=1, trees=40)
    booster = surrogate.boosters(pairs, np.random.default_rng(0))[0]
    trees = surrogate.read(booster).trees
    near = np.unique(np.concatenate([half[1].ravel() for t in trees for half in t.halves]))
    steps = np.concatenate([np.nextafter(near, np.float32(s)) for s in (-9, 9)] + [near])
    a = np.repeat(steps[:, None], pairs.varying.sum(), axis=1)
    b = pairs.columns(vectors[:3])
    left, right = np.repeat(a, 3, axis=0), np.tile(b, (len(a), 1))
    rows = (np.hstack(x) for x in ((left, right), (right, left)))
    expected = sum(predicted(library, booster, x) for x in rows) / 2
    got = surrogate.read(booster).predict(a, b).ravel()
    np.testing.assert_allclose(got, expected, rtol=EXACT[library], atol=EXACT[library] / 10)


def test_forest_of_pairs_is_the_mean_of_both_orders():
    """Each member is a tree of the forest, asked for both orders of every pair."""
    from sklearn.ensemble import RandomForestRegressor

    vectors, matrix = made(12)
    a, b = made(9, 1)[0], made(4, 2)[0]
    members = RandomForestPairs().fit(vectors, matrix, CATEGORIES, np.random.default_rng(3))(a, b)
    vectors, a, b = hot(vectors), hot(a), hot(b)
    rows = np.array([[*x, *y] for x in vectors for y in vectors])
    forest = RandomForestRegressor(
        10,
        max_features=5 / 6,
        min_samples_split=3,
        min_samples_leaf=3,
        random_state=int(np.random.default_rng(3).integers(2**31)),
    ).fit(rows, matrix.ravel())
    for member, tree in zip(members, forest.estimators_, strict=True):
        for i, x in enumerate(a):
            there = tree.predict([[*x, *y] for y in b])
            back = tree.predict([[*y, *x] for y in b])
            np.testing.assert_allclose(member[i], (there + back) / 2)


def test_pairs_are_of_a_subset_of_configurations_both_ways_and_with_themselves(monkeypatch):
    import lightgbm

    vectors, matrix = made(10)
    seen = []

    def spy(parameters, data, trees):
        data.construct()
        seen.append((parameters["seed"], np.asarray(data.used_indices), data.get_label()))
        return lightgbm.Booster(parameters, data)

    monkeypatch.setattr(lightgbm, "train", spy)
    pairs = Pairs.of(vectors, matrix, CATEGORIES)
    LightGBMPairs(models=4, trees=5).boosters(pairs, np.random.default_rng(0))
    subsets = []
    for _, rows, target in seen:
        first, second = rows // 10, rows % 10
        chosen = sorted(set(first))
        assert len(chosen) == 8
        pairs = {(i, j) for i in chosen for j in chosen}
        assert set(zip(first.tolist(), second.tolist(), strict=True)) == pairs
        assert len(rows) == 64
        np.testing.assert_allclose(target, matrix[first, second], rtol=1e-6)
        subsets.append(tuple(chosen))
    assert len(set(subsets)) > 1
    assert len({seed for seed, _, _ in seen}) == 4


def test_forest_kernel_knows_the_observed():
    """Each observed configuration has its own leaf, so its weights are a unit vector."""
    vectors, matrix = made(30)
    model = ForestKernel().fit(vectors, matrix, CATEGORIES, np.random.default_rng(0))
    for member in model(vectors, vectors):
        np.testing.assert_allclose(member, matrix, atol=1e-6)


@pytest.mark.parametrize("n", [2, 12, 60])
def test_forest_kernel_by_leaves(n):
    """Each member, by the public interface of its tree; two of the observations are equal."""
    from sklearn.tree import ExtraTreeRegressor

    twins = [*range(n - 1), 0]
    vectors, matrix = made(n)
    vectors, matrix = vectors[twins], np.round(matrix[np.ix_(twins, twins)] * 2**20) / 2**20
    a, b = made(9, 1)[0], np.concatenate([made(4, 2)[0], vectors[:3]])
    model = ForestKernel(trees=6).fit(vectors, matrix, CATEGORIES, np.random.default_rng(3))
    rng, known = np.random.default_rng(3), Categories(CATEGORIES)
    targets = matrix[:, np.resize(rng.permutation(n), 10)]
    for member in model(a, b):
        places = known.places(known.codes(vectors), targets[:, rng.integers(10)], rng)
        old, *new = (np.hstack([places[known.codes(v)], v[:, 1:]]) for v in (vectors, a, b))
        tree = ExtraTreeRegressor(max_features=0.5, random_state=int(rng.integers(2**31)))
        leaves = tree.fit(old, targets).apply(old).tolist()
        i, j = ([leaves.index(leaf) for leaf in tree.apply(v)] for v in new)
        np.testing.assert_allclose(member, matrix[np.ix_(i, j)], rtol=1e-6)


def test_forest_kernel_spreads_as_diversities_do():
    """At least 68 % of those of unseen configurations lie within one standard deviation."""
    vectors, matrix = made(200)
    model = ForestKernel().fit(
        vectors[:100], matrix[:100, :100], CATEGORIES, np.random.default_rng(0)
    )
    members = model(vectors[100:], vectors[:100])
    within = np.abs(matrix[100:, :100] - members.mean(axis=0)) <= members.std(axis=0)
    assert within.mean() > 0.68


@pytest.mark.parametrize("name", DIVERSITY)
def test_the_same_generator_gives_the_same_predictions(name):
    vectors, matrix = made(25)
    new = made(8, seed=4)[0]
    fit = plugins.load("surrogates", name)().fit
    found = fit(vectors, matrix, CATEGORIES, np.random.default_rng(0))(new, vectors[:5])
    assert found.shape[1:] == (8, 5)
    again = fit(vectors.copy(), matrix.copy(), CATEGORIES, np.random.default_rng(0))(
        new, vectors[:5]
    )
    np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_predictions_are_symmetric_and_random(name):
    vectors, matrix = made(25)
    new = made(8, seed=4)[0]
    fit = plugins.load("surrogates", name)().fit
    model = fit(vectors, matrix, CATEGORIES, np.random.default_rng(0))
    there, back = model(new, vectors[:5]), model(vectors[:5], new)
    np.testing.assert_allclose(there, back.transpose(0, 2, 1), rtol=1e-5, atol=1e-7)
    assert len(there) == 1 or there.std(axis=0).max() > 0
    other = fit(vectors, matrix, CATEGORIES, np.random.default_rng(1))(new, vectors[:5])
    assert not np.array_equal(there, other)


@pytest.mark.parametrize("name", DIVERSITY)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_almost_nothing_observed(name, n):
    vectors, matrix = made(n)
    samples = plugins.load("surrogates", name)().fit(
        vectors, matrix, CATEGORIES, np.random.default_rng(0)
    )(made(6, seed=1)[0], vectors)
    assert samples.shape[1:] == (6, n)
    assert np.isfinite(samples).all()


@pytest.mark.parametrize("name", PERFORMANCE)
@pytest.mark.parametrize("errors", ["falling", "equal"])
@pytest.mark.parametrize("n", [1, 2, 25])
def test_predictions_of_errors(name, errors, n):
    """Of any number of configurations; the same with the same seed; nothing given is changed."""
    vectors, new = made(n)[0], made(8, seed=4)[0]
    losses = np.linspace(0.4, 0.2, n) if errors == "falling" else np.full(n, 0.3)
    given = vectors.copy(), losses.copy(), CATEGORIES.copy()
    fit = plugins.load("surrogates", name)().fit
    model = fit(*given, np.random.default_rng(0))
    mean, std = model(new)
    for values in (mean, std):
        assert isinstance(values, np.ndarray)
        assert values.shape == (8,)
        assert np.isfinite(values).all()
    assert (std >= 0).all()
    assert [len(values) for values in model(new[:1])] == [1, 1]
    for before, after in zip((vectors, losses, CATEGORIES), given, strict=True):
        np.testing.assert_array_equal(before, after)
    again = fit(*given, np.random.default_rng(0))(new)
    np.testing.assert_array_equal(again, (mean, std))


@pytest.mark.parametrize("name", KNOWN)
def test_learns_to_rank_pairs_it_has_not_seen(name):
    """Kendall's tau of pairs of two held-out configurations; it grows with the observations."""
    vectors, matrix = made(150)
    upper = np.triu_indices(40, 1)
    held_out = matrix[-40:, -40:][upper]
    taus = []
    for n in (12, 40, 100):
        model = plugins.load("surrogates", name)().fit(
            vectors[:n], matrix[:n, :n], CATEGORIES, np.random.default_rng(0)
        )
        mean = model(vectors[-40:], vectors[-40:]).mean(axis=0)
        taus.append(kendalltau(mean[upper], held_out)[0])
    assert taus[2] > 0.6
    assert taus[2] > taus[0] + 0.1
    assert taus[1] > 0.3


def test_normal_scores_by_hand():
    """Ranks 1, 2.5, 2.5, 4 are shares 0, 1/2, 1/2, 1; the ends are moved in."""
    margin = 1 / (4 * 4**0.25 * np.sqrt(np.pi * np.log(4)))
    assert margin == pytest.approx(0.0847, abs=1e-4)
    end = norm.ppf(1 - margin)
    np.testing.assert_allclose(normal_scores(np.array([0.1, 0.7, 0.7, 2])), [-end, 0, 0, end])


def test_the_single_model_is_lightgbms_own():
    """1000 trees of depth 5 by LightGBM's scikit-learn interface; one order, no spread."""
    from lightgbm import LGBMRegressor

    vectors, matrix = made(30)
    new = made(9, 1)[0]
    got = LightGBMSingle().fit(vectors, matrix, CATEGORIES, np.random.default_rng(0))(
        new, vectors[:4]
    )
    vectors, new = hot(vectors), hot(new)
    rows = np.array([[*x, *y] for x in vectors for y in vectors])
    scores = normal_scores(matrix.ravel())
    model = LGBMRegressor(n_estimators=1000, max_depth=5, n_jobs=1, verbosity=-1).fit(rows, scores)
    expected = model.predict(np.array([[*x, *y] for x in new for y in vectors[:4]]))
    assert got.shape == (1, 9, 4)
    # Diversities instead of scores: between the known ones around, in the same order.
    below = np.array([matrix.ravel()[scores <= e].max() for e in expected])
    above = np.array([matrix.ravel()[scores >= e].min() for e in expected])
    assert (below - 1e-9 <= got.ravel()).all()
    assert (got.ravel() <= above + 1e-9).all()
    assert (np.diff(got.ravel()[np.argsort(expected)]) >= 0).all()


def test_default_surrogate_has_five_models_of_200_trees():
    assert (LightGBMPairs().models, LightGBMPairs().trees) == (5, 200)
