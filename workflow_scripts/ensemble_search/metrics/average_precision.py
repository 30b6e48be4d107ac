"""Average precision."""

import numpy as np

from ensemble_search.metrics.base import Metric


class AveragePrecision(Metric):
    """1 - average precision: the mean of precisions, weighted by the recall that each adds.

    With two classes, it is computed for class 1, the second in the order of names. With more, it is
    the one-vs-rest mean over the classes that have samples, and the loss is 1 if there are none.
    Equals scikit-learn's ``average_precision_score``.
    """

    title = "1 - average precision"
    percent = True

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`."""
        if weights is None:
            weights = np.ones(len(labels))
        columns = [1] if predictions.shape[1] == 1 else range(predictions.shape[1])
        found = [
            _precision(scores, labels == k, weights)
            for k, scores in zip(columns, predictions.T, strict=True)
            if (labels == k).any()
        ]
        return max(0.0, 1 - float(np.mean(found))) if found else 1.0


def _precision(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> float:
    # Equal weighted means may differ in their last bits.
    rounded = np.round(np.asarray(scores, dtype=float), 12)
    places = np.unique(-rounded, return_inverse=True)[1]  # from the highest score on
    own, whole = np.bincount(places, positive * weights), np.bincount(places, weights)
    return float(own @ (np.cumsum(own) / np.cumsum(whole)) / own.sum())
