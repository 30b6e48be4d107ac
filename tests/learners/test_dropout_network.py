"""The network with dropout, and the spaces after Dodge et al."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from ensemble_search.learners import mlp
from ensemble_search.learners.dodge import DropoutNetwork, gradient
from ensemble_search.runtime import plugins

SHAPES = [(4, 5), (6, 3)]


def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return StandardScaler().fit_transform(X)[order], 2 * y[order] + 5


def loss(flat, X, one_hot, mask, l2):
    first, second = mlp.split(flat, SHAPES)
    hidden = np.maximum(X @ first[:-1] + first[-1], 0) * mask
    outputs = log_softmax(hidden @ second[:-1] + second[-1], axis=1)
    return -(one_hot * outputs).sum() / len(X) + l2 * sum(
        (w[:-1] ** 2).sum() for w in (first, second)
    )


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_gradient_is_that_of_finite_differences(l2):
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=shape) for shape in SHAPES]
    X, one_hot = rng.normal(size=(7, 3)), np.eye(3)[rng.integers(3, size=7)]
    mask = (rng.random((7, 5)) > 0.4) / 0.6
    flat = np.concatenate([layer.ravel() for layer in layers])
    numeric = mlp.split(approx_fprime(flat, loss, 1e-7, X, one_hot, mask, l2), SHAPES)
    for found, expected in zip(gradient(layers, X, one_hot, mask, l2), numeric, strict=True):
        assert abs(expected).max() > 0.01
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_two_steps_of_nesterov_by_hand():
    """Evaluated at the look-ahead point, as Sutskever et al. (2013) write it."""
    X, y = wine()
    one_hot = np.eye(3)[(y - 5) // 2]
    model = DropoutNetwork(0.2, 0.01, units=4, momentum=0.5, batch=len(X), epochs=2).fit(X, y)
    ones = np.ones((len(X), 4))
    position = ahead = mlp.initial((13, 4, 3), 1)
    speed = [np.zeros_like(layer) for layer in position]
    for _ in range(2):
        slopes = gradient(ahead, X, one_hot, ones, 0.01)
        speed = [0.5 * v - 0.2 * g for v, g in zip(speed, slopes, strict=True)]
        position = [p + v for p, v in zip(position, speed, strict=True)]
        ahead = [p + 0.5 * v for p, v in zip(position, speed, strict=True)]
    for found, expected in zip(model.layers_, ahead, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_it_learns_and_is_the_same_every_time():
    X, y = wine()
    for dropout in (0.0, 0.7):
        model = DropoutNetwork(0.05, 1e-4, dropout).fit(X[:100], y[:100])
        probabilities = model.predict_proba(X[100:])
        assert model.classes_.tolist() == [5, 7, 9]
        assert probabilities.sum(axis=1) == pytest.approx(np.ones(78))
        assert (model.classes_[probabilities.argmax(axis=1)] == y[100:]).mean() > 0.94
        again = DropoutNetwork(0.05, 1e-4, dropout).fit(X[:100], y[:100])
        assert np.array_equal(again.predict_proba(X[100:]), probabilities)


def test_dropout_and_l2_do_what_they_are_for():
    X, y = wine()

    def confidence(**settings):
        return DropoutNetwork(0.05, **settings).fit(X, y).predict_proba(X).max(axis=1).mean()

    plain = confidence()
    assert confidence(l2=0.3) < plain - 0.1
    assert confidence(dropout=0.7) < plain


def test_divergence_ends_in_nan():
    X, y = wine()
    assert np.isnan(DropoutNetwork(math.exp(5)).fit(X, y).predict_proba(X)).any()


RANGES = {"hard": (-5, 5), "medium": (-5, -1), "easy": (-10, -3)}


@pytest.mark.parametrize("name", RANGES)
def test_trees(name):
    space = plugins.load("spaces", f"neural-{name}")()
    columns = {column.name: column for column in space.columns}
    assert set(columns) == {"learning_rate", "l2", "l2_strength", "dropout"}
    rate, strength = columns["learning_rate"], columns["l2_strength"]
    assert [math.log(rate.lower), math.log(rate.upper)] == pytest.approx(RANGES[name])
    assert [math.log(strength.lower), math.log(strength.upper)] == pytest.approx([-5, -1])
    assert rate.log and strength.log and not columns["dropout"].log
    assert (columns["dropout"].lower, columns["dropout"].upper) == (0, 0.7)
    drawn = space.sample(400, np.random.default_rng(0))
    on = [c for c in drawn if c["l2"] == "on"]
    assert 150 < len(on) < 250
    assert all(("l2_strength" in c) == (c["l2"] == "on") for c in drawn)
    learner = space.operator
    assert learner.build(dict(on[0]), None).l2 == on[0]["l2_strength"]
    assert learner.build(dict(next(c for c in drawn if c["l2"] == "off")), None).l2 == 0


def test_numbers_only():
    space = plugins.load("spaces", "neural-stable")()
    assert not space.conditional and len(space.columns) == 6 and not space.categories.any()
    X, y = wine()
    values = space.sample(1, np.random.default_rng(0))[0]
    model = space.pipeline(values, np.zeros(13, dtype=bool), 1).fit(X, y)
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == y).mean() > 0.8
    network = space.operator.build(dict(values), None)
    assert {k: getattr(network, k) for k in values if k != "l2_strength"} == {
        k: v for k, v in values.items() if k != "l2_strength"
    }
    assert network.l2 == values["l2_strength"]
