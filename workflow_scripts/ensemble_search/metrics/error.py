"""Classification error."""

import numpy as np

from ensemble_search.metrics.base import Metric, predicted_labels


class Error(Metric):
    """Share of misclassified samples: 1 - accuracy."""

    title = "error"
    percent = True

    def loss(self, labels: np.ndarray, predictions: np.ndarray) -> float:
        """See :meth:`Metric.loss`."""
        return float(np.mean(self.losses(labels, predictions)))

    def losses(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """See :meth:`Metric.losses`: 1 where the label is wrong, else 0."""
        return (predicted_labels(predictions) != labels).astype(float)


ERROR = Error()
