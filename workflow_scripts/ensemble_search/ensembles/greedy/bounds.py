"""Losses with one more model, from float32 estimates with proven error bounds.

A loss is computed exactly (in float64 by the metric, then rounded to float32) only if its lower
bound does not exceed the lowest exact loss so far. The chosen models and ties are therefore those
of the exact losses. Bounds hold for sums in any order: a sum of m numbers with rounding errors of
2^-24 each errs by up to (m + 1) 2^-24 of the sum of absolute values (Higham, "Accuracy and
stability of numerical algorithms", 2002, chapter 3). All bounds have a safety margin.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ensemble_search.ensembles.greedy.running_sums import Losses, Scorer
from ensemble_search.metrics.base import SquaredDistance
from ensemble_search.metrics.log_loss import LOWEST, LogLoss
from ensemble_search.problems.combination import RESOLUTION, rounded

ROUNDING = 2.0**-24
"""Relative rounding error of a float32."""
BLOCK = 2**16
"""Numbers processed at a time, few enough to stay in the CPU cache."""
TERMS = 512
"""Number of products of a Gram matrix that are summed in float32."""
STAGED = 2**20
"""Differences of all models that are held in memory at a time."""
FACTORS = (5, 8)
"""Numbers of mean probabilities multiplied in float32, and of these products multiplied in float64,
before taking the logarithm. Products of clipped probabilities, 2^-23 each, do not underflow."""


class _Bounded(Scorer):
    """Losses with lower bounds."""

    @abstractmethod
    def lower(self, models: range) -> np.ndarray:
        """Return a lower bound of each loss, of shape (len(models),)."""

    @abstractmethod
    def loss(self, model: int) -> np.float32:
        """Return the exact loss with a model."""

    def losses(self, models: range) -> np.ndarray:
        """See :meth:`Scorer.losses`."""
        return np.array([self.loss(model) for model in models], dtype=np.float32)

    def lowest(
        self, models: range, limit: float = np.inf, without: Collection[int] = ()
    ) -> tuple[float, np.ndarray]:
        """See :meth:`Scorer.lowest`."""
        return self._lowest(self.lower(models), models, limit, without)

    def _lowest(
        self, lower: np.ndarray, models: range, limit: float, without: Collection[int]
    ) -> tuple[float, np.ndarray]:
        """Compute the losses whose lower bounds do not exceed the lowest so far."""
        best, tied = limit, list[int]()
        for place in np.argsort(lower).tolist():
            if lower[place] > best:
                break
            model = models[place]
            if model in without:
                continue
            loss = float(self.loss(model))
            if loss < best:
                best, tied = loss, []
            if loss == best:
                tied.append(model)
        return best, np.array(sorted(tied), dtype=int)


class LogLosses(Losses):
    """Log losses, which depend only on the true labels' probabilities.

    With three or more classes, only these are summed; with two, the probabilities of class 1.
    """

    metric: LogLoss

    def __init__(self, predictions: Sequence[np.ndarray], labels: np.ndarray, metric: LogLoss):
        if predictions[0].shape[1] > 1:
            places = np.arange(len(labels)), labels
            predictions = _Each(lambda model: model[places][:, None], predictions)
            labels = np.ones(len(labels), dtype=int)
        super().__init__(_Each(rounded, predictions), labels, metric)
        self.is_one = self.labels == 1
        each = int(np.prod(FACTORS))
        #: True labels' probabilities, zero-padded, of shape (n, at least n_samples).
        self.right = np.zeros((len(predictions), -(-len(labels) // each) * each), np.float32)
        other = (~self.is_one).astype(np.float32)
        for right, model in zip(self.right[:, : len(labels)], self.predictions, strict=True):
            np.abs(np.subtract(model[:, 0], other, out=right, casting="same_kind"), out=right)
        #: Their means over the models, of shape (n_samples,).
        self.mean = self.right[:, : len(labels)].mean(axis=0, dtype=float)

    def scorer(self, sums: np.ndarray, number: int) -> "_LogLossBounds":
        """See :meth:`Losses.scorer`."""
        right = np.ones(self.right.shape[1], dtype=np.float32)  # padding has logarithm 0
        ones = sums[:, 0]
        right[: len(ones)] = np.where(self.is_one, ones, number - 1 - ones)
        return _LogLossBounds(self, sums, number, right)


class _Each(Sequence):
    """A function of each model's predictions, computed on demand."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], models: Sequence[np.ndarray]):
        self.function, self.models = function, models

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, model: Any) -> Any:
        return self.function(self.models[model])


