"""Base of the types of problems: shape, alignment and diversity of predictions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ensemble_search.metrics.base import Metric


class InvalidPredictionError(ValueError):
    """An estimator's predictions are not valid for the problem."""


@dataclass(frozen=True)
class Problem(ABC):
    """Base of the types of problems; :func:`tasks.problem` makes the one of a metric.

    Predictions have two forms: those of *models*, of shape (..., n_samples, n_outputs), and
    *stored* ones, of shape (..., n_samples, n_columns), without redundant columns.

    Attributes
    ----------
    metric
        The loss that searches and ensembles minimise.
    """

    #: ``classification`` or ``regression``.
    task: ClassVar[str]
    metric: Metric

    @abstractmethod
    def columns(self, n_outputs: int) -> int:
        """Return the number of columns of stored predictions."""

    @abstractmethod
    def predict(self, estimator: Any, X: np.ndarray, n_outputs: int) -> np.ndarray:
        """Predict with a fitted scikit-learn estimator and align its predictions.

        Returns
        -------
        predictions
            float32, of shape (n_samples, n_outputs).

        Raises
        ------
        InvalidPredictionError
            If the predictions are not valid.
        """

    @abstractmethod
    def compress(self, predictions: np.ndarray) -> np.ndarray:
        """Turn predictions of models into stored ones."""

    @abstractmethod
    def expand(self, stored: np.ndarray) -> np.ndarray:
        """Turn stored predictions into those of models."""

    @abstractmethod
    def distances(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return how far apart predictions of each sample are.

        Parameters
        ----------
        p, q
            See :meth:`diversity`.

        Returns
        -------
        distances
            Of the dtype of p and q, of the broadcast shape without its last axis.
        """

    @abstractmethod
    def scaled(self, distances: np.ndarray) -> np.ndarray:
        """Turn means of :meth:`distances` over samples into diversities."""

    def diversity(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return how different predictions are, from 0 (equal) to 1.

        Parameters
        ----------
        p, q
            Predictions of models, of broadcastable shapes (..., n_samples, n_outputs).

        Returns
        -------
        diversity
            float64, of the broadcast shape without its last two axes.
        """
        return self.scaled(self.distances(p, q).mean(axis=-1, dtype=np.float64))
