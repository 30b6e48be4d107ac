"""Fitted classifiers and regressors, created from checked arrays.

A learner is created from its :class:`Fields`, the number of feature columns and the number of
scores that its link needs. Calling it maps X to scores of shape (n_samples, n_scores). ``entries``
is how many intermediate numbers it needs per row.
"""

# The module docstring describes calls.
# ruff: noqa: D102

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from ensemble_search.predictor.fields import Fields
from ensemble_search.predictor.kernels import Kernel
from ensemble_search.predictor.trees import Trees

#: Maximum number of nearest neighbours.
MOST_NEIGHBOURS = 1000


class TreeSum:
    """The start plus the sum of the trees' leaf values, divided by a number."""

    def __init__(self, fields: Fields, width: int, n_scores: int):
        self.turns = fields.choice("turns", (True, False))  # trees add to the scores in turn
        self.trees = Trees(fields, width, 1 if self.turns else n_scores)
        self.start = fields.array("start", n_scores)
        self.entries = max(self.trees.n, n_scores)
        self.divisor = fields.number("divisor", 1e-100)
        self.dtype = np.float32 if fields.choice("single_sums", (True, False)) else np.float64

    def __call__(self, X: np.ndarray) -> np.ndarray:
        value = self.trees.value.astype(self.dtype)
        k = len(self.start)
        found = np.empty((k, len(X)), dtype=self.dtype)
        found[:] = self.start[:, None]
        # In the order of the trees, so that the sums equal the libraries' bit for bit.
        for number, leaves in enumerate(self.trees.leaves(X)):
            if self.turns:
                found[number % k] += value[leaves, 0]
            else:
                found += value[leaves].T
        return (found if self.divisor == 1 else found / self.dtype(self.divisor)).T


class TreeMedian:
    """The weighted median of trees (AdaBoost.R2)."""

    def __init__(self, fields: Fields, width: int, n_scores: int):
        self.trees = Trees(fields, width, n_scores)
        self.weights = fields.array("weights", self.trees.n, low=0, high=1e100)
        if not self.weights.any():
            raise ValueError(f"'{fields.name}.weights' are all 0")
        self.entries = 4 * self.trees.n

    def __call__(self, X: np.ndarray) -> np.ndarray:
        found = self.trees.value[self.trees.leaves(X), 0].T
        order = np.argsort(found, axis=1)
        sums = np.cumsum(self.weights[order], axis=1)
        middle = (sums >= 0.5 * sums[:, -1:]).argmax(axis=1)
        rows = np.arange(len(X))
        return found[rows, order[rows, middle]][:, None]


class Linear:
    """X @ weights + offset."""

    def __init__(self, fields: Fields, width: int, n_scores: int):
        self.weights = fields.array("weights", width, n_scores)
        self.entries = n_scores
        self.offset = fields.array("offset", n_scores)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return X @ self.weights + self.offset


class Quadratic:
    """Log-densities of normal distributions; for two classes, their difference.

    Per class: ``mean``, ``matrix`` (rotation over standard deviations) and ``constant``.
    """

    def __init__(self, fields: Fields, width: int, n_scores: int):
        self.n_scores, n = n_scores, max(n_scores, 2)
        self.means = fields.array("means", n, width)
        self.matrices = [fields.array(f"matrix_{i}", width, None) for i in range(n)]
        self.entries = max(n, *(matrix.shape[1] for matrix in self.matrices))
        self.spread, self.prior = fields.array("spread", n), fields.array("prior", n)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        squares = [
            (((X - mean) @ matrix) ** 2).sum(axis=1)
            for mean, matrix in zip(self.means, self.matrices, strict=True)
        ]
        found = -0.5 * (np.array(squares).T + self.spread) + self.prior
        return found if self.n_scores > 1 else found[:, 1:] - found[:, :1]


class Normal:
    """Log-densities of independent normal distributions."""

    def __init__(self, fields: Fields, width: int, n_scores: int):
        self.means = fields.array("means", n_scores, width)
        self.variances = fields.array("variances", n_scores, width, low=1e-150)
        self.prior = fields.array("prior", n_scores)
        self.entries = n_scores

    def __call__(self, X: np.ndarray) -> np.ndarray:
        found = []
        for mean, variance, prior in zip(self.means, self.variances, self.prior, strict=True):
            constant = -0.5 * np.log(2.0 * np.pi * variance).sum()
            found.append(prior + (constant - 0.5 * ((X - mean) ** 2 / variance).sum(axis=1)))
        return np.array(found).T


