"""What surrogates are: models of performance, or of diversity, of configurations not yet fitted.

A surrogate lives in a file of its own, ``surrogates/<name>.py``, with one public subclass of
either class below. Its fields are its settings; ``fit`` returns the fitted model as a function,
so a surrogate object itself never changes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from pydantic import BaseModel, ConfigDict

PerformanceModel = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
DiversityModel = Callable[[np.ndarray, np.ndarray], np.ndarray]


class PerformanceSurrogate(BaseModel, ABC):
    """Predicts the validation error of a configuration, with a standard deviation (M_perf)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def fit(
        self, vectors: np.ndarray, errors: np.ndarray, rng: np.random.Generator
    ) -> PerformanceModel:
        """Fit on the evaluated configurations.

        Parameters
        ----------
        vectors
            Encoded configurations, of shape (n, n_columns).
        errors
            Validation errors without NaN, of shape (n,).
        rng
            The only source of randomness.

        Returns
        -------
        model
            ``model(vectors)`` of shape (m, n_columns) gives ``(mean, std)``, each of shape (m,).
        """


class DiversitySurrogate(BaseModel, ABC):
    """Predicts the diversity (paper, Eq. 3) of a pair of configurations (M_div).

    A model consists of several members; their mean is the prediction, their spread is what the
    model does not know.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def fit(
        self, vectors: np.ndarray, diversities: np.ndarray, rng: np.random.Generator
    ) -> DiversityModel:
        """Fit on the successfully evaluated configurations.

        Parameters
        ----------
        vectors
            Encoded configurations, of shape (n, n_columns), n >= 1.
        diversities
            Their pairwise diversities, of shape (n, n), symmetric, zeros on the diagonal.
        rng
            The only source of randomness.

        Returns
        -------
        model
            ``model(a, b)`` of shapes (m, n_columns) and (p, n_columns) gives the predictions of
            every member for every pair, of shape (members, m, p).
        """
