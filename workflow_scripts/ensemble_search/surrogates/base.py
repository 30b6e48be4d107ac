"""Base of the surrogates: models of the performance or diversity of unseen configurations.

A surrogate has its own file, ``surrogates/<name>.py``, with one public subclass of
either class below. Its fields are its settings; ``fit`` returns the fitted model as a function,
so a surrogate object itself never changes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

PerformanceModel = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
DiversityModel = Callable[[np.ndarray, np.ndarray], np.ndarray]


class PerformanceSurrogate(BaseModel, ABC):
    """Predicts validation errors of configurations, with standard deviations (M_perf)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Whether it supports spaces with conditions, where hyperparameters can be inactive.
    suits_conditions: ClassVar[bool] = True

    @abstractmethod
    def fit(
        self,
        vectors: np.ndarray,
        errors: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> PerformanceModel:
        """Fit on the evaluated configurations.

        Parameters
        ----------
        vectors
            Encoded configurations, of shape (n, n_hyperparameters); see
            ``Space.encode``.
        errors
            Validation errors without NaN, of shape (n,).
        categories
            Number of categories of each hyperparameter, 0 if it is numerical; int, of shape
            (n_hyperparameters,).
        rng
            The only source of randomness.

        Returns
        -------
        model
            ``model(vectors)`` of shape (m, n_hyperparameters) gives ``(mean, std)``, each of
            shape (m,).
        """


class DiversitySurrogate(BaseModel, ABC):
    """Predicts diversities (DivBO paper, Eq. 3) of pairs of configurations (M_div).

    A model has several members: their mean is the prediction, their spread the uncertainty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def fit(
        self,
        vectors: np.ndarray,
        diversities: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> DiversityModel:
        """Fit on the successfully evaluated configurations.

        Parameters
        ----------
        vectors
            Encoded configurations, of shape (n, n_hyperparameters), n >= 1; see
            ``Space.encode``.
        diversities
            Pairwise diversities, of shape (n, n), symmetric with zeros on the diagonal.
        categories
            Number of categories of each hyperparameter, 0 if it is numerical; int, of shape
            (n_hyperparameters,).
        rng
            The only source of randomness.

        Returns
        -------
        model
            ``model(a, b)`` of shapes (m, n_hyperparameters) and (p, n_hyperparameters) gives every
            member's prediction for every pair, of shape (members, m, p).
        """


def one_hot(vectors: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """One-hot encode categories, for models that need numbers.

    Parameters
    ----------
    vectors
        Encoded configurations, of shape (n, n_hyperparameters).
    categories
        See :meth:`PerformanceSurrogate.fit`.

    Returns
    -------
    columns
        float32, of shape (n, n_columns), in the order of the hyperparameters.
    """
    widths = np.maximum(categories, 1)
    starts = np.cumsum(widths) - widths
    categorical = np.asarray(categories) > 0
    columns = np.zeros((len(vectors), widths.sum()), dtype=np.float32)
    columns[:, starts[~categorical]] = vectors[:, ~categorical]
    hot = starts[categorical] + vectors[:, categorical].astype(int)
    np.put_along_axis(columns, hot, 1.0, axis=1)
    return columns
