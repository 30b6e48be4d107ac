"""Mean absolute error, for regression."""

import numpy as np

from ensemble_search.metrics.base import MeanLoss
from ensemble_search.runtime.names import REGRESSION


class AbsoluteError(MeanLoss):
    """Mean absolute error, in standard deviations of the training rows' labels."""

    title = "absolute error"
    power = 1
    task = REGRESSION

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`."""
        return np.abs(predictions[:, 0] - labels)
