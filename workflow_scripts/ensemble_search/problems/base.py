"""What a type of problem owns: the shape of predictions, their alignment, means and diversity."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble_search.metrics.base import Metric


class InvalidPredictionError(ValueError):
    """What an estimator predicted is no prediction of the problem."""


@dataclass(frozen=True)
class Problem(ABC):
    """Base of the types of problems.

    Predictions have two forms: as *models* give them, of shape (..., n_samples, n_outputs), and as
    they are *stored*, of shape (..., n_samples, n_columns), without what follows from the rest.

    Attributes
    ----------
    metric
        The loss that searches and ensembles minimise.
    """

    metric: Metric

    @abstractmethod
    def columns(self, n_outputs: int) -> int:
        """Return the columns of stored predictions, where models give ``n_outputs``."""

    @abstractmethod
    def predict(self, estimator: Any, X: np.ndarray, n_outputs: int) -> np.ndarray:
        """Predict with a fitted scikit-learn estimator, and align what it predicts.

        Returns
        -------
        predictions
            float32, of shape (n_samples, n_outputs).

        Raises
        ------
        InvalidPredictionError
            If the estimator's predictions are none of the problem.
        """

    @abstractmethod
    def compress(self, predictions: np.ndarray) -> np.ndarray:
        """Turn predictions into those that are stored."""

    @abstractmethod
    def expand(self, stored: np.ndarray) -> np.ndarray:
        """Turn stored predictions into what the models gave."""

    @abstractmethod
    def diversity(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """How different predictions are, from 0 (equal) to 1.

        Parameters
        ----------
        p, q
            As models give them, of shapes (..., n_samples, n_outputs) that broadcast.

        Returns
        -------
        diversity
            float64, of the broadcast shape without its last two axes.
        """
