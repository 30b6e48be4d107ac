"""Gaussian process on numbers: the performance surrogate of the ESMBO paper."""

import warnings
from typing import ClassVar

import numpy as np
from pydantic import Field

from ensemble_search.surrogates.base import PerformanceModel, PerformanceSurrogate, one_hot

#: Of the logarithms of fitted parameters; the further ones depend on the processor.
DIGITS = 3


class GaussianProcess(PerformanceSurrogate):
    """Matérn 5/2 with a length scale for each column, a constant mean, and noise.

    (Lacoste et al., UAI 2014; Snoek et al., NIPS 2012.) Columns are
    hyperparameters in unit scale, and one for each category. Errors are standardised. Parameters
    maximise the marginal likelihood: length scales in [0.01, 2], variance in [0.001, 1000],
    variance of the noise in [1e-6, 1]. The upper bound of the length scales is that of Spearmint,
    not the paper's: with few errors, longer ones hide hyperparameters that matter. The predicted
    deviation is without the noise.
    """

    suits_conditions: ClassVar[bool] = False

    restarts: int = Field(
        1, ge=0, description="Random starts of the maximisation, besides unit parameters."
    )

    def fit(
        self,
        vectors: np.ndarray,
        errors: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> PerformanceModel:
        """Fit the process; see :meth:`PerformanceSurrogate.fit`."""
        process = self._process(_columns(vectors, categories), np.asarray(errors, float), rng)
        noise = process.kernel_.k2.noise_level * np.var(errors)

        def predict(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            mean, std = process.predict(_columns(vectors, categories), return_std=True)
            return mean, np.sqrt(np.maximum(std**2 - noise, 0.0))

        return predict

    def _process(self, columns: np.ndarray, errors: np.ndarray, rng: np.random.Generator):
        """Fit scikit-learn's Gaussian process, with rounded parameters."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        matern = Matern(np.ones(columns.shape[1]), (1e-2, 2.0), nu=2.5)
        free = GaussianProcessRegressor(
            ConstantKernel(1.0, (1e-3, 1e3)) * matern + WhiteKernel(1e-3, (1e-6, 1.0)),
            normalize_y=True,
            n_restarts_optimizer=self.restarts,
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of parameters at their bounds too
            found = free.fit(columns, errors).kernel_
        rounded = found.clone_with_theta(np.round(found.theta, DIGITS))
        return GaussianProcessRegressor(rounded, optimizer=None, normalize_y=True).fit(
            columns, errors
        )


def _columns(vectors: np.ndarray, categories: np.ndarray) -> np.ndarray:
    return one_hot(vectors, categories).astype(float)
