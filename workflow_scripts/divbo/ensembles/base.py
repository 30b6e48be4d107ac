"""What every post-hoc ensemble is: weights over stored predictions, for every iteration."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Pool:
    """The evaluations that an ensemble may draw on.

    Attributes
    ----------
    predictions
        Class probabilities on the validation set, float32, of shape (n, n_validation, n_classes);
        rows of failed evaluations hold NaN.
    labels
        Validation labels, int, of shape (n_validation,).
    errors
        Validation errors, of shape (n,); NaN for failed evaluations.
    seed
        For ties that are broken at random.
    """

    predictions: np.ndarray
    labels: np.ndarray
    errors: np.ndarray
    seed: int


@dataclass(frozen=True)
class Members:
    """An ensemble: weighted mean of the members' class probabilities.

    Attributes
    ----------
    indices
        Members' positions in the pool, int, unique, ascending, of shape (n_members,).
    weights
        Of shape (n_members,), positive, sum 1.
    """

    indices: np.ndarray
    weights: np.ndarray


class Ensemble(BaseModel, ABC):
    """Base of all ensembles: its fields are its settings, checked by pydantic.

    An ensemble lives in a file of its own, ``ensembles/<name>.py``, with one public subclass.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def trace(self, pool: Pool) -> list[Members | None]:
        """Build the ensemble of every prefix of the pool.

        Returns
        -------
        ensembles
            Entry t (from 0) uses evaluations 0..t only; it is the same object as entry t - 1
            where nothing changed, and None as long as no evaluation has succeeded.
        """