class Network:
    """Layers of weights, each with the biases last; hidden units are rectified or tanh."""

    def __init__(self, fields: Fields, width: int, n_scores: int):
        self.rectified = fields.choice("rectified", (True, False))
        number = fields.integer("layers", 1, 10)
        self.layers = []
        for i in range(number):
            columns = n_scores if i == number - 1 else None
            self.layers.append(fields.array(f"layer_{i}", width + 1, columns))
            width = self.layers[-1].shape[1]
        self.entries = max(layer.shape[1] for layer in self.layers)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        for i, layer in enumerate(self.layers):
            if i:
                X = np.maximum(X, 0) if self.rectified else np.tanh(X)
            X = X @ layer[:-1] + layer[-1]
        return X


class Machine:
    """A support vector machine; for three and more classes, votes of all pairs.

    ``rows`` are the support vectors, class by class (``counts``). ``weights`` has, for every
    vector, its weights against the other classes, in order.
    """

    def __init__(self, fields: Fields, width: int, n_scores: int):
        self.kernel = Kernel(fields, width)
        n, self.n_scores = len(self.kernel.rows), n_scores
        self.entries = 2 * max(n, n_scores)
        self.weights = fields.array("weights", max(1, n_scores - 1), n)
        self.pairs = list(combinations(range(n_scores), 2))
        self.offset = fields.array("offset", max(1, len(self.pairs)))
        if self.pairs:
            counts = fields.integers("counts", n_scores, low=0, high=n)
            if counts.sum() != n:
                raise ValueError(f"'{fields.name}' has support vectors of no class")
            ends = np.cumsum(counts)
            self.own = [slice(e - c, e) for e, c in zip(ends, counts, strict=True)]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        K = self._values(X)
        if not self.pairs:
            return K @ self.weights.T + self.offset
        votes, sums = np.zeros((2, len(X), self.n_scores))
        for (i, j), offset in zip(self.pairs, self.offset, strict=True):
            first, second = self.own[i], self.own[j]
            margin = K[:, first] @ self.weights[j - 1, first] + offset
            margin += K[:, second] @ self.weights[i, second]
            sums[:, i] += margin
            sums[:, j] -= margin
            votes[:, i] += margin >= 0
            votes[:, j] += margin < 0
        return votes + sums / (3 * (np.abs(sums) + 1))

    def _values(self, X: np.ndarray) -> np.ndarray:
        """Kernel values; libsvm computes distances from differences, not from products."""
        from scipy.spatial.distance import cdist

        if self.kernel.name != "rbf":
            return self.kernel(X)
        return np.exp(-self.kernel.gamma * cdist(X, self.kernel.rows, "sqeuclidean"))


class Neighbours:
    """scikit-learn's nearest neighbours, fitted again when a folder is loaded.

    The only part that needs scikit-learn, whose choice among equidistant neighbours is its own.

    Has ``labels``, which are indices of scores (classification), or ``values`` (regression).
    """

    def __init__(self, fields: Fields, width: int, n_scores: int):
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        rows = fields.array("rows", None, width)
        settings = {
            "n_neighbors": fields.integer("n_neighbors", 1, min(len(rows), MOST_NEIGHBOURS)),
            "weights": fields.choice("weights", ("uniform", "distance")),
            "p": fields.integer("p", 1, 2),
        }
        self.rows, self.settings = rows, settings
        self.entries = max(settings["n_neighbors"], n_scores)
        if fields.has("labels"):
            labels = fields.integers("labels", len(rows), low=0, high=n_scores - 1)
            if len(np.unique(labels)) < n_scores:
                raise ValueError(f"'{fields.name}' has a class without rows")
            self.values = labels
            self.found = KNeighborsClassifier(**settings).fit(rows, labels).predict_proba
        else:
            self.values = fields.array("values", len(rows), n_scores)
            self.found = KNeighborsRegressor(**settings).fit(rows, self.values).predict

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.found(X)


LEARNERS: Mapping[str, Callable[[Fields, int, int], Any]] = {
    "tree sum": TreeSum,
    "tree median": TreeMedian,
    "linear": Linear,
    "quadratic": Quadratic,
    "normal": Normal,
    "network": Network,
    "machine": Machine,
    "neighbours": Neighbours,
}
