"""Counts of wrong labels with one more model.

Labels that no model of the pool can change are counted once for all models; only the other samples
are compared model by model. Counts are those of ``metrics.base.predicted_labels``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ensemble_search.ensembles.greedy.running_sums import RunningSums, Scorer
from ensemble_search.problems.combination import RESOLUTION, rounded

BLOCK = 2**17
"""Predictions (rows times models) compared at a time."""
STAGED = 2**19
"""Predictions reordered at a time."""
NEAR = 2.0**-22
"""More than the rounding error of three float32 sums of numbers up to 1."""


class _Counts(RunningSums):
    """Losses are counts of wrong labels.

    Attributes
    ----------
    ordered
        Predictions with models on the last axis and samples on the second to last.
    """

    labels: np.ndarray
    ordered: np.ndarray
    _last: tuple[range, np.ndarray] = (range(0), np.empty(0))

    def models(self, models: range) -> np.ndarray:
        """Return reordered predictions; a single model's are cached for its next rounds."""
        if models != self._last[0]:
            found = self.ordered[..., models.start : models.stop]
            if len(models) > 1:
                return found
            self._last = models, found.copy()
        return self._last[1]

    def losses(self, found: np.ndarray) -> np.ndarray:
        """See :meth:`RunningSums.losses`."""
        return found / len(self.labels)


class TwoClasses(_Counts):
    """Counts for two classes, from the probability of class 1, of shape (n_samples, 1) each.

    If the label is 1, the probability is negated. A label is thus wrong if the sum is above half
    the number of models or, if the label is 1, not below minus that.
    """

    def __init__(self, predictions: Sequence[np.ndarray], labels: np.ndarray):
        self.labels = np.asarray(labels)
        self.is_one = self.labels == 1
        self.sign = np.where(self.is_one, -1, 1).astype(np.float32)
        self.predictions = predictions
        self.ordered = np.empty((len(labels), len(predictions)), dtype=np.float32)
        self.low, self.high = np.empty((2, len(labels)))
        for rows in _blocks(len(labels), len(predictions), STAGED):
            some = rounded(np.stack([model[rows, 0] for model in predictions])) * self.sign[rows]
            self.low[rows], self.high[rows] = some.min(axis=0), some.max(axis=0)
            self.ordered[rows] = some.T
        self.zero = np.zeros(len(labels))

    def add(self, sums: np.ndarray, winner: int) -> np.ndarray:
        """See :meth:`RunningSums.add`."""
        return sums + rounded(self.predictions[winner][:, 0]) * self.sign

    def scorer(self, sums: np.ndarray, number: int) -> "_TwoClassCounts":
        """See :meth:`RunningSums.scorer`.

        "Not below" a limit is "above" the limit minus half the resolution. A float32 exceeds a
        limit if it exceeds the largest float32 not above the limit.
        """
        exact = np.where(self.is_one, -number / 2 - RESOLUTION / 2, number / 2) - sums
        wrong = exact < self.low
        rows = np.flatnonzero((exact < self.high) & ~wrong)
        exact = exact[rows]
        limit = exact.astype(np.float32)
        limit = np.where(limit > exact, np.nextafter(limit, np.float32(-np.inf)), limit)
        return _TwoClassCounts(self, limit[:, None], rows, int(np.count_nonzero(wrong)))


@dataclass
class _TwoClassCounts(Scorer):
    """The limits in the rows that a model can change, and the number of wrong labels in others."""

    candidates: TwoClasses
    limit: np.ndarray
    rows: np.ndarray
    settled: int

    def losses(self, models: range) -> np.ndarray:
        """See :meth:`Scorer.losses`."""
        by_sample = self.candidates.models(models)
        if len(models) == 1:  # takes most of the time while a pool grows
            wrong = by_sample[:, 0][self.rows] > self.limit[:, 0]
            return np.array([self.settled + np.count_nonzero(wrong)])
        found = np.full(len(models), self.settled)
        for part in _blocks(len(self.rows), len(models)):
            found += _column_counts(by_sample[self.rows[part]] > self.limit[part])
        return found


