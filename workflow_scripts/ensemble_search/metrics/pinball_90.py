"""Pinball loss of the 90 % quantile."""

import numpy as np

from ensemble_search.metrics.base import MeanLoss
from ensemble_search.runtime.names import REGRESSION

QUANTILE = 0.9


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
