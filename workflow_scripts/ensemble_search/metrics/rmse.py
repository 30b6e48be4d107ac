"""Root mean squared error, for regression."""

import numpy as np

from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.runtime.names import REGRESSION


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
