"""A multi-layer perceptron with a separate penalty for every weight matrix."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin


class TwoLayerPerceptron(ClassifierMixin, BaseEstimator):
    """Two hidden layers of tanh units and softmax outputs, fitted by L-BFGS on all rows at once.

    It minimises the mean negative log-likelihood plus, for each of the three weight matrices, its
    penalty times the sum of the squared weights. Biases are not penalised.

    Parameters
    ----------
    units
        Number of units in each of the two hidden layers.
    penalties
        Penalties of the three matrices, from the inputs to the outputs.
    max_iter
        Maximum number of iterations.
    random_state
        Seed of the initial weights.

    Attributes
    ----------
    classes_
        The seen labels, sorted, of shape (n_classes,).
    layers_
        Weights between the layers, each of shape (n_from + 1, n_to), with the biases last.
    """

    def __init__(self, units=(50, 50), penalties=(1e-3, 1e-3, 1e-3), max_iter=200, random_state=1):
        self.units = units
        self.penalties = penalties
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y):
        """Fit the weights."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        one_hot = np.eye(len(self.classes_))[codes]
        layers = initial((X.shape[1], *self.units, len(self.classes_)), self.random_state)
        fitted = minimize(
            objective,
            np.concatenate([layer.ravel() for layer in layers]),
            args=([layer.shape for layer in layers], X, one_hot, self.penalties),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter},
        )
        self.layers_ = split(fitted.x, [layer.shape for layer in layers])
        return self

    def predict_proba(self, X):
        """Return class probabilities, of shape (n_samples, n_classes)."""
        return softmax(forward(self.layers_, X)[-1], axis=1)


def initial(sizes: Sequence[int], seed: int) -> list[np.ndarray]:
    """Draw weights as Glorot and Bengio (2010) do, uniform in +-sqrt(6 / (n_from + n_to)).

    Biases are 0. ``sizes`` are those of all layers, including inputs and outputs.
    """
    rng = np.random.default_rng(seed)
    layers = []
    for n_from, n_to in pairwise(sizes):
        bound = np.sqrt(6 / (n_from + n_to))
        weights = rng.uniform(-bound, bound, (n_from, n_to))
        layers.append(np.vstack([weights, np.zeros(n_to)]))
    return layers


def split(flat: np.ndarray, shapes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return the layers that are concatenated in a vector."""
    ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]
    return [part.reshape(s) for part, s in zip(np.split(flat, ends), shapes, strict=True)]


def forward(layers: Sequence[np.ndarray], X: np.ndarray) -> list[np.ndarray]:
    """Return the values of every layer: inputs, hidden units, outputs before softmax."""
    given = [X]
    for layer in layers:
        sums = given[-1] @ layer[:-1] + layer[-1]
        given.append(np.tanh(sums) if len(given) < len(layers) else sums)
    return given


def objective(
    flat: np.ndarray,
    shapes: Sequence[tuple[int, int]],
    X: np.ndarray,
    one_hot: np.ndarray,
    penalties: Sequence[float],
) -> tuple[float, np.ndarray]:
    """Return the objective of :class:`TwoLayerPerceptron` and its gradient.

    Parameters
    ----------
    flat
        All layers, concatenated.
    shapes
        Shapes of the layers.
    X
        Features, of shape (n_samples, n_features).
    one_hot
        One-hot classes, of shape (n_samples, n_classes).
    penalties
        One penalty per layer.
    """
    layers = split(flat, shapes)
    *given, outputs = forward(layers, X)
    logarithms = log_softmax(outputs, axis=1)
    loss = -(one_hot * logarithms).sum() / len(X)
    errors = (np.exp(logarithms) - one_hot) / len(X)
    gradient = np.empty_like(flat)
    parts = split(gradient, shapes)
    for i in reversed(range(len(layers))):
        weights = layers[i][:-1]
        loss += penalties[i] * (weights**2).sum()
        parts[i][:-1] = given[i].T @ errors + 2 * penalties[i] * weights
        parts[i][-1] = errors.sum(axis=0)
        if i:
            errors = (errors @ weights.T) * (1 - given[i] ** 2)
    return loss, gradient
