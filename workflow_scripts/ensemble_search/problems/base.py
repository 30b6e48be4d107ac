"""Base of the problem types: shape, alignment and diversity of predictions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ensemble_search.metrics.base import Metric


class InvalidPredictionError(ValueError):
    """An estimator's predictions are not valid for the problem."""


@dataclass(frozen=True)
class Problem(ABC):
    """Base of the problem types; :func:`tasks.problem` creates the one for a metric.

    Predictions have two forms: those of *models*, of shape (..., n_samples, n_outputs), and
    *stored* ones, of shape (..., n_samples, n_columns), without redundant columns.
    """

    #: ``classification`` or ``regression``.
    task: ClassVar[str]
    metric: Metric  #: the loss that searches and ensembles minimise

    @abstractmethod
    def columns(self, n_outputs: int) -> int:
        """Return the number of columns of stored predictions."""

    @abstractmethod
    def predict(self, estimator: Any, X: np.ndarray, n_outputs: int) -> np.ndarray:
        """Predict with a fitted scikit-learn estimator and align its predictions.

        float32, of shape (n_samples, n_outputs). Raises InvalidPredictionError if the predictions
        are not valid.
        """

    @abstractmethod
    def compress(self, predictions: np.ndarray) -> np.ndarray:
        """Convert predictions of models to stored ones."""

    @abstractmethod
    def expand(self, stored: np.ndarray) -> np.ndarray:
        """Convert stored predictions to those of models."""

    @abstractmethod
    def distances(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the distance between the predictions for each sample.

        For ``p`` and ``q``, see :meth:`diversity`. The result has their dtype, and their broadcast
        shape without its last axis.
        """

    @abstractmethod
    def scaled(self, distances: np.ndarray) -> np.ndarray:
        """Scale means of :meth:`distances` over samples to diversities."""

    def diversity(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the diversity of predictions, from 0 (equal) to 1.

        ``p`` and ``q`` are predictions of models, of broadcastable shapes (..., n_samples,
        n_outputs). The result is float64, of the broadcast shape without its last two axes.
        """
        return self.scaled(self.distances(p, q).mean(axis=-1, dtype=np.float64))
