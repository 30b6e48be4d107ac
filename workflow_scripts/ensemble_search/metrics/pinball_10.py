"""Pinball loss of the 10 % quantile."""

import numpy as np

from ensemble_search.metrics.pinball_90 import Pinball90


class Pinball10(Pinball90):
    """Mean pinball loss of the 10 % quantile, in standard deviations of the training rows' labels.

    A value above the label costs nine times as much as one below it (Koenker and Bassett,
    Econometrica 1978). Pipelines are fitted as for other metrics; this loss only selects among
    them.
    """

    title = "pinball loss of the 10 % quantile"

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`; the 10 % quantile is the 90 % quantile upside down."""
        return super().losses(-labels, -predictions)
