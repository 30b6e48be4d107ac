"""Regression: models predict numbers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.problems.base import InvalidPredictionError, Problem
from ensemble_search.runtime.names import REGRESSION as TASK

#: Largest prediction, in standard deviations of the training rows' labels. Sums of a thousand such
#: numbers are exact (``problems.combination.rounded``).
LARGEST = 1024.0


@dataclass(frozen=True)
class Regression(Problem):
    """Predictions are numbers, in standard deviations from the mean of the training rows' labels.

    They are clipped to :data:`LARGEST`.
    """

    task: ClassVar[str] = TASK
    metric: Metric = SQUARED_ERROR

    def columns(self, n_outputs: int) -> int:
        """One column."""
        return 1

    def predict(self, estimator: Any, X: np.ndarray, n_outputs: int) -> np.ndarray:
        """See :meth:`Problem.predict`: ``predict``."""
        try:
            values = np.asarray(estimator.predict(X), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidPredictionError(f"predictions are not numeric: {error}") from None
        if values.shape not in ((len(X),), (len(X), 1)):
            raise InvalidPredictionError(f"shape {values.shape} instead of {(len(X),)}")
        if not np.isfinite(values).all():
            raise InvalidPredictionError("NaN or infinite values")
        return np.clip(values, -LARGEST, LARGEST).astype(np.float32).reshape(-1, 1)

    def compress(self, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Problem.compress`: nothing is redundant."""
        return predictions

    def expand(self, stored: np.ndarray) -> np.ndarray:
        """See :meth:`Problem.expand`."""
        return stored

    def distances(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the absolute differences, in standard deviations of the labels.

        See :meth:`Problem.distances`. The DivBO paper covers only classification; this uses the
        absolute difference of numbers instead of the distance between probability vectors.
        """
        return np.abs(np.asarray(p) - np.asarray(q))[..., 0]

    def scaled(self, distances: np.ndarray) -> np.ndarray:
        """See :meth:`Problem.scaled`: at most 1."""
        return np.minimum(distances, 1.0)


REGRESSION = Regression()
