"""F1 score."""

import numpy as np

from ensemble_search.metrics.base import Metric, predicted_labels


class F1(Metric):
    """1 - F1, the harmonic mean of precision and recall.

    Of two classes, that of class 1, the second in the order of their names. With more, the mean
    over the classes that are there or predicted. As scikit-learn's ``f1_score``, 0 without a right
    positive.
    """

    title = "1 - F1"
    percent = True

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`."""
        predicted = predicted_labels(predictions)
        n = max(2, predictions.shape[1])
        right = predicted == labels
        hits = np.bincount(labels[right], None if weights is None else weights[right], n)
        # Twice the true positives, and the false ones of both kinds.
        whole = np.bincount(labels, weights, n) + np.bincount(predicted, weights, n)
        if predictions.shape[1] == 1:
            hits, whole = hits[1:], whole[1:]
            return float(1 - 2 * hits[0] / whole[0]) if whole[0] else 1.0
        some = whole > 0
        return float(1 - np.mean(2 * hits[some] / whole[some]))
