"""Kernels between rows, computed as in scikit-learn."""

import numpy as np

from ensemble_search.predictor.fields import Fields

KERNELS = ("rbf", "poly", "sigmoid", "cosine", "chi2")


class Kernel:
    """A kernel between rows of features, of ``width`` columns, and some fixed rows.

    ``fields`` has ``kernel``, its parameters ``gamma``, ``degree`` and ``coef0``, and the ``rows``,
    float64, of shape (n_rows, width).
    """

    def __init__(self, fields: Fields, width: int):
        self.name = fields.choice("kernel", KERNELS)
        self.rows = fields.array("rows", None, width)
        self.gamma = fields.number("gamma", 0.0, 1e9)
        self.degree = fields.integer("degree", 1, 100)
        self.coef0 = fields.number("coef0", -1e9, 1e9)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the values, float64, of shape (n_samples, n_rows)."""
        if self.name == "rbf":
            return np.exp(-self.gamma * squared_distances(X, self.rows))
        if self.name == "cosine":
            return unit(X) @ unit(self.rows).T
        if self.name == "chi2":
            return np.exp(self.gamma * -_chi_squares(X, self.rows))
        K = X @ self.rows.T
        K *= self.gamma
        K += self.coef0
        return K**self.degree if self.name == "poly" else np.tanh(K)


def squared_distances(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances, from products as in scikit-learn's kernels."""
    found = -2 * (X @ rows.T)
    found += np.einsum("ij,ij->i", X, X)[:, None]
    found += np.einsum("ij,ij->i", rows, rows)
    return np.maximum(found, 0, out=found)


def unit(X: np.ndarray) -> np.ndarray:
    """Scale rows to length 1; rows of zeros stay unchanged."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    lengths[lengths == 0] = 1.0
    return X / lengths[:, None]


def _chi_squares(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums of (x - y)^2 / (x + y) over columns; numbers must not be negative."""
    if X.min(initial=0) < 0 or rows.min(initial=0) < 0:
        raise ValueError("the kernel chi2 has negative numbers")
    found = np.zeros((len(X), len(rows)))
    for x, y in zip(X.T, rows.T, strict=True):
        both = x[:, None] + y
        gap = x[:, None] - y
        found += np.divide(gap * gap, both, out=np.zeros_like(both), where=both != 0)
    return found
