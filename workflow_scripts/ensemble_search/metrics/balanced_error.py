"""Balanced classification error."""

import numpy as np

from ensemble_search.metrics.base import Metric, predicted_labels


class BalancedError(Metric):
    """Mean over the classes of the share of misclassified samples: 1 - balanced accuracy.

    Classes without samples are ignored.
    """

    title = "balanced error"
    percent = True

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`."""
        counts = np.bincount(labels, weights)
        mistakes = predicted_labels(predictions) != labels
        wrong = np.bincount(labels, mistakes if weights is None else mistakes * weights)
        present = counts > 0
        return float(np.mean(wrong[present] / counts[present]))
