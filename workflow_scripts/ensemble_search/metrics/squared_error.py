"""Mean squared error, for regression."""

import numpy as np

from ensemble_search.metrics.base import SquaredDistance
from ensemble_search.runtime.names import REGRESSION


class SquaredError(SquaredDistance):
    """Mean squared error of standardised values.

    It is a share of the variance of the training rows' labels. It would be 1 - R² with the
    validation rows' own mean and variance. Predicting the mean of the training rows costs about 1.
    """

    title = "squared error"
    power = 2
    task = REGRESSION

    def targets(self, labels: np.ndarray, n_columns: int) -> tuple[np.ndarray, float]:
        """See :meth:`SquaredDistance.targets`."""
        return labels[:, None], 1.0


SQUARED_ERROR = SquaredError()
