"""Gaussian process: the performance surrogate of the ESMBO paper."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ensemble_search.surrogates.base import PerformanceModel, PerformanceSurrogate, one_hot

#: Digits kept of the logarithms of fitted parameters; further ones depend on the processor.
DIGITS = 3
#: Bounds of the logarithms of the variance, length scales and noise variance.
VARIANCE, SCALE, NOISE = np.log([[1e-3, 1e3], [1e-2, 2.0], [1e-6, 1.0]])

#: Most observations to fit parameters to, drawn at random; predictions use all observations.
MOST = 200


class GaussianProcess(PerformanceSurrogate):
    """Matérn 5/2 kernel with a length scale per column, a constant mean, and noise.

    (Lacoste et al., UAI 2014; Snoek et al., NIPS 2012.) Numerical hyperparameters are columns
    scaled to [0, 1]; each category has its own column. Errors are standardised. Parameters maximise
    the marginal likelihood: length scales in [0.01, 2], variance in [0.001, 1000], noise variance
    in [1e-6, 1]. The upper bound of the length scales is Spearmint's, not the paper's: with few
    errors, longer scales hide hyperparameters that matter. The predicted standard deviation
    excludes the noise.
    """

    suits_conditions: ClassVar[bool] = False

    def fit(
        self,
        vectors: np.ndarray,
        errors: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> PerformanceModel:
        """Fit the process; see :meth:`PerformanceSurrogate.fit`. The model has ``gradients``."""
        columns = one_hot(vectors, categories).astype(float)
        errors = np.asarray(errors, float)
        mean, std = errors.mean(), errors.std()
        if np.ptp(errors) == 0:  # then both may have rounding errors
            mean, std = errors[0], 1.0
        standardised = (errors - mean) / std
        part = np.arange(len(errors))
        if len(part) > MOST:
            part = np.sort(rng.choice(len(part), MOST, replace=False))
        found = _maximise(_Evidence.of(columns[part], standardised[part]), rng)
        return _Process.of(columns, standardised, np.exp(found), mean, std, categories)


@dataclass(frozen=True)
class _Evidence:
    """The marginal likelihood as a function of the parameters' logarithms."""

    #: Squared differences per column of the pairs i > j, of shape (n_columns, n_pairs).
    squares: np.ndarray
    targets: np.ndarray  #: standardised errors, of shape (n,)
    pairs: tuple[np.ndarray, np.ndarray]  #: indices i and j

    @classmethod
    def of(cls, columns: np.ndarray, targets: np.ndarray) -> "_Evidence":
        i, j = np.tril_indices(len(targets), -1)
        return cls(((columns[i] - columns[j]) ** 2).T.copy(), targets, (i, j))

    def __call__(self, logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        """Negative logarithm (Rasmussen and Williams, 2006, Eqs. 5.8, 5.9) and its gradient."""
        from scipy.linalg import lapack

        variance, scales, noise = _split(np.exp(logarithms))
        weights = scales**-2.0
        similarity, slope = matern(weights @ self.squares)
        n = len(self.targets)
        covariance = np.zeros((n, n))
        covariance[self.pairs] = variance * similarity
        covariance.flat[:: n + 1] = variance + noise
        factor, failed = lapack.dpotrf(covariance, lower=True)
        if failed:  # not positive definite in double precision: least likely
            return 1e25, np.zeros_like(logarithms)
        alpha, _ = lapack.dpotrs(factor, self.targets, lower=True)
        inverse, _ = lapack.dpotri(factor, lower=True)
        value = 0.5 * (self.targets @ alpha) + np.log(factor.diagonal()).sum()
        # d value = 0.5 tr((K^-1 - alpha alpha') dK); the trace contains each pair twice.
        i, j = self.pairs
        inner = inverse[self.pairs] - alpha[i] * alpha[j]
        trace = inverse.trace() - alpha @ alpha
        by_scales = -2 * variance * weights * (self.squares @ (inner * slope))
        by_variance = variance * (inner @ similarity + 0.5 * trace)
        return value, np.array([by_variance, *by_scales, 0.5 * noise * trace])


@dataclass(frozen=True)
class _Process:
    """A Gaussian process with fixed parameters; errors in their own units.

    It predicts from encoded configurations, of shape (m, n_hyperparameters); see
    :meth:`PerformanceSurrogate.fit`.
    """

    columns: np.ndarray
    factor: np.ndarray
    alpha: np.ndarray
    variance: float
    weights: np.ndarray
    mean: float
    std: float
    categories: np.ndarray

    @classmethod
    def of(cls, columns, targets, parameters, mean: float, std: float, categories) -> "_Process":
        """Condition on observations: columns, of shape (n, n_columns), and standardised errors."""
        from scipy.linalg import cho_solve, cholesky

        variance, scales, noise = _split(parameters)
        weights = scales**-2.0
        covariance = variance * matern(_distances(columns, columns, weights))[0]
        covariance.flat[:: len(columns) + 1] += noise
        factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        alpha = cho_solve((factor, True), targets)
        return cls(columns, factor, alpha, variance, weights, mean, std, categories)

    def __call__(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations, each of shape (m,)."""
        from scipy.linalg import solve_triangular

        new = one_hot(vectors, self.categories).astype(float)
        cross = self.variance * matern(_distances(self.columns, new, self.weights))[0]
        mean = self.alpha @ cross
        half = solve_triangular(self.factor, cross, lower=True, check_finite=False)
        left = np.maximum(self.variance - np.einsum("ij,ij->j", half, half), 0.0)
        return self.mean + self.std * mean, self.std * np.sqrt(left)

    def gradients(self, vector: np.ndarray) -> tuple[float, float, np.ndarray, np.ndarray]:
        """Return the mean, standard deviation and their gradients at one configuration.

        Gradients are with respect to the hyperparameters, of shape (n_hyperparameters,); 0 for
        categories.
        """
        from scipy.linalg import cho_solve

        new = one_hot(vector[None], self.categories).astype(float)
        similarity, slope = matern(_distances(self.columns, new, self.weights)[:, 0])
        cross = self.variance * similarity
        solved = cho_solve((self.factor, True), cross, check_finite=False)
        std = float(np.sqrt(max(self.variance - cross @ solved, 0.0)))
        widths = np.maximum(self.categories, 1)
        numbers = (np.cumsum(widths) - widths)[self.categories == 0]
        steps = (new - self.columns)[:, numbers] * self.weights[numbers]
        by_cross = 2 * self.variance * slope[:, None] * steps
        mean_slope, std_slope = np.zeros((2, len(vector)))
        mean_slope[self.categories == 0] = self.alpha @ by_cross
        if std:
            std_slope[self.categories == 0] = -(solved @ by_cross) / std
        mean = self.mean + self.std * float(self.alpha @ cross)
        return mean, self.std * std, self.std * mean_slope, self.std * std_slope


def matern(squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matérn 5/2 of squared distances, and its derivative with respect to them.

    Rasmussen and Williams (2006), Eq. 4.17.
    """
    scaled = np.sqrt(5 * squares)
    decay = np.exp(-scaled)
    return (1 + scaled + scaled * scaled / 3) * decay, -5 / 6 * (1 + scaled) * decay


def _maximise(evidence: _Evidence, rng: np.random.Generator) -> np.ndarray:
    """Return the logarithms of the best parameters found, rounded."""
    from scipy.optimize import minimize

    n_columns = len(evidence.squares)
    bounds = np.array([VARIANCE, *([SCALE] * n_columns), NOISE])
    starts = [np.array([0.0, *np.zeros(n_columns), np.log(1e-3)]), rng.uniform(*bounds.T)]
    ends = [
        minimize(evidence, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts
    ]
    best = min(ends, key=lambda end: end.fun).x
    return np.clip(np.round(best, DIGITS), *bounds.T)


def _split(parameters: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Return the variance, length scales and noise variance."""
    return float(parameters[0]), parameters[1:-1], float(parameters[-1])


def _distances(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weighted squared distances of all pairs, of shape (len(a), len(b)).

    Differences are computed first, so that equal rows give exact zeros.
    """
    total = np.zeros((len(a), len(b)))
    for column, weight in enumerate(weights):
        difference = a[:, column, None] - b[:, column]
        difference *= difference
        total += np.multiply(difference, weight, out=difference)
    return total
