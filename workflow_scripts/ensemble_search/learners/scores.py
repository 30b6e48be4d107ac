"""Class probabilities for classifiers that only give scores."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin


class ScoreClassifier(ClassifierMixin, BaseEstimator):
    """Turn the decision function into probabilities: logistic for two classes, softmax for more.

    As in MindWare, scores of two classes are clipped to [-20, 20]; probabilities above
    0.999999 become 1 and those below 1e-7 become 0.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        """Fit the classifier."""
        self.estimator.fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.estimator.classes_
        return self

    def predict_proba(self, X):
        """Return class probabilities, of shape (n_samples, n_classes)."""
        scores = self.estimator.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        positive = expit(np.clip(scores, -20, 20))
        positive = np.where(positive > 0.999999, 1.0, np.where(positive < 1e-7, 0.0, positive))
        return np.column_stack([1 - positive, positive])
