"""The multi-layer perceptron: its gradient, its penalties, and scikit-learn's as an oracle."""

import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_wine
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from ensemble_search.learners.mlp import (
    TwoLayerPerceptron,
    forward,
    initial,
    objective,
    split,
)

SIZES = (3, 4, 5, 2)
SHAPES = [(4, 4), (5, 5), (6, 2)]


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def made(n=20, seed=0):
    """Random layers and data for them."""
    rng = np.random.default_rng(seed)
    layers = [rng.normal(size=shape) for shape in SHAPES]
    return layers, rng.normal(size=(n, 3)), np.eye(2)[rng.integers(0, 2, n)]


def flat(layers):
    return np.concatenate([layer.ravel() for layer in layers])


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("rows", [slice(None, -1), slice(-1, None)], ids=["weights", "biases"])
def test_the_gradient_is_that_of_finite_differences(layer, rows):
    layers, X, one_hot = made()
    given = SHAPES, X, one_hot, (0.3, 0.02, 1.5)
    point = flat(layers)
    gradient = split(objective(point, *given)[1], SHAPES)[layer][rows]
    numeric = approx_fprime(point, lambda x: objective(x, *given)[0], 1e-7)
    expected = split(numeric, SHAPES)[layer][rows]
    assert abs(expected).max() > 1e-3
    np.testing.assert_allclose(gradient, expected, atol=2e-6)


def test_the_objective_by_hand():
    layers, X, one_hot = made(n=3)
    hidden = np.tanh(X @ layers[0][:3] + layers[0][3])
    hidden = np.tanh(hidden @ layers[1][:4] + layers[1][4])
    odds = np.exp(hidden @ layers[2][:5] + layers[2][5])
    likelihood = (odds * one_hot).sum(axis=1) / odds.sum(axis=1)
    expected = -np.mean(np.log(likelihood))
    for penalty, layer in zip((0.3, 0.02, 1.5), layers, strict=True):
        expected += penalty * np.sum(layer[:-1] ** 2)
    loss, _ = objective(flat(layers), SHAPES, X, one_hot, (0.3, 0.02, 1.5))
    assert loss == pytest.approx(expected, rel=1e-12)


def test_initial_weights_are_those_of_glorot():
    layers = initial((50, 100, 20, 3), seed=1)
    for layer, (n_from, n_to) in zip(layers, [(50, 100), (100, 20), (20, 3)], strict=True):
        assert layer.shape == (n_from + 1, n_to)
        bound = np.sqrt(6 / (n_from + n_to))
        assert 0.9 * bound < abs(layer[:-1]).max() <= bound
        assert not layer[-1].any()
    assert not np.array_equal(layers[0], initial((50, 100, 20, 3), seed=2)[0])


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_large_penalty_drives_its_own_weights_to_zero(layer):
    """In a few iterations; in the end the other layers would make up for it, or follow."""
    X, y = wine()
    penalties = [1e-4, 1e-4, 1e-4]
    penalties[layer] = 100.0
    model = TwoLayerPerceptron((6, 5), penalties, max_iter=20).fit(X, y)
    sizes = [abs(fitted[:-1]).max() for fitted in model.layers_]
    assert sizes.pop(layer) < 0.005
    assert min(sizes) > 0.5


def test_biases_are_not_penalised():
    """They learn the shares of the classes."""
    X, y = wine()
    model = TwoLayerPerceptron((6, 5), (100.0,) * 3).fit(X, y)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(model.predict_proba(X), np.tile(shares, (len(y), 1)), atol=1e-3)


def test_the_optimum_is_that_of_scikit_learn():
    """It has one penalty, of half the sum of squares over the number of rows."""
    X, y = wine()
    penalty = 0.01
    ours = TwoLayerPerceptron((4, 3), (penalty,) * 3, max_iter=5000).fit(X, y)
    start = initial((13, 4, 3, 3), ours.random_state)
    theirs = MLPClassifier(
        (4, 3),
        activation="tanh",
        solver="lbfgs",
        alpha=2 * penalty * len(X),
        warm_start=True,
        max_iter=1,
        max_fun=10**6,
        tol=1e-8,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration is too few, as is known
        theirs.fit(X, y)
    theirs.coefs_ = [layer[:-1].copy() for layer in start]
    theirs.intercepts_ = [layer[-1].copy() for layer in start]
    theirs.set_params(max_iter=5000).fit(X, y)
    shapes = [layer.shape for layer in ours.layers_]
    loss, _ = objective(flat(ours.layers_), shapes, X, np.eye(3)[y], (penalty,) * 3)
    assert loss == pytest.approx(theirs.loss_, rel=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_probabilities_of_labels_of_any_numbers(n_classes):
    X, y = wine()
    X, y = X[y < n_classes], 3 * y[y < n_classes] + 5
    model = TwoLayerPerceptron((5, 5)).fit(X[::2], y[::2])
    assert model.classes_.tolist() == [5, 8, 11][:n_classes]
    probabilities = model.predict_proba(X[1::2])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.mean(model.classes_[probabilities.argmax(axis=1)] == y[1::2]) > 0.9


def test_a_fit_is_a_function_of_its_seed():
    X, y = wine()
    fitted = []
    for seed in (1, 1, 2):
        np.random.seed(len(fitted))
        fitted.append(TwoLayerPerceptron((5, 5), random_state=seed).fit(X, y).predict_proba(X))
    assert fitted[0].tobytes() == fitted[1].tobytes()
    assert not np.array_equal(fitted[0], fitted[2])


def test_fitting_leaves_the_global_generator_alone():
    X, y = wine()
    np.random.seed(0)
    expected = np.random.random()
    np.random.seed(0)
    TwoLayerPerceptron((5, 5)).fit(X, y)
    assert np.random.random() == expected


def test_it_stops_after_the_largest_number_of_iterations():
    X, y = wine()
    losses = []
    for max_iter in (1, 5, 200):
        model = TwoLayerPerceptron((5, 5), max_iter=max_iter).fit(X, y)
        shapes = [layer.shape for layer in model.layers_]
        losses.append(objective(flat(model.layers_), shapes, X, np.eye(3)[y], (1e-3,) * 3)[0])
    assert losses[0] > 1.5 * losses[1] > 1.5 * losses[2]


def test_large_numbers_stay_finite():
    layers, X, one_hot = made()
    loss, gradient = objective(1e3 * flat(layers), SHAPES, 1e3 * X, one_hot, (0, 0, 0))
    assert np.isfinite(loss) and np.isfinite(gradient).all()
    assert np.isfinite(forward(layers, 1e300 * X)[-1]).all()
