"""Kernel density estimates of configurations, as in BOHB (Falkner et al., ICML 2018)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KernelDensity:
    """A mixture of product kernels, one centred on every observation.

    Numbers have Gaussian kernels. The kernel of a category gives 1 - bandwidth to the observed one,
    and shares the bandwidth equally among the others (Aitchison & Aitken, 1976).
    """

    points: np.ndarray  #: observations, of shape (n, d): numbers in [0, 1], indices of categories
    #: Number of categories per column, 0 for numerical columns; int, of shape (d,).
    sizes: np.ndarray
    bandwidths: np.ndarray  #: of shape (d,)

    @classmethod
    def of(cls, points: np.ndarray, sizes: np.ndarray, floor: float) -> "KernelDensity":
        """Choose the bandwidths by the normal reference rule, 1.06 std n^(-1 / (4 + d)).

        Bandwidths are at least ``floor``; that of a category is at most the uniform distribution's.
        """
        n, d = points.shape
        widths = np.maximum(1.06 * points.std(axis=0) * n ** (-1 / (4 + d)), floor)
        most = np.where(sizes > 0, (sizes - 1) / np.maximum(sizes, 1), np.inf)
        return cls(points, sizes, np.minimum(widths, most))

    def draw(self, size: int, factor: float, rng: np.random.Generator) -> np.ndarray:
        """Draw near random observations, of shape (size, d).

        Numbers are drawn from truncated Gaussians ``factor`` times as wide as the kernels; a
        category is redrawn from all categories with a probability equal to its bandwidth.
        """
        from scipy.special import ndtr, ndtri

        centres = self.points[rng.integers(len(self.points), size=size)]
        uniform, other = rng.random((2, *centres.shape))
        wide = np.where(self.sizes > 0, 1.0, self.bandwidths * factor)
        below, above = ndtr(-centres / wide), ndtr((1 - centres) / wide)
        numbers = np.clip(centres + wide * ndtri(below + uniform * (above - below)), 0.0, 1.0)
        categories = np.where(other < self.bandwidths, np.floor(uniform * self.sizes), centres)
        return np.where(self.sizes > 0, categories, numbers)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Return the log density of points, of shape (m,)."""
        from scipy.special import logsumexp

        total = np.zeros((len(points), len(self.points)))
        for i, (size, width) in enumerate(zip(self.sizes, self.bandwidths, strict=True)):
            apart = points[:, i, None] - self.points[:, i]
            if size == 0:
                total -= (apart / width) ** 2 / 2 + np.log(width * np.sqrt(2 * np.pi))
            elif size > 1:
                total += np.where(apart == 0, np.log(1 - width), np.log(width / (size - 1)))
        return logsumexp(total, axis=1) - np.log(len(self.points))
