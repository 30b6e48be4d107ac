"""Base of the metrics: losses that searches and ensembles minimise."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ensemble_search.runtime.names import CLASSIFICATION

TIE = 1e-13
"""Mean probabilities closer than this are tied, because weights such as 1/25 are not exact.

With up to 1000 equal weights, other means differ by ``RESOLUTION`` / 1000 or more (see
``problems.combination``).
"""


#: Weights of samples that all count equally.
UNWEIGHTED = np.empty(0)


class Metric(ABC):
    """Base of the metrics, which are losses: the lower, the better.

    A metric lives in ``metrics/<name>.py``. It takes predictions as stored, of shape (n_samples,
    n_columns). In classification, a single column is the probability of class 1; more columns are
    the probabilities of all classes. In regression, the column is the predicted value; values and
    labels are standardised (``data.prepare``).
    """

    #: Name in tables and figures.
    title: ClassVar[str]
    #: Whether the loss is a share, shown in percent.
    percent: ClassVar[bool] = False
    #: Highest loss or, if unbounded, a useless model's loss: the loss of a search without a model.
    worst: ClassVar[float] = 1.0
    #: In regression: the unit of the loss is the target's unit to this power.
    power: ClassVar[int] = 0
    #: ``classification`` or ``regression``; it decides the task of a study.
    task: ClassVar[str] = CLASSIFICATION
    #: Sample weights; empty if all samples count equally. See :meth:`with_weights`.
    weights: np.ndarray = UNWEIGHTED

    @abstractmethod
    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """Return the loss of predictions, a finite number of 0 or more.

        Parameters
        ----------
        labels
            Of shape (n_samples,): class codes, or numbers in regression.
        predictions
            Of shape (n_samples, n_columns).
        weights
            Sample weights, above 0, of shape (n_samples,). Default: equal weights.
        """

    def with_weights(self, weights: np.ndarray) -> "Metric":
        """Return the metric with these sample weights; the metric itself if they are empty."""
        return _Weighted(self, weights) if weights.size else self

    def on(self, rows: np.ndarray) -> "Metric":
        """Return the metric for a subset of the samples, given by position."""
        return self

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray | None:
        """Return the loss of each sample, of shape (n_samples,), if :meth:`loss` is their mean.

        Return None (the default) if it is not.
        """
        return None


class _Weighted(Metric):
    """A metric with fixed sample weights."""

    def __init__(self, metric: Metric, weights: np.ndarray):
        self.metric, self.weights = metric, weights
        for name in ("title", "percent", "worst", "power", "task"):
            setattr(self, name, getattr(metric, name))

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`; labels and predictions are those of all samples."""
        return self.metric.loss(labels, predictions, self.weights)

    def with_weights(self, weights: np.ndarray) -> Metric:
        """See :meth:`Metric.with_weights`; the new weights replace the current ones."""
        return self.metric.with_weights(weights)

    def on(self, rows: np.ndarray) -> Metric:
        """See :meth:`Metric.on`."""
        return self.with_weights(self.weights[rows])

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray | None:
        """See :meth:`Metric.losses`; each loss is multiplied by its weight over the mean weight."""
        found = self.metric.losses(labels, predictions)
        return None if found is None else found * (self.weights / self.weights.mean())


class MeanLoss(Metric):
    """Base of metrics that are means of the samples' losses."""

    @abstractmethod
    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`."""

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`."""
        losses = self.losses(labels, predictions)
        return float(np.mean(losses) if weights is None else np.average(losses, weights=weights))


class SquaredDistance(MeanLoss):
    """Base of metrics that are squared distances, for which selection is faster."""

    @abstractmethod
    def targets(self, labels: np.ndarray, n_columns: int) -> tuple[np.ndarray, float]:
        """Return the perfect predictions and a factor: the loss of a sample is the factor times
        the squared distance of its prediction to the perfect one.

        Returns
        -------
        targets
            Float, of shape (n_samples, n_columns).
        factor
            Positive.
        """

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`."""
        targets, factor = self.targets(labels, predictions.shape[1])
        return factor * ((predictions - targets) ** 2).sum(axis=1)


def predicted_labels(predictions: np.ndarray) -> np.ndarray:
    """Return the most probable classes; ties (:data:`TIE`) go to the first.

    Parameters
    ----------
    predictions
        Class probabilities, of shape (n_samples, n_columns) as in :class:`Metric`.

    Returns
    -------
    labels
        Int, of shape (n_samples,).
    """
    if predictions.shape[1] == 1:
        return (predictions[:, 0] > 0.5 + TIE).astype(int)
    return (predictions >= predictions.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
