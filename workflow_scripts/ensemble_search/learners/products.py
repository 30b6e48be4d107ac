"""Products of columns, appended to the data."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import PolynomialFeatures


class CategoricalProducts(TransformerMixin, BaseEstimator):
    """Append all non-constant products of pairs of categorical columns.

    If there are more than ``n_columns`` categorical columns, that many are drawn at random.

    Parameters
    ----------
    categorical
        Bool, of shape (n_features,).
    n_columns
        Maximum number of columns to pair.
    random_state
        Seed of the draw.
    """

    def __init__(self, categorical, n_columns=200, random_state=1):
        self.categorical = categorical
        self.n_columns = n_columns
        self.random_state = random_state

    def fit(self, X, y=None):
        """Find the pairs."""
        columns = np.flatnonzero(self.categorical)
        if len(columns) > self.n_columns:
            draw = np.random.RandomState(self.random_state)
            columns = np.sort(draw.choice(columns, self.n_columns, replace=False))
        first, second = np.triu_indices(len(columns), k=1)
        # Two matrix products give the moments of all column products without computing these.
        C = X[:, columns]
        mean, square = C.T @ C / len(C), (C**2).T @ C**2 / len(C)
        varies = (square - mean**2 > 1e-12 * square)[first, second]
        self.first_, self.second_ = columns[first[varies]], columns[second[varies]]
        return self

    def transform(self, X):
        """Return the data with the products appended."""
        n, p = X.shape
        made = np.empty((n, p + len(self.first_)))
        made[:, :p] = X
        for start in range(0, len(self.first_), 100):  # all at once would need three copies
            some = slice(start, start + 100)
            made[:, p:][:, some] = X[:, self.first_[some]] * X[:, self.second_[some]]
        return made


class ImportantPolynomials(TransformerMixin, BaseEstimator):
    """Append the polynomials of the most important columns.

    Parameters
    ----------
    ranker
        Estimator with ``feature_importances_``, fitted if there are more columns than
        ``n_columns``.
    n_columns
        Number of columns to use.
    degree, interaction_only
        As in scikit-learn's PolynomialFeatures.
    candidates
        Bool, of shape (n_features,): columns that may be used; default: all.
    """

    def __init__(self, ranker, n_columns, degree, interaction_only, candidates=None):
        self.ranker = ranker
        self.n_columns = n_columns
        self.degree = degree
        self.interaction_only = interaction_only
        self.candidates = candidates

    def fit(self, X, y):
        """Choose the columns."""
        columns = np.arange(X.shape[1])
        if self.candidates is not None:
            columns = np.flatnonzero(self.candidates)
        if len(columns) > self.n_columns:
            importance = clone(self.ranker).fit(X[:, columns], y).feature_importances_
            best = np.argsort(-importance, kind="stable")[: self.n_columns]
            columns = columns[np.sort(best)]
        self.columns_ = columns
        self.powers_ = PolynomialFeatures(
            self.degree, interaction_only=self.interaction_only, include_bias=False
        ).fit(X[:, columns])
        return self

    def transform(self, X):
        """Return the data with the new columns appended."""
        powers = self.powers_.transform(X[:, self.columns_])
        return np.hstack([X, powers[:, len(self.columns_) :]])
