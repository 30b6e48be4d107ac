"""Neural networks with the hyperparameters of Dodge et al.

J. Dodge, K. Jamieson and N. A. Smith: *Open Loop Hyperparameter Optimization and Determinantal
Point Processes*, 2017. The paper's networks are convolutional, on sentences and word vectors; here,
a network on tabular data has the same hyperparameters and ranges, except in ``stable``.
"""

import math

import numpy as np
from ConfigSpace import Categorical, Float, Integer
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from ensemble_search.learners import mlp
from ensemble_search.learners.operators import SEED, operator


def tree(lowest: int, highest: int):
    """Hyperparameters of the three tree-structured spaces: a learning rate from e^lowest on.

    L2 regularisation is on or off, with a strength if it is on.
    """
    return (
        Float("learning_rate", (math.exp(lowest), math.exp(highest)), log=True),
        Categorical("l2", ["off", "on"], default="off"),
        Float("l2_strength", (math.exp(-5), math.exp(-1)), log=True),
        Float("dropout", (0.0, 0.7), default=0.35),
    )


def _network(values):
    own = {k: v for k, v in values.items() if k not in ("l2", "l2_strength")}
    return DropoutNetwork(**own, l2=values.get("l2_strength", 0.0), random_state=SEED)


SWITCH = {"l2_strength": ("l2", ["on"])}


@operator(*tree(-5, 5), conditions=SWITCH)
def hard(values, data):
    """Most learning rates are too large."""
    return _network(values)


@operator(*tree(-5, -1), conditions=SWITCH)
def medium(values, data):
    """Some learning rates are too large."""
    return _network(values)


@operator(*tree(-10, -3), conditions=SWITCH)
def easy(values, data):
    """No learning rate is too large."""
    return _network(values)


@operator(
    Float("learning_rate", (math.exp(-5), math.exp(-1)), log=True),
    Float("l2_strength", (1e-6, 1e-2), log=True),
    Float("dropout", (0.0, 0.5)),
    Integer("units", (16, 256), log=True),
    Float("momentum", (0.0, 0.95)),
    Integer("batch", (8, 128), log=True),
)
def stable(values, data):
    """Six numbers and no switch, in ranges where most networks learn."""
    return _network(values)


class DropoutNetwork(ClassifierMixin, BaseEstimator):
    """One hidden layer of rectified units and softmax outputs, trained on mini-batches.

    It minimises the mean negative log-likelihood plus ``l2`` times the sum of the squared weights
    (biases are not penalised) by gradient descent with Nesterov's momentum. In every step, each
    hidden unit is dropped with probability ``dropout``, and the others are scaled up to compensate
    (Srivastava et al., 2014). If training diverges, predictions are NaN.

    Parameters
    ----------
    learning_rate
        Step size.
    l2
        L2 penalty.
    dropout
        In [0, 1).
    units
        Number of hidden units.
    momentum
        In [0, 1).
    batch
        Rows per step.
    epochs
        Passes over the rows.
    random_state
        Seed for initial weights, row order and dropout.

    Attributes
    ----------
    classes_
        The seen labels, sorted, of shape (n_classes,).
    layers_
        Weights of the two layers, of shape (n_from + 1, n_to), with the biases last.
    """

    def __init__(
        self,
        learning_rate=0.1,
        l2=0.0,
        dropout=0.0,
        units=64,
        momentum=0.9,
        batch=32,
        epochs=20,
        random_state=1,
    ):
        self.learning_rate = learning_rate
        self.l2 = l2
        self.dropout = dropout
        self.units = units
        self.momentum = momentum
        self.batch = batch
        self.epochs = epochs
        self.random_state = random_state

    def fit(self, X, y):
        """Fit the weights."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        one_hot = np.eye(len(self.classes_))[codes]
        rng = np.random.default_rng(self.random_state)
        layers = mlp.initial((X.shape[1], self.units, len(self.classes_)), self.random_state)
        speeds = [np.zeros_like(layer) for layer in layers]
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.epochs):
                order = rng.permutation(len(X))
                for start in range(0, len(X), self.batch):
                    rows = order[start : start + self.batch]
                    kept = rng.random((len(rows), self.units)) >= self.dropout
                    mask = kept / (1 - self.dropout)
                    gradients = gradient(layers, X[rows], one_hot[rows], mask, self.l2)
                    for i, slope in enumerate(gradients):
                        before = speeds[i]
                        speeds[i] = self.momentum * before - self.learning_rate * slope
                        layers[i] += (1 + self.momentum) * speeds[i] - self.momentum * before
                if not all(np.isfinite(layer).all() for layer in layers):
                    break
        self.layers_ = layers
        return self

    def predict_proba(self, X):
        """Return class probabilities, of shape (n_samples, n_classes)."""
        with np.errstate(over="ignore", invalid="ignore"):
            hidden = np.maximum(X @ self.layers_[0][:-1] + self.layers_[0][-1], 0)
            return softmax(hidden @ self.layers_[1][:-1] + self.layers_[1][-1], axis=1)


def gradient(
    layers: list[np.ndarray], X: np.ndarray, one_hot: np.ndarray, mask: np.ndarray, l2: float
) -> list[np.ndarray]:
    """Return the gradient of the objective of :class:`DropoutNetwork` on some rows, per layer.

    Parameters
    ----------
    layers
        In the format of ``layers_``.
    X
        Of shape (n, n_features).
    one_hot
        One-hot classes, of shape (n, n_classes).
    mask
        Factors of the hidden units, of shape (n, units).
    l2
        L2 penalty.
    """
    sums = X @ layers[0][:-1] + layers[0][-1]
    hidden = np.maximum(sums, 0) * mask
    errors = (softmax(hidden @ layers[1][:-1] + layers[1][-1], axis=1) - one_hot) / len(X)
    back = (errors @ layers[1][:-1].T) * mask * (sums > 0)
    result = []
    for layer, given, error in zip(layers, (X, hidden), (back, errors), strict=True):
        weights = given.T @ error + 2 * l2 * layer[:-1]
        result.append(np.vstack([weights, error.sum(axis=0)]))
    return result
