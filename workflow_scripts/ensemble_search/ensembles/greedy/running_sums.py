"""Running sums of predictions, and the loss with one more model, for all models at once.

Errors are counted fast and exactly: a label that no model of the pool can change is counted once
for all models, and only the other samples are compared model by model. As counts are integers and
sums are exact (``problems.combination.rounded``), ties depend neither on rounding nor on the order
of the models, and the errors are those of ``metrics.base.predicted_labels``.

For other metrics, the loss of every such ensemble's mean is computed, of squared distances for many
models at once, and rounded to a float32, as its last bits depend on the processor.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ensemble_search.metrics.base import Metric, SquaredDistance
from ensemble_search.metrics.error import ERROR, Error
from ensemble_search.problems.combination import RESOLUTION, rounded

BLOCK = 2**15
"""Predictions, of rows by models, that are compared at a time."""


def make_sums(
    predictions: np.ndarray, labels: np.ndarray, metric: Metric = ERROR
) -> "TwoClasses | ManyClasses | SquaredDistances | Losses":
    """Choose how sums and losses are computed.

    Parameters
    ----------
    predictions
        Without NaN, of shape (n, n_samples, n_columns); of two columns, the second is used.
    labels
        Of shape (n_samples,), as the metric takes them.
    metric
        Loss to minimise.
    """
    if predictions.shape[2] == 2:
        predictions = predictions[:, :, 1:]
    if isinstance(metric, SquaredDistance):
        return SquaredDistances(predictions, labels, metric)
    if not isinstance(metric, Error):
        return Losses(predictions, labels, metric)
    if predictions.shape[2] > 2:
        return ManyClasses(predictions, labels)
    return TwoClasses(predictions[:, :, 0], labels)


def right_probabilities(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return each model's probability of the true label.

    Parameters
    ----------
    predictions, labels
        See :func:`make_sums`.

    Returns
    -------
    right
        Float64, of shape (n, n_samples), multiples of ``combination.RESOLUTION``.
    """
    if predictions.shape[2] > 2:
        return rounded(predictions[:, np.arange(len(labels)), labels]).astype(float)
    ones = rounded(predictions[:, :, -1]).astype(float)
    return np.where(np.asarray(labels) == 1, ones, 1 - ones)


class _Counts:
    """Losses are counts of wrong labels."""

    def losses(self, found: np.ndarray) -> np.ndarray:
        """Turn what :meth:`scorer`'s functions found into losses."""
        return found / len(self.labels)


