"""Classification: models predict class probabilities."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.error import ERROR
from ensemble_search.problems.base import InvalidPredictionError, Problem
from ensemble_search.runtime.names import CLASSIFICATION as TASK


@dataclass(frozen=True)
class Classification(Problem):
    """Predictions are class probabilities; with two classes, only that of class 1 is stored.

    Labels are the codes 0..n_classes-1, and ``n_outputs`` is the number of classes.
    """

    task: ClassVar[str] = TASK
    metric: Metric = ERROR

    def columns(self, n_outputs: int) -> int:
        """One column for two classes, else one per class."""
        return 1 if n_outputs == 2 else n_outputs

    def predict(self, estimator: Any, X: np.ndarray, n_outputs: int) -> np.ndarray:
        """See :meth:`Problem.predict`: ``predict_proba``, with one column per class."""
        return align(estimator.predict_proba(X), estimator.classes_, len(X), n_outputs)

    def compress(self, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Problem.compress`."""
        two = predictions.shape[-1] == 2
        return np.ascontiguousarray(predictions[..., 1:]) if two else predictions

    def expand(self, stored: np.ndarray) -> np.ndarray:
        """See :meth:`Problem.expand`: one column p becomes 1 - p and p."""
        if stored.shape[-1] != 1:
            return stored
        return np.concatenate([1 - stored, stored], axis=-1)

    def distances(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the Euclidean distances of probability vectors.

        See :meth:`Problem.distances`; DivBO paper, Eq. 3, which divides the mean by sqrt(2).
        """
        total: Any = 0  # the first square makes it an array
        # Class by class, because temporary arrays are smaller and a NumPy sum over a short last
        # axis takes several times as long.
        for k in range(np.shape(p)[-1]):
            difference = p[..., k] - q[..., k]
            total += np.square(difference, out=difference)
        return np.sqrt(total, out=total)

    def scaled(self, distances: np.ndarray) -> np.ndarray:
        """See :meth:`Problem.scaled`: divided by sqrt(2), the largest distance."""
        return distances / np.sqrt(2.0)


CLASSIFICATION = Classification()


def align(probabilities, classes, n_samples: int, n_classes: int) -> np.ndarray:
    """Align columns with classes and normalise rows to sum to 1: float32, (n_samples, n_classes).

    ``probabilities`` come from ``predict_proba``, of shape (n_samples, len(classes)), and
    ``classes`` are ``classes_`` of the estimator: the codes 0..n_classes-1 that occur in its
    training rows. Columns of unseen classes are 0. Raises InvalidPredictionError if shapes or
    classes do not match, or a row has NaN, infinite or negative values, or only 0.
    """
    try:
        given = np.asarray(probabilities, dtype=np.float64)
        codes = np.asarray(classes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidPredictionError(f"predictions or classes are not numeric: {error}") from None
    if given.shape != (n_samples, codes.size):
        raise InvalidPredictionError(f"shape {given.shape} instead of {(n_samples, codes.size)}")
    if len(set(codes.flat)) < codes.size or not np.isin(codes, np.arange(n_classes)).all():
        raise InvalidPredictionError(f"classes_ is {classes} instead of codes below {n_classes}")
    full = np.zeros((n_samples, n_classes))
    full[:, codes.astype(int)] = given
    if not np.isfinite(full).all():
        raise InvalidPredictionError("NaN or infinite probabilities")
    if (full < 0).any():
        raise InvalidPredictionError("negative probabilities")
    largest = full.max(axis=1, keepdims=True)
    if not largest.all():
        raise InvalidPredictionError("rows of zeros only")
    full /= largest  # before summing, which could overflow
    full /= full.sum(axis=1, keepdims=True)
    return full.astype(np.float32)
