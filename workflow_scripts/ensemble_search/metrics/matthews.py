"""Matthews correlation coefficient."""

import numpy as np

from ensemble_search.metrics.base import Metric, predicted_labels


class Matthews(Metric):
    """1 - Matthews correlation coefficient of labels and predicted labels.

    The loss is 1 if all labels, or all predictions, are the same, and at most 2. For more than two
    classes, see Gorodkin, Computational Biology and Chemistry 2004.
    """

    title = "1 - Matthews correlation"
    worst = 2.0

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`."""
        predicted = predicted_labels(predictions)
        n = max(2, predictions.shape[1])
        if weights is None:
            weights = np.ones(len(labels))
        true, said = np.bincount(labels, weights, n), np.bincount(predicted, weights, n)
        whole = true.sum()
        covariance = whole * weights[predicted == labels].sum() - true @ said
        variances = (whole**2 - true @ true) * (whole**2 - said @ said)
        return float(1 - covariance / np.sqrt(variances)) if variances > 0 else 1.0
