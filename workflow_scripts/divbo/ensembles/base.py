"""What every post-hoc ensemble is: weights over stored predictions, for every iteration."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict

TIE = 1e-12
"""Mean probabilities that are closer than this are tied: weights such as 1/25 are not exact."""


@dataclass(frozen=True)
class Pool:
    """The evaluations that an ensemble may draw on.

    Attributes
    ----------
    predictions
        Class probabilities on the validation set as they are stored: float32, of shape
        (n, n_validation, n_columns), where n_columns is 1 for two classes (the probability of
        class 1) and n_classes otherwise. Rows of failed evaluations hold NaN.
    labels
        Validation labels, int, of shape (n_validation,), in 0..n_classes-1.
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

    def predict(self, predictions: np.ndarray) -> np.ndarray:
        """Return the label of the weighted mean, the first of tied classes (:data:`TIE`).

        Parameters
        ----------
        predictions
            The pool's class probabilities on some set of samples, of shape
            (n, n_samples, n_columns) as in :class:`Pool`; only the members' rows are read.

        Returns
        -------
        labels
            Int, of shape (n_samples,).
        """
        mean = np.zeros(predictions.shape[1:])
        for index, weight in zip(self.indices, self.weights, strict=True):
            mean += weight * predictions[index].astype(float)
        if mean.shape[1] == 1:
            return (mean[:, 0] > 0.5 + TIE).astype(int)
        return (mean >= mean.max(axis=1, keepdims=True) - TIE).argmax(axis=1)


class Ensemble(BaseModel, ABC):
    """Base of all ensembles: its fields are its settings, checked by pydantic.

    An ensemble lives in a file of its own, ``ensembles/<name>.py``, with one public subclass.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @abstractmethod
    def trace(self, pool: Pool) -> list[Members | None]:
        """Build the ensemble of every prefix of the pool.

        Returns
        -------
        ensembles
            Entry t (from 0) uses evaluations 0..t only; it is the same object as entry t - 1
            where nothing changed, and None as long as no evaluation has succeeded.
        """


def expand(predictions: np.ndarray) -> np.ndarray:
    """Turn stored predictions (one column for two classes) into one column a class.

    Parameters
    ----------
    predictions
        Of shape (..., n_columns).

    Returns
    -------
    predictions
        Of shape (..., n_classes): for one column p, the columns 1 - p and p; else unchanged.
    """
    if predictions.shape[-1] != 1:
        return predictions
    return np.concatenate([1 - predictions, predictions], axis=-1)
