"""What a configuration space is to the optimizers, and to the worker that fits pipelines."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace

__all__ = ["Configuration", "Space"]


class Space(ABC):
    """A conditional configuration space together with the pipelines that it describes.

    A space lives in a file of its own, ``space/<name>.py``, which defines one public subclass.
    """

    @abstractmethod
    def define(self) -> ConfigurationSpace:
        """Build the ConfigSpace object: hyperparameters, conditions, forbidden clauses."""

    @abstractmethod
    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Build the unfitted estimator of a configuration.

        Parameters
        ----------
        values
            Active hyperparameters by name.
        categorical
            Bool, of shape (n_features,): which input columns are one-hot or categorical codes.
        threads
            How many threads a learner that can use them may start.

        Returns
        -------
        estimator
            With ``fit(X, y)`` and ``predict_proba(X)`` as in scikit-learn, and ``classes_``.
        """

    @cached_property
    def configspace(self) -> ConfigurationSpace:
        """The ConfigSpace object of :meth:`define`, made once."""
        return self.define()

    def configuration(self, values: Mapping[str, Any]) -> Configuration:
        """Make the configuration that has these active values (as read from a journal)."""
        raise NotImplementedError

    def sample(self, size: int, rng: np.random.Generator) -> list[Configuration]:
        """Draw ``size`` configurations uniformly from the conditional space."""
        raise NotImplementedError

    def neighbours(self, configuration: Configuration, rng: np.random.Generator) -> list:
        """Return legal configurations that differ in one hyperparameter (specification C.4)."""
        raise NotImplementedError

    def encode(self, configurations: Sequence[Configuration]) -> np.ndarray:
        """Encode as unit-scale numbers, categoricals one-hot, inactive values as their default.

        Specification B.2 and C.3. Returns float64 of shape (n, n_columns).
        """
        raise NotImplementedError