@dataclass
class _LogLossBounds(_Bounded):
    """Bounds from tangents of the logarithm, then from products for the models that remain.

    For any w > 0, -log x >= log w + 1 - w x. This bound is linear in the probabilities, so one
    matrix-vector product bounds all models. The sum of logarithms is the logarithm of the product.
    A sum of probabilities errs by 2 x 2^-24, and a product of five by 14 x 2^-24 relative to
    itself, less than 2^-22 per probability.
    """

    candidates: LogLosses
    sums: np.ndarray
    number: int
    right: np.ndarray

    def lowest(
        self, models: range, limit: float = np.inf, without: Collection[int] = ()
    ) -> tuple[float, np.ndarray]:
        """See :meth:`Scorer.lowest`."""
        lower = self.tangents(models)
        lower[[model - models.start for model in without]] = np.inf
        limits = limit
        if len(models) > 1:
            limits = min(limit, float(self.loss(models[int(lower.argmin())])))
        near = np.flatnonzero(lower <= limits)
        lower[near] = self.lower(models.start + near)
        return self._lowest(lower, models, limit, without)

    def tangents(self, models: range) -> np.ndarray:
        """Return lower bounds from tangents at the mean of all models' probabilities.

        A slope of at most 1 / (e x the lowest sum) also bounds the loss of clipped probabilities.
        """
        own, n = self.candidates, len(self.sums)
        rights = own.right[models.start : models.stop]
        base = self.right[:n].astype(float)
        steepest = 1 / (np.e * self.number * LOWEST)
        slopes = np.minimum(1 / np.maximum(base + own.mean, 1 / steepest), steepest)
        slopes = slopes.astype(np.float32)
        exact = slopes.astype(float)
        linear, mean = np.zeros(len(rights)), np.mean(exact)
        for columns in _parts(n, TERMS):
            linear += rights[:, columns] @ slopes[columns]
        found = np.log(self.number) + np.mean(np.log(exact) - exact * base) + 1 - linear / n
        # Errors of the sums of products, the float32 probabilities, and the slope's rounding.
        found -= (TERMS + 4) * ROUNDING * linear / n + 4 * ROUNDING * (1 + mean * self.number)
        return found * (1 - 2 * ROUNDING) - 4 * ROUNDING

    def lower(self, models: np.ndarray | range) -> np.ndarray:
        """See :meth:`_Bounded.lower`."""
        rights, n = self.candidates.right, len(self.sums)
        found, models = np.zeros(len(models)), np.asarray(models)
        for columns in _parts(rights.shape[1], BLOCK, int(np.prod(FACTORS))):
            base = self.right[columns]
            for part in _parts(len(models), max(BLOCK // len(base), 1)):
                means = np.maximum(
                    rights[models[part], columns] + base, np.float32(self.number * LOWEST)
                )
                products = np.multiply.reduce(_split(means, FACTORS[0]), axis=1)
                products = np.multiply.reduce(_split(products.astype(float), FACTORS[1]), axis=1)
                found[part] -= np.log(products).sum(axis=1)
        losses = np.log(self.number) + found / n
        return losses * (1 - 2 * ROUNDING) - 4 * ROUNDING

    def loss(self, model: int) -> np.float32:
        """See :meth:`_Bounded.loss`."""
        return self.candidates.loss(self.sums, self.number, model)


class _Distances(NamedTuple):
    """Sums of predictions, of the selected models' Gram matrix rows, and of their norms."""

    sums: np.ndarray
    products: np.ndarray
    norms: float


class SquaredDistances(Losses):
    """Squared distances from the Gram matrix of the models' differences from the targets."""

    metric: SquaredDistance

    def __init__(
        self, predictions: Sequence[np.ndarray], labels: np.ndarray, metric: SquaredDistance
    ):
        super().__init__(_Each(rounded, predictions), labels, metric)
        self.targets, self.factor = metric.targets(self.labels, self.zero.shape[1])
        self.gram = gram(predictions, self.targets)
        self.norms = np.sqrt(self.gram.diagonal())
        self.zero = _Distances(self.zero, np.zeros(len(predictions)), 0.0)

    def add(self, sums: Any, winner: int) -> _Distances:
        """See :meth:`Losses.add`."""
        return _Distances(
            super().add(sums.sums, winner),
            sums.products + self.gram[winner],
            sums.norms + self.norms[winner],
        )

    def scorer(self, sums: Any, number: int) -> "_DistanceBounds":
        """See :meth:`Losses.scorer`."""
        rest = sums.sums - (number - 1) * self.targets
        return _DistanceBounds(self, sums, number, float(np.vdot(rest, rest)))


@dataclass
class _DistanceBounds(_Bounded):
    """|a + b|^2 = |a|^2 + 2 ab + |b|^2, where a is the sum of the selected models' differences."""

    candidates: SquaredDistances
    sums: _Distances
    number: int
    before: float

    def lower(self, models: range) -> np.ndarray:
        """See :meth:`_Bounded.lower`."""
        own, part = self.candidates, slice(models.start, models.stop)
        norms = own.norms[part]
        found = self.before + 2 * self.sums.products[part] + norms**2
        found -= 1.1 * (TERMS + 4) * ROUNDING * norms * (2 * self.sums.norms + norms)
        # The Gram matrix uses the unrounded predictions.
        size = self.sums.sums.size
        found = np.sqrt(np.maximum(found, 0)) - self.number * RESOLUTION * np.sqrt(size)
        # Float64 sums err by less than the rounding of a float32.
        lower = np.maximum(found, 0) ** 2 * (1 - 4 * ROUNDING)
        return lower * own.factor / (self.number**2 * len(own.labels))

    def loss(self, model: int) -> np.float32:
        """See :meth:`_Bounded.loss`."""
        own, number = self.candidates, self.number
        distances = own.predictions[model] + (self.sums.sums - number * own.targets)
        factor = own.factor / (number**2 * len(own.labels))
        return np.float32(factor * np.einsum("rc,rc->", distances, distances))


def gram(predictions: Sequence[np.ndarray], targets: np.ndarray) -> np.ndarray:
    """Return the inner products of the models' differences from the targets.

    Parameters
    ----------
    predictions
        Predictions of each model, of the shape of the targets.

    Returns
    -------
    products
        Float64, of shape (n, n). They err by up to (:data:`TERMS` + 4) :data:`ROUNDING` times the
        product of the norms.
    """
    n, columns = len(predictions), targets.shape[1]
    products = np.zeros((n, n))
    if (targets == targets.astype(np.float32)).all():
        targets = targets.astype(np.float32)  # same differences, but faster
    for rows in _parts(len(targets), max(STAGED // (n * columns), 1)):
        target = targets[rows]
        differences = np.empty((n, *target.shape), dtype=np.float32)
        for model, difference in zip(predictions, differences, strict=True):
            np.subtract(model[rows], target, out=difference, casting="same_kind")
        differences = differences.reshape(n, -1)
        for terms in _parts(differences.shape[1], TERMS):
            block = differences[:, terms]
            products += block @ block.T
    return products


def _split(numbers: np.ndarray, parts: int) -> np.ndarray:
    """Split rows into parts that are multiplied elementwise."""
    return numbers.reshape(len(numbers), parts, -1)


def _parts(n: int, size: int, multiple: int = 1) -> Iterator[slice]:
    """Yield slices of n items of about ``size`` each, a multiple of ``multiple``."""
    size = max(size // multiple, 1) * multiple
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
