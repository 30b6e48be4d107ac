"""Losses of the predicted labels that are not means over samples."""

import numpy as np

from ensemble_search.metrics.base import Metric, predicted_labels


class F1(Metric):
    """1 - F1, the harmonic mean of precision and recall.

    With two classes, it is computed for class 1, the second in the order of names. With more, it is
    the mean over the classes that are present or predicted. As in scikit-learn's ``f1_score``, F1
    is 0 without true positives.
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
        # Twice the true positives, plus false positives and false negatives.
        whole = np.bincount(labels, weights, n) + np.bincount(predicted, weights, n)
        if predictions.shape[1] == 1:
            hits, whole = hits[1:], whole[1:]
            return float(1 - 2 * hits[0] / whole[0]) if whole[0] else 1.0
        some = whole > 0
        return float(1 - np.mean(2 * hits[some] / whole[some]))


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
