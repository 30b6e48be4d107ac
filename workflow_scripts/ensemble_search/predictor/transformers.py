"""Fitted transformers, created from checked arrays; arithmetic is in scikit-learn's order.

A transformer is created from its :class:`Fields` and the number of its input columns. Calling it
maps X, of shape (n_samples, columns), to (n_samples, width), where ``width`` is the number of its
output columns. It may have ``entries``, how many intermediate numbers it needs per row.
"""

# The module docstring describes calls.
# ruff: noqa: D102

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ensemble_search.predictor.fields import Fields
from ensemble_search.predictor.kernels import Kernel, unit
from ensemble_search.predictor.trees import Trees

#: Bound of scikit-learn's QuantileTransformer.
BOUNDS_THRESHOLD = 1e-7


class Columns:
    """A subset of the columns."""

    def __init__(self, fields: Fields, width: int):
        self.columns = fields.integers("columns", None, low=0, high=width - 1)
        self.width = len(self.columns)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.columns]


class Scale:
    """(X - center) / scale."""

    def __init__(self, fields: Fields, width: int):
        self.center = fields.array("center", width)
        self.scale = _positive(fields.array("scale", width))
        self.width = width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X - self.center) / self.scale


class Stretch:
    """X * factor + offset."""

    def __init__(self, fields: Fields, width: int):
        self.factor, self.offset = fields.array("factor", width), fields.array("offset", width)
        self.width = width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return X * self.factor + self.offset


class Unit:
    """Rows scaled to length 1."""

    def __init__(self, fields: Fields, width: int):
        self.width = width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return unit(X)


class Threshold:
    """1 above the threshold, else 0."""

    def __init__(self, fields: Fields, width: int):
        self.threshold, self.width = fields.number("threshold"), width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (self.threshold < X).astype(float)


class Positive:
    """Negative numbers replaced by 0."""

    def __init__(self, fields: Fields, width: int):
        self.width = width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, X)


