"""Base of the metrics: losses that searches and ensembles minimise."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

TIE = 1e-13
"""Mean probabilities closer than this are tied, as weights such as 1/25 are not exact.

With up to 1000 equal weights, means that are not tied differ by more: ``RESOLUTION`` / 1000 (see
``ensembles.base``).
"""


class Metric(ABC):
    """A loss: the lower, the better. A metric lives in ``metrics/<name>.py``.

    Predictions are as they are stored: for classification of shape (n_samples, n_columns), where
    one column is the probability of class 1 and more columns are those of all classes. What is
    made of them, such as labels, is the metric's business.
    """

    #: What it is called in tables and figures.
    title: ClassVar[str]
    #: Whether it is a share, which people read in percent.
    percent: ClassVar[bool] = False
    #: What an evaluation that failed counts as where none has succeeded: no loss is higher.
    worst: ClassVar[float] = 1.0

    @abstractmethod
    def loss(self, labels: np.ndarray, predictions: np.ndarray) -> float:
        """Return the loss of predictions.

        Parameters
        ----------
        labels
            Of shape (n_samples,).
        predictions
            Of shape (n_samples, n_columns).
        """

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray | None:
        """Return the loss of each sample, of shape (n_samples,), where :meth:`loss` is their mean.

        None (the default) if it is no mean over samples.
        """
        return None


def predicted_labels(predictions: np.ndarray) -> np.ndarray:
    """Return the class of the highest probability, the first of tied ones (:data:`TIE`).

    Parameters
    ----------
    predictions
        Class probabilities, of shape (n_samples, n_columns) as in :class:`Metric`.

    Returns
    -------
    labels
        Int, of shape (n_samples,).
    """
    if predictions.shape[1] == 1:
        return (predictions[:, 0] > 0.5 + TIE).astype(int)
    return (predictions >= predictions.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
