"""Brier score."""

import numpy as np

from ensemble_search.metrics.base import SquaredDistance


class Brier(SquaredDistance):
    """Half the squared distance between probabilities and one-hot labels, averaged over samples.

    A certain prediction costs 0 if it is right and 1 if it is wrong. With two classes, this is the
    squared error of the probability of class 1 (Brier, Monthly Weather Review 1950, halved).
    """

    title = "Brier score"

    def targets(self, labels: np.ndarray, n_columns: int) -> tuple[np.ndarray, float]:
        """See :meth:`SquaredDistance.targets`."""
        if n_columns == 1:
            return labels[:, None].astype(float), 1.0
        return np.eye(n_columns)[labels], 0.5
