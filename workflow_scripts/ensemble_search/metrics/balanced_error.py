"""Balanced classification error."""

import numpy as np

from ensemble_search.metrics.base import Metric, predicted_labels


class BalancedError(Metric):
    """Mean over the classes of the share of misclassified samples: 1 - balanced accuracy.

    Classes without a sample do not count.
    """

    title = "balanced error"
    percent = True

    def loss(self, labels: np.ndarray, predictions: np.ndarray) -> float:
        """See :meth:`Metric.loss`."""
        counts = np.bincount(labels)
        wrong = np.bincount(labels, predicted_labels(predictions) != labels)
        present = counts > 0
        return float(np.mean(wrong[present] / counts[present]))
