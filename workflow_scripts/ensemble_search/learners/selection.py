"""Feature selection that keeps at least one feature."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class Selection(TransformerMixin, BaseEstimator):
    """Select as ``selector`` does, but keep the best column if it would drop all.

    The best column has the largest score (univariate selectors) or the largest importance.
    """

    def __init__(self, selector):
        self.selector = selector

    def fit(self, X, y):
        """Fit the selector."""
        self.selector.fit(X, y)
        self.support_ = self.selector.get_support()
        if not self.support_.any():
            self.support_[_scores(self.selector).argmax()] = True
        return self

    def transform(self, X):
        """Return the selected columns."""
        return X[:, self.support_]


def _scores(selector) -> np.ndarray:
    if hasattr(selector, "scores_"):
        return np.nan_to_num(selector.scores_, nan=-np.inf)
    model = selector.estimator_
    if hasattr(model, "feature_importances_"):
        return model.feature_importances_
    return np.abs(model.coef_).sum(axis=0)


def chi2_of_positive_part(X, y):
    """Chi-squared score; needs non-negative features, so negative values are set to 0."""
    from sklearn.feature_selection import chi2

    return chi2(np.maximum(X, 0.0), y)
