"""Brier score."""

import numpy as np

from ensemble_search.metrics.base import SquaredDistance


class Brier(SquaredDistance):
    """Half the squared distance of the probabilities to the true label's, a mean over samples.

    0 for sure and right, 1 for sure and wrong; of two classes, the squared error of the
    probability of class 1 (Brier, Monthly Weather Review 1950, halved).
    """

    title = "Brier score"

    def targets(self, labels: np.ndarray, n_columns: int) -> tuple[np.ndarray, float]:
        """See :meth:`SquaredDistance.targets`."""
        if n_columns == 1:
            return labels[:, None].astype(float), 1.0
        return np.eye(n_columns)[labels], 0.5
