"""Brier score."""

import numpy as np

from ensemble_search.metrics.base import Metric


class Brier(Metric):
    """Half the squared distance of the probabilities to the true label's, a mean over samples.

    0 for sure and right, 1 for sure and wrong; of two classes, the squared error of the
    probability of class 1 (Brier, Monthly Weather Review 1950, halved).
    """

    title = "Brier score"

    def loss(self, labels: np.ndarray, predictions: np.ndarray) -> float:
        """See :meth:`Metric.loss`."""
        return float(np.mean(self.losses(labels, predictions)))

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`."""
        predictions = predictions.astype(float)
        if predictions.shape[1] == 1:
            return (predictions[:, 0] - labels) ** 2
        right = predictions[np.arange(len(labels)), labels]
        return ((predictions**2).sum(axis=1) - right**2 + (1 - right) ** 2) / 2
