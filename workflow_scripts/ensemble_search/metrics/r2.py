"""Coefficient of determination."""

import numpy as np

from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.runtime.names import REGRESSION


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
        error = SQUARED_ERROR.loss(labels, predictions, weights)
        variance = np.average((labels - np.average(labels, weights=weights)) ** 2, weights=weights)
        return float(error / variance) if variance > 0 else float(error > 0)
