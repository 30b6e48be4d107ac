"""Adaptive Parzen estimators: the distribution of a hyperparameter in some evaluations.

They follow hyperopt's ``tpe.suggest``. A number is modelled in the interval [0, 1] that
``Column.draw`` maps to its range: on a log scale or not, and with one part of the interval per
integer.
"""

from dataclasses import dataclass

import numpy as np

from ensemble_search.spaces._encoding import Column

#: Number of latest observations with full weight.
RECENT = 25
#: Width below which an integer's interval is too narrow to subtract distribution functions.
NARROW = 1e-9


@dataclass(frozen=True)
class Categories:
    """Probabilities of categories."""

    probabilities: np.ndarray  #: of shape (n_categories,)

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw entries, of shape (size,)."""
        return rng.choice(len(self.probabilities), size, p=self.probabilities).astype(float)

    def log_likelihood(self, entries: np.ndarray) -> np.ndarray:
        """Log probability of entries, of shape (m,)."""
        return np.log(self.probabilities[entries.astype(int)])


@dataclass(frozen=True)
class Numbers:
    """A mixture of Gaussians, truncated to [0, 1] as a whole."""

    column: Column  #: the hyperparameter; ``column.draw`` maps [0, 1] to its entries
    #: Parameters of the Gaussians, each of shape (n,); the weights need not sum to 1.
    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw entries, of shape (size,)."""
        from scipy.special import ndtri

        inside = self._inside
        chosen = rng.choice(len(inside), size, p=inside / inside.sum())
        below, above = self._cumulative(0.0)[chosen], self._cumulative(1.0)[chosen]
        normal = ndtri(below + rng.random(size) * (above - below))
        return self.column.draw(
            np.clip(self.means[chosen] + normal * self.deviations[chosen], 0.0, 1.0)
        )

    def log_likelihood(self, entries: np.ndarray) -> np.ndarray:
        """Log density of entries on [0, 1], of shape (m,); for integers, log probability."""
        if self.column.whole:
            upper, lower = (self.column.positions(entries, shift)[:, None] for shift in (0.5, -0.5))
            likelihood = self._cumulative(upper) - self._cumulative(lower)
            width = np.maximum(upper - lower, np.finfo(float).tiny)
            if (width < NARROW).any():
                narrow = width * self._density(entries)
                likelihood = np.where(width < NARROW, narrow, likelihood)
        else:
            likelihood = self._density(entries)
        return np.log(likelihood @ self.weights / self._inside.sum())

    def _density(self, entries: np.ndarray) -> np.ndarray:
        """Densities of the Gaussians at entries, of shape (m, n)."""
        z = (self.column.positions(entries)[:, None] - self.means) / self.deviations
        return np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * self.deviations)

    @property
    def _inside(self) -> np.ndarray:
        """Return the weights times each Gaussian's mass in [0, 1], of shape (n,)."""
        return self.weights * (self._cumulative(1.0) - self._cumulative(0.0))

    def _cumulative(self, x) -> np.ndarray:
        """Cumulative distribution functions of the Gaussians."""
        from scipy.special import ndtr

        return ndtr((x - self.means) / self.deviations)


def estimate(column: Column, entries: np.ndarray) -> Categories | Numbers:
    """Estimate the distribution of a hyperparameter.

    Parameters
    ----------
    column
        The hyperparameter.
    entries
        Observed entries, oldest first, of shape (n,); n may be 0.

    Returns
    -------
    estimate
        For a categorical hyperparameter, the weighted counts plus 1 per category that can be drawn.
        For a number, a mixture of Gaussians: the prior, with mean 1/2 and standard deviation 1, and
        one centred on every observation.
    """
    weights = recency(len(entries))
    if column.categorical and column.choices is not None:
        legal = column.holds(np.arange(len(column.choices)))
        counts = np.bincount(entries.astype(int), weights, minlength=len(legal)) + legal
        return Categories(counts / counts.sum())
    centres = column.positions(entries)
    deviations = bandwidths(centres)
    return Numbers(column, np.append(1.0, weights), np.append(0.5, centres), deviations)


def recency(n: int) -> np.ndarray:
    """Weights of n observations, oldest first: linear from 1/n to 1, then 1 for the last 25."""
    old = max(n - RECENT, 0)
    return np.append(np.linspace(1 / max(n, 1), 1, old), np.ones(n - old))


def bandwidths(centres: np.ndarray) -> np.ndarray:
    """Standard deviations of the prior (1) and of the Gaussians around centres in [0, 1].

    An observation's standard deviation is the larger of the distances to its two neighbours, where
    the prior's mean counts as a neighbour: at least 1 / min(100, n + 2) for n observations, and 0.5
    if n is 1.

    Returns
    -------
    deviations
        Of shape (n + 1,); the prior's comes first.
    """
    if len(centres) == 1:
        return np.array([1.0, 0.5])
    means = np.append(0.5, centres)
    order = np.argsort(means, kind="stable")
    gaps = np.diff(means[order])
    deviations = np.empty(len(means))
    deviations[order] = np.maximum(np.append(0, gaps), np.append(gaps, 0))
    deviations = np.clip(deviations, 1 / min(100, len(means) + 1), 1)
    deviations[0] = 1
    return deviations