class Quantiles:
    """Shares of the training rows below, uniform or as quantiles of the normal distribution."""

    def __init__(self, fields: Fields, width: int):
        self.normal = fields.choice("normal", (True, False))
        self.references = _increasing(fields.array("references", None, low=0, high=1))
        self.quantiles = _increasing(fields.array("quantiles", len(self.references), width))
        self.width = width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        made = np.empty_like(X)
        for column in range(self.width):
            made[:, column] = self._shares(X[:, column], self.quantiles[:, column])
        if self.normal:
            from scipy.special import ndtri

            least = BOUNDS_THRESHOLD - np.spacing(1)
            made = np.clip(ndtri(made), ndtri(least), ndtri(1 - least))
        return made

    def _shares(self, x: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
        references, least, most = self.references, quantiles[0], quantiles[-1]
        up = np.interp(x, quantiles, references)
        shares = 0.5 * (up - np.interp(-x, -quantiles[::-1], -references[::-1]))
        margin = BOUNDS_THRESHOLD if self.normal else 0.0
        shares[x + margin > most if self.normal else x == most] = 1
        shares[x - margin < least if self.normal else x == least] = 0
        return shares


class Projection:
    """((X - before) @ matrix - after) / scale, each if present; keeps the first columns."""

    def __init__(self, fields: Fields, width: int):
        self.matrix = fields.array("matrix", width, None)
        size = self.matrix.shape[1]
        self.before = fields.array("before", width) if fields.has("before") else None
        self.after = fields.array("after", size) if fields.has("after") else None
        self.scale = _positive(fields.array("scale", size)) if fields.has("scale") else None
        self.width, self.entries = fields.integer("width", 1, size), size

    def __call__(self, X: np.ndarray) -> np.ndarray:
        found = (X if self.before is None else X - self.before) @ self.matrix
        if self.after is not None:
            found -= self.after
        if self.scale is not None:
            found /= self.scale
        return found[:, : self.width]


class Products:
    """The columns, with products of two or three of them appended."""

    def __init__(self, fields: Fields, width: int):
        self.factors = []
        for size in (2, 3):
            if fields.has(f"of_{size}"):
                self.factors.append(
                    fields.integers(f"of_{size}", None, size, low=0, high=width - 1)
                )
        self.width = width + sum(map(len, self.factors))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        made = np.empty((len(X), self.width))
        made[:, : X.shape[1]] = X
        place = X.shape[1]
        for factors in self.factors:
            for start in range(0, len(factors), 100):  # all at once would take three copies
                some = factors[start : start + 100].T
                product = X[:, some[0]]
                for column in some[1:]:
                    product = X[:, column] * product
                made[:, place : place + some.shape[1]] = product
                place += some.shape[1]
        return made


class KernelProjection:
    """Values of a kernel, centred if there are means, times a matrix."""

    def __init__(self, fields: Fields, width: int):
        self.kernel = Kernel(fields, width)
        rows = len(self.kernel.rows)
        self.means = fields.array("means", rows) if fields.has("means") else None
        self.mean = fields.number("mean") if self.means is not None else 0.0
        self.matrix = fields.array("matrix", rows, None)
        self.entries = 2 * rows
        self.width = self.matrix.shape[1]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        K = self.kernel(X)
        if self.means is not None:
            own = (K.sum(axis=1) / len(self.means))[:, None]
            K -= self.means
            K -= own
            K += self.mean
        return K @ self.matrix


class Waves:
    """Random Fourier features: factor * cos(X @ weights + offset)."""

    def __init__(self, fields: Fields, width: int):
        self.weights = fields.array("weights", width, None)
        self.width = self.weights.shape[1]
        self.offset = fields.array("offset", self.width)
        self.factor = fields.number("factor")

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.cos(X @ self.weights + self.offset) * self.factor


class Groups:
    """The mean, median or maximum of groups of columns."""

    def __init__(self, fields: Fields, width: int):
        self.pool = fields.choice("pool", ("mean", "median", "max"))
        self.labels = fields.integers("labels", width, low=0, high=width - 1)
        self.width = int(self.labels.max()) + 1
        self.sizes = np.bincount(self.labels, minlength=self.width)
        if not self.sizes.all():
            raise ValueError(f"'{fields.name}' has groups without columns")
        self.order = np.argsort(self.labels, kind="stable")

    def __call__(self, X: np.ndarray) -> np.ndarray:
        if self.pool == "mean":
            made = np.zeros((len(X), self.width))
            for column, label in enumerate(self.labels.tolist()):
                made[:, label] += X[:, column]
            return made / self.sizes
        pool: Any = {"median": np.median, "max": np.max}[self.pool]
        made = np.empty((len(X), self.width))
        for group, columns in enumerate(np.split(self.order, np.cumsum(self.sizes)[:-1])):
            made[:, group] = pool(X[:, columns], axis=1)
        return made


class Leaves:
    """The leaves that rows reach, one-hot encoded: one column per leaf."""

    def __init__(self, fields: Fields, width: int):
        self.trees = Trees(fields, width, 0)
        self.width, self.entries = len(self.trees.value), self.trees.n
        self.columns = fields.integers("columns", self.width, low=0, high=self.width - 1)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        made = np.zeros((len(X), self.width))
        for leaves in self.trees.leaves(X):
            made[np.arange(len(X)), self.columns[leaves]] = 1
        return made


def _positive(scale: np.ndarray) -> np.ndarray:
    if not scale.min() > 0:
        raise ValueError("a scale is not above 0")
    return scale


def _increasing(values: np.ndarray) -> np.ndarray:
    if not (np.diff(values, axis=0) >= 0).all():
        raise ValueError("quantiles do not increase")
    return values


TRANSFORMERS: Mapping[str, Callable[[Fields, int], Any]] = {
    "columns": Columns,
    "scale": Scale,
    "stretch": Stretch,
    "unit": Unit,
    "threshold": Threshold,
    "positive": Positive,
    "quantiles": Quantiles,
    "projection": Projection,
    "products": Products,
    "kernel": KernelProjection,
    "waves": Waves,
    "groups": Groups,
    "leaves": Leaves,
}