class TwoClasses(_Counts):
    """Sums and errors of two classes from the probability of class 1, of shape (n, n_samples)."""

    def __init__(self, predictions: np.ndarray, labels: np.ndarray):
        self.by_sample = np.ascontiguousarray(rounded(predictions.T))
        self.low, self.high = self.by_sample.min(axis=1), self.by_sample.max(axis=1)
        self.labels = np.asarray(labels)
        self.is_one = self.labels == 1
        self.zero = np.zeros(len(labels))

    def models(self, start: int, stop: int) -> np.ndarray:
        """Return consecutive models, as :meth:`scorer`'s functions take them."""
        return self.by_sample[:, start:stop]

    def add(self, sums: np.ndarray, winner: int) -> np.ndarray:
        """Return the sums with one more model."""
        return sums + self.by_sample[:, winner]

    def scorer(self, sums: np.ndarray, number: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function from models to their errors in round ``number`` (from 1).

        A label is 1 if sums + p > number / 2, that is, if p exceeds a limit; for a float32 p, this
        is the same as exceeding the largest float32 not above the limit.
        """
        exact = number / 2 - sums  # without rounding, as the sums are
        limit = exact.astype(np.float32)
        limit = np.where(limit > exact, np.nextafter(limit, np.float32(-np.inf)), limit)
        always_one = limit < self.low
        is_open = ~always_one & (limit < self.high)
        settled = np.count_nonzero((always_one != self.is_one) & ~is_open)
        rows = np.flatnonzero(is_open)
        limit, is_one = limit[rows, None], self.is_one[rows, None]

        def count(models: np.ndarray) -> np.ndarray:
            found = np.full(models.shape[1], settled)
            for part in _blocks(rows, models.shape[1]):
                found += _column_counts((models[rows[part]] > limit[part]) != is_one[part])
            return found

        return count


class ManyClasses(_Counts):
    """Sums and errors of three or more classes from predictions of shape (n, n_samples, C).

    Only classes that some model makes win against the label are compared, sample by sample. A tie
    is won by the class that comes first: the sums of classes before a sample's label begin with
    half of ``combination.RESOLUTION``, which is less than any other difference.
    """

    def __init__(self, predictions: np.ndarray, labels: np.ndarray):
        self.labels = np.asarray(labels)
        self.by_class = rounded(np.ascontiguousarray(predictions.transpose(2, 1, 0)))
        self.low, self.high = (
            np.ascontiguousarray(rounded(bound(axis=0)).T)
            for bound in (predictions.min, predictions.max)
        )
        first = np.arange(predictions.shape[2])[:, None] < self.labels
        self.zero = np.where(first, RESOLUTION / 2, 0)

    def models(self, start: int, stop: int) -> np.ndarray:
        """Return consecutive models, as :meth:`scorer`'s functions take them."""
        return self.by_class[:, :, start:stop]

    def add(self, sums: np.ndarray, winner: int) -> np.ndarray:
        """Return the sums with one more model."""
        return sums + self.by_class[:, :, winner]

    def scorer(self, sums: np.ndarray, number: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function from models to their errors in a round; ``number`` has no effect."""
        samples = np.arange(len(self.labels))
        low, high = sums + self.low, sums + self.high
        right_low, right_high = low[self.labels, samples], high[self.labels, samples]
        low[self.labels, samples] = high[self.labels, samples] = -np.inf  # only the others
        always_wrong = low.max(axis=0) > right_high
        rows = np.flatnonzero(~always_wrong & (high.max(axis=0) > right_low))
        settled = np.count_nonzero(always_wrong)
        can_win = high[:, rows] > right_low[rows]
        labels, sums = self.labels[rows], sums[:, rows, None]
        right_sums = sums[labels, np.arange(len(rows))]

        def count(models: np.ndarray) -> np.ndarray:
            found = np.full(models.shape[2], settled)
            for part in _blocks(rows, models.shape[2]):
                here = rows[part]
                right = right_sums[part] + models[labels[part], here]
                wrong = np.zeros(right.shape, dtype=bool)
                for k, rivals in enumerate(can_win[:, part]):
                    few = 2 * np.count_nonzero(rivals) < len(rivals)
                    places = np.flatnonzero(rivals) if few else slice(None)
                    total = models[k, here[places]] + sums[k, part][places]
                    wrong[places] |= total > right[places]
                found += _column_counts(wrong)
            return found

        return count


class Losses:
    """Sums and losses by any metric, from predictions of shape (n, n_samples, n_columns)."""

    def __init__(self, predictions: np.ndarray, labels: np.ndarray, metric: Metric):
        self.predictions = rounded(predictions)
        self.labels, self.metric = np.asarray(labels), metric
        self.zero = np.zeros(self.predictions.shape[1:])

    def models(self, start: int, stop: int) -> np.ndarray:
        """Return consecutive models, as :meth:`scorer`'s functions take them."""
        return self.predictions[start:stop]

    def add(self, sums: np.ndarray, winner: int) -> np.ndarray:
        """Return the sums with one more model."""
        return sums + self.predictions[winner]

    def scorer(self, sums: np.ndarray, number: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function from models to their losses in round ``number`` (from 1)."""

        def losses(models: np.ndarray) -> np.ndarray:
            found = [self.metric.loss(self.labels, (sums + model) / number) for model in models]
            return np.array(found, dtype=np.float32)

        return losses

    def losses(self, found: np.ndarray) -> np.ndarray:
        """Return what :meth:`scorer`'s functions found as losses."""
        return found.astype(float)


class SquaredDistances(Losses):
    """Sums and losses by a metric that is a squared distance."""

    def scorer(self, sums: np.ndarray, number: int) -> Callable[[np.ndarray], np.ndarray]:
        """See :meth:`Losses.scorer`."""
        targets, factor = self.metric.targets(self.labels, sums.shape[1])
        rest = sums - number * targets
        factor /= number**2 * len(self.labels)

        def losses(models: np.ndarray) -> np.ndarray:
            found = np.empty(len(models), dtype=np.float32)
            for part in _blocks(models, rest.size):
                distances = models[part] + rest
                found[part] = factor * np.einsum("nrc,nrc->n", distances, distances)
            return found

        return losses


def _blocks(items: np.ndarray, each: int) -> Iterator[slice]:
    """Yield slices of items with ``each`` numbers, so short that these stay in the cache."""
    size = max(BLOCK // each, 1)
    for start in range(0, len(items), size):
        yield slice(start, start + size)


def _column_counts(wrong: np.ndarray) -> np.ndarray:
    """Count the true values in every column of a block; uint16, much faster than int64."""
    return wrong.sum(axis=0, dtype=np.uint16)
