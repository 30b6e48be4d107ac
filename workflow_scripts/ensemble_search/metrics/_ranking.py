"""Losses of the order of samples by their probabilities of a class."""

import numpy as np

from ensemble_search.metrics.base import Metric


class Auc(Metric):
    """1 - area under the ROC curve: how often a positive sample ranks below a negative one.

    With more than two classes, the macro average of one against the rest. Ties count one half.
    Classes without positive or without negative samples are ignored; if all are, the loss is 1/2.
    """

    title = "1 - AUC"
    percent = True

    def loss(
        self, labels: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """See :meth:`Metric.loss`; a pair of samples has the product of their weights."""
        if predictions.shape[1] == 1:
            found = [_below(predictions[:, 0], labels == 1, weights)]
        else:
            found = [_below(p, labels == k, weights) for k, p in enumerate(predictions.T)]
        counted = [value for value in found if value is not None]
        return float(np.mean(counted)) if counted else 0.5


def _below(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray | None) -> float | None:
    """Share of (positive, negative) pairs whose positive sample has the lower score."""
    n_positive = int(np.count_nonzero(positive))
    n_negative = len(scores) - n_positive
    if not n_positive or not n_negative:
        return None
    # Equal weighted means may differ in their last bits.
    rounded = np.round(np.asarray(scores, dtype=float), 12)
    if weights is not None:
        places = np.unique(rounded, return_inverse=True)[1]
        of_positive, of_negative = (
            np.bincount(places[rows], weights[rows], places.max() + 1)
            for rows in (positive, ~positive)
        )
        above = np.cumsum(of_negative[::-1])[::-1] - of_negative / 2  # ties count one half
        return float(of_positive @ above / (of_positive.sum() * of_negative.sum()))
    _, places, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # equal scores share their mean rank
    above = ranks[positive].sum() - n_positive * (n_positive + 1) / 2
    return 1 - above / (n_positive * n_negative)


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
