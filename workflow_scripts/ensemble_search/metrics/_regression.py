"""Further losses of regressions."""

import numpy as np

from ensemble_search.metrics.base import MeanLoss, Metric
from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.runtime.names import REGRESSION

QUANTILE = 0.9


class AbsoluteError(MeanLoss):
    """Mean absolute error, in standard deviations of the training rows' labels."""

    title = "absolute error"
    power = 1
    task = REGRESSION

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`."""
        return np.abs(predictions[:, 0] - labels)


class Rmse(Metric):
    """Root mean squared error, in standard deviations of the training rows' labels."""

    title = "RMSE"
    power = 1
    task = REGRESSION

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`."""
        return float(np.sqrt(SQUARED_ERROR.loss(labels, predictions, weights)))


class R2(Metric):
    """1 - R²: the squared error as a share of the variance of these samples' own labels.

    If all labels are the same, it is 0 for predictions that equal them, else 1, as in scikit-learn.
    """

    title = "1 - R²"
    task = REGRESSION

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`."""
        if labels.min() == labels.max():  # whose variance is not 0 after rounding
            return float((predictions[:, 0] != labels.astype(predictions.dtype)).any())
        error = SQUARED_ERROR.loss(labels, predictions, weights)
        variance = np.average((labels - np.average(labels, weights=weights)) ** 2, weights=weights)
        return float(error / variance) if variance > 0 else float(error > 0)


class Pinball90(MeanLoss):
    """Mean pinball loss of the 90 % quantile, in standard deviations of the training rows' labels.

    A value below the label costs nine times as much as one above it (Koenker and Bassett,
    Econometrica 1978). Pipelines are fitted as for other metrics; this loss only selects among
    them.
    """

    title = "pinball loss of the 90 % quantile"
    power = 1
    task = REGRESSION

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`."""
        gaps = labels - predictions[:, 0]
        return np.maximum(QUANTILE * gaps, (QUANTILE - 1) * gaps)


class Pinball10(Pinball90):
    """Mean pinball loss of the 10 % quantile, in standard deviations of the training rows' labels.

    A value above the label costs nine times as much as one below it (Koenker and Bassett,
    Econometrica 1978). Pipelines are fitted as for other metrics; this loss only selects among
    them.
    """

    title = "pinball loss of the 10 % quantile"

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`; the 10 % quantile is the 90 % quantile upside down."""
        return super().losses(-labels, -predictions)
