"""Classification error."""

import numpy as np

from ensemble_search.metrics.base import MeanLoss, predicted_labels


class Error(MeanLoss):
    """Share of misclassified samples: 1 - accuracy."""

    title = "error"
    percent = True

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`: 1 where the label is wrong, else 0."""
        return (predicted_labels(predictions) != labels).astype(float)


ERROR = Error()