class ManyClasses(_Counts):
    """Counts for three or more classes, from predictions of shape (n_samples, C) each.

    Per sample, only classes that can beat the label with some model are compared. The first class
    wins ties: the sums of classes before a sample's label start at half of
    ``combination.RESOLUTION``, which is less than any other difference.
    """

    def __init__(self, predictions: Sequence[np.ndarray], labels: np.ndarray):
        self.labels = np.asarray(labels)
        n, (samples, classes) = len(predictions), predictions[0].shape
        self.ordered = np.empty((classes, samples, n), dtype=np.float32)
        self.low, self.high = np.empty((2, classes, samples), dtype=np.float32)
        for rows in _blocks(samples, n * classes, STAGED):
            some = rounded(np.stack([model[rows] for model in predictions]))
            self.low[:, rows], self.high[:, rows] = some.min(axis=0).T, some.max(axis=0).T
            self.ordered[:, rows] = some.transpose(2, 1, 0)
        first = np.arange(classes)[:, None] < self.labels
        self.zero = np.where(first, RESOLUTION / 2, 0)

    def add(self, sums: np.ndarray, winner: int) -> np.ndarray:
        """See :meth:`RunningSums.add`."""
        return sums + self.ordered[:, :, winner]

    def scorer(self, sums: np.ndarray, number: int) -> "_ManyClassCounts":
        """See :meth:`RunningSums.scorer`."""
        samples = np.arange(len(self.labels))
        low, high = sums + self.low, sums + self.high
        right_low, right_high = low[self.labels, samples], high[self.labels, samples]
        low[self.labels, samples] = high[self.labels, samples] = -np.inf  # compare only the others
        always_wrong = low.max(axis=0) > right_high
        rows = np.flatnonzero(~always_wrong & (high.max(axis=0) > right_low))
        can_win = high[:, rows] > right_low[rows]
        own = sums[self.labels[rows], rows]
        leads = np.where(can_win, sums[:, rows] - own, -np.inf)
        settled = int(np.count_nonzero(always_wrong))
        return _ManyClassCounts(self, leads, rows, settled, (number + 1) * NEAR)


@dataclass
class _ManyClassCounts(Scorer):
    """The rows that a model can change, the other classes' leads there, and other wrong labels.

    A label is wrong if another class's lead plus probability exceeds the label's probability. This
    is computed in float32, with errors below ``near``; rows with smaller differences are recomputed
    in float64.
    """

    candidates: ManyClasses
    leads: np.ndarray
    rows: np.ndarray
    settled: int
    near: float

    def losses(self, models: range) -> np.ndarray:
        """See :meth:`Scorer.losses`."""
        by_class = self.candidates.models(models)
        labels = self.candidates.labels[self.rows]
        estimates = self.leads.astype(np.float32)
        found = np.full(len(models), self.settled)
        for part in _blocks(len(self.rows), len(models)):
            here, own = self.rows[part], labels[part]
            right = by_class[own, here]
            most = _most(by_class, here, estimates[:, part])
            most -= right
            wrong = most > 0
            unsure = (np.abs(most, out=most) <= self.near).any(axis=1)
            if unsure.any():
                exact = _most(by_class, here[unsure], self.leads[:, part][:, unsure])
                wrong[unsure] = exact > right[unsure]
            found += _column_counts(wrong)
        return found


def _most(by_class: np.ndarray, rows: np.ndarray, leads: np.ndarray) -> np.ndarray:
    """Return the largest lead plus probability over the classes, with the leads' dtype."""
    found = np.full((len(rows), by_class.shape[2]), -np.inf, dtype=leads.dtype)
    total = np.empty_like(found)
    for own, lead in zip(by_class, leads, strict=True):
        places = np.flatnonzero(lead > -np.inf)
        if 2 * len(places) < len(lead):
            part = own[rows[places]] + lead[places, None]
            found[places] = np.maximum(found[places], part)
        else:
            if total.dtype == own.dtype:
                np.take(own, rows, axis=0, out=total, mode="clip")  # faster; all indices are valid
            else:
                total[:] = own[rows]
            total += lead[:, None]
            np.maximum(found, total, out=found)
    return found


def _blocks(rows: int, each: int, numbers: int | None = None) -> Iterator[slice]:
    """Yield slices of rows with ``each`` numbers per row, short enough for the CPU cache.

    ``numbers`` is the most per slice, by default :data:`BLOCK`.
    """
    size = max((numbers or BLOCK) // each, 1)
    for start in range(0, rows, size):
        yield slice(start, start + size)


def _column_counts(wrong: np.ndarray) -> np.ndarray:
    """Count the true values per column of a block, in the smallest dtype, which is much faster."""
    return wrong.view(np.uint8).sum(axis=0, dtype=np.min_scalar_type(len(wrong)))
