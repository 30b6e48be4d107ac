"""What is left of the variance of N items when those chosen are known."""

from collections.abc import Callable

import numpy as np

from ensemble_search.dpp.kernels import ROUNDING, not_semidefinite

#: Residuals below this part of an item's own variance are rounding: the item depends on others.
NOTHING = 1e-12


class Residuals:
    """Schur complements of all items with respect to the chosen ones, by incremental Cholesky.

    The residual of item i is det(L of chosen and i) / det(L of chosen), and the posterior variance
    of i under a Gaussian process without noise with kernel L.

    Parameters
    ----------
    diagonal
        Variances L_ii, (N,).
    column
        Item to its column of L, (N,).
    k
        Number of items that will be chosen at most; the t-th costs O(t N) and a column.

    Attributes
    ----------
    left
        The residuals, (N,); 0 for chosen items and for those below :data:`NOTHING`.
    """

    def __init__(self, diagonal: np.ndarray, column: Callable[[int], np.ndarray], k: int):
        self.left = np.array(diagonal, float)
        self._diagonal = self.left.copy()
        self._column = column
        self._rows = np.empty((k, len(self.left)))
        self._chosen = 0

    def choose(self, item: int) -> None:
        """Add an item with a positive residual to the chosen ones.

        Raises
        ------
        UserError
            If this shows that L is not positive semidefinite.
        """
        known = self._rows[: self._chosen]
        row = self._column(item) - known[:, item] @ known
        row /= np.sqrt(self.left[item])
        self._rows[self._chosen] = row
        self._chosen += 1
        # Those at 0 stay there: what remains of them is rounding.
        left = np.where(self.left > 0, self.left - row**2, 0)
        left[item] = 0
        if (lowest := (left + ROUNDING * self._diagonal).min()) < 0:
            raise not_semidefinite(lowest)
        self.left = np.where(left > NOTHING * self._diagonal, left, 0)

    def draw(self, rng: np.random.Generator) -> int:
        """Draw an item with probability proportional to its residual."""
        sums = np.cumsum(self.left)
        return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))

    def largest(self) -> int:
        """Return the item of the largest residual, the first of those equal up to rounding."""
        return int(np.argmax(self.left >= self.left.max() * (1 - 1e-9)))
