"""Categories as numbers that a tree can split, in the order of its targets."""

import numpy as np


class Categories:
    """The categories of all hyperparameters, numbered consecutively.

    Parameters
    ----------
    categories
        Number of categories of each hyperparameter, 0 for numbers; int, of shape
        (n_hyperparameters,).
    """

    def __init__(self, categories: np.ndarray):
        self.columns = np.flatnonzero(categories)
        self._sizes = np.asarray(categories)[self.columns]
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._owners = np.repeat(np.arange(len(self._sizes)), self._sizes)

    def codes(self, vectors: np.ndarray) -> np.ndarray:
        """Return the category numbers of encoded configurations.

        Int, of shape (n, n_categorical), columns as in :attr:`columns`.
        """
        return vectors[:, self.columns].astype(np.intp) + self._starts

    def places(
        self, codes: np.ndarray, targets: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Order each hyperparameter's categories by the mean target of their rows.

        For a numerical target, the best binary split of the categories is between neighbours in
        this order (Breiman et al. 1984, Theorem 4.5). Ties are ordered at random. A category
        without rows gets a random place, so that trees with their own orders disagree on it.

        Parameters
        ----------
        codes
            Of the rows, see :meth:`codes`.
        targets
            Of shape (n,).

        Returns
        -------
        places
            float32, of shape (n_codes,): ``places[codes]`` are columns for a tree.
        """
        total = len(self._owners)
        counts = np.bincount(codes.ravel(), minlength=total)
        sums = np.bincount(codes.ravel(), np.repeat(targets, codes.shape[1]), minlength=total)
        seen = counts > 0
        means = np.where(seen, sums / np.maximum(counts, 1), np.inf)
        draws = rng.random(total)
        order = np.lexsort((draws, means, self._owners))
        places = np.empty(total)
        places[order] = np.arange(total) - self._starts[self._owners[order]]
        present = np.bincount(self._owners, seen, minlength=len(self._sizes))[self._owners]
        return np.where(seen, places, draws * present - 0.5).astype(np.float32)
