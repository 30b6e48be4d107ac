"""Kernel principal components on data of any size."""

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer


class KernelComponents(TransformerMixin, BaseEstimator):
    """Kernel principal component analysis (Schoelkopf, Smola and Mueller, 1998).

    To fail less often than scikit-learn's version, it is fitted on a random sample of at most
    ``max_rows`` rows (the kernel matrix of 30,000 rows takes 7 GB). It also drops directions with
    eigenvalues of 0 or less; indefinite kernels such as the sigmoid have negative ones.

    Parameters
    ----------
    n_components
        Maximum number of components.
    kernel, gamma, degree, coef0
        As in scikit-learn's ``pairwise_kernels``; parameters that a kernel does not have are
        ignored.
    max_rows
        Maximum number of rows to fit on.
    random_state
        Seed of the sample.
    """

    def __init__(
        self,
        n_components,
        *,
        kernel,
        gamma=None,
        degree=3,
        coef0=1,
        max_rows=5000,
        random_state=1,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X, y=None):
        """Find the components."""
        if len(X) > self.max_rows:
            draw = np.random.RandomState(self.random_state)
            X = X[np.sort(draw.choice(len(X), self.max_rows, replace=False))]
        self.rows_ = X
        kernel = self._kernel(X)
        self.centerer_ = KernelCenterer().fit(kernel)
        n = len(X)
        largest = [n - min(self.n_components, n), n - 1]
        values, vectors = eigh(self.centerer_.transform(kernel), subset_by_index=largest)
        values, vectors = values[::-1], vectors[:, ::-1]
        keep = values > 1e-12 * max(values[0], 0.0)
        keep[0] = True
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
        scale = np.sqrt(np.maximum(values[keep], np.finfo(float).tiny))
        self.directions_ = (vectors * signs)[:, keep] / scale
        return self

    def transform(self, X):
        """Project onto the components, of shape (n_samples, at most n_components)."""
        return self.centerer_.transform(self._kernel(X)) @ self.directions_

    def _kernel(self, X):
        return pairwise_kernels(
            X,
            self.rows_,
            metric=self.kernel,
            filter_params=True,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )
