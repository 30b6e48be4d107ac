"""Log loss."""

import numpy as np

from ensemble_search.metrics.base import MeanLoss

#: Resolution of stored probabilities; lower ones are clipped to it.
LOWEST = float(np.finfo(np.float32).eps)


class LogLoss(MeanLoss):
    """Mean negative log probability of the true label, in nats.

    Probabilities are clipped below at 2^-23, the resolution of a float32.
    """

    title = "log loss"
    worst = float(-np.log(LOWEST))

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`."""
        if predictions.shape[1] == 1:
            ones = predictions[:, 0].astype(float)
            right = np.where(labels == 1, ones, 1 - ones)
        else:
            right = predictions[np.arange(len(labels)), labels].astype(float)
        return -np.log(np.maximum(right, LOWEST))
