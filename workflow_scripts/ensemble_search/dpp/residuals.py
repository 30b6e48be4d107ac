"""Residual variances of N items, given the chosen ones."""

from collections.abc import Callable

import numpy as np

from ensemble_search.dpp.checks import ROUNDING, not_semidefinite

#: Residuals below this fraction of an item's variance count as rounding: the item is dependent.
NOTHING = 1e-12


class Residuals:
    """Schur complements of all items with respect to the chosen ones, by incremental Cholesky.

    The residual of item i is det(L of chosen and i) / det(L of chosen), which is the posterior
    variance of i under a noise-free Gaussian process with kernel L = diag(q) S diag(q). As a
    fraction of the item's variance, it does not depend on q: it is computed from S, scaled to ones
    on the diagonal, so that rounding does not grow with the range of the qualities.

    Parameters
    ----------
    diagonal
        Variances S_ii, (N,).
    column
        Maps an item to its column of S, (N,).
    k
        Maximum number of items to choose; the t-th costs O(t N) and a column.
    quality
        q, (N,), not negative; default all 1.

    Attributes
    ----------
    left
        Residuals as fractions of the variances, (N,); 0 for chosen items, for items of variance 0,
        and where the residual is rounding: below :data:`NOTHING`, or below the error due to items
        that had a small residual but were chosen for their quality.
    """

    def __init__(
        self,
        diagonal: np.ndarray,
        column: Callable[[int], np.ndarray],
        k: int,
        quality: np.ndarray | None = None,
    ):
        self._roots = np.sqrt(diagonal)
        self.left = np.where(self._roots > 0, 1.0, 0.0)
        self._roots[self._roots == 0] = 1
        self._nothing = np.full(len(self.left), NOTHING)
        self._column = column
        self._rows = np.empty((k, len(self.left)))
        self._chosen = 0
        # Variances of L are stored with powers of two, because floats would overflow.
        self._variances, self._exponents = np.frexp(diagonal)
        if quality is not None:
            mantissas, exponents = np.frexp(quality)
            self._variances = self._variances * mantissas**2
            self._exponents = self._exponents + 2 * exponents
            self.left[self._variances == 0] = 0

    def choose(self, item: int) -> None:
        """Add an item with a positive residual to the chosen ones.

        Raises
        ------
        UserError
            If this shows that S is not positive semidefinite.
        """
        known = self._rows[: self._chosen]
        row = self._column(item) / self._roots / self._roots[item] - known[:, item] @ known
        row /= np.sqrt(self.left[item])
        self._rows[self._chosen] = row
        self._chosen += 1
        squares = row**2
        # Residuals at 0 stay there: anything more is rounding.
        left = np.where(self.left > 0, self.left - squares, 0)
        left[item] = 0
        if (lowest := left.min()) < -ROUNDING:
            raise not_semidefinite(lowest)
        self._nothing += 4 * np.finfo(float).eps / self.left[item] * squares
        self.left = np.where(left > self._nothing, left, 0)

    def weights(self) -> np.ndarray:
        """Return the residuals of L, (N,), not all 0, times a power of two to keep them finite."""
        most = self._exponents[self.left > 0].max()
        return np.ldexp(self.left * self._variances, self._exponents - most)

    def log2(self, item: int) -> float:
        """Compute the binary logarithm of an item's positive residual of L."""
        return float(np.log2(self.left[item] * self._variances[item]) + self._exponents[item])

    def draw(self, rng: np.random.Generator) -> int:
        """Draw an item with probability proportional to its residual of L."""
        sums = np.cumsum(self.weights())
        return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))

    def largest(self) -> int:
        """Return the item with the largest residual of L; ties up to rounding go to the first."""
        weights = self.weights()
        return int(np.argmax(weights >= weights.max() * (1 - 1e-9)))
