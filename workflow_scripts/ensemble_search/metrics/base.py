"""Base of the metrics: losses that searches and ensembles minimise."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

TIE = 1e-13
"""Mean probabilities closer than this are tied, as weights such as 1/25 are not exact.

With up to 1000 equal weights, other means differ by ``RESOLUTION`` / 1000 or more (see
``ensembles.base``).
"""


class Metric(ABC):
    """Base of the metrics, which are losses: the lower, the better.

    A metric lives in ``metrics/<name>.py``. It takes predictions as stored: for classification, of
    shape (n_samples, n_columns), where one column is the probability of class 1, and more columns
    are those of all classes.
    """

    #: Its name in tables and figures.
    title: ClassVar[str]
    #: Whether it is a share, to be shown in percent.
    percent: ClassVar[bool] = False
    #: Highest loss: that of failed evaluations if none has succeeded.
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
        """Return the loss of each sample, of shape (n_samples,), if :meth:`loss` is their mean.

        None (the default) if it is not.
        """
        return None


def predicted_labels(predictions: np.ndarray) -> np.ndarray:
    """Return the most probable classes, the first of tied ones (:data:`TIE`).

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
