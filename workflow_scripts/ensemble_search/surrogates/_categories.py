"""Categories as numbers that a tree can split, ordered by target."""

import numpy as np


class Categories:
    """The categories of all hyperparameters, numbered consecutively.

    Parameters
    ----------
    categories
        Number of categories of each hyperparameter, 0 if it is numerical; int, of shape
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

        For a numerical target, the best binary split of categories lies between neighbours in this
        order (Breiman et al. 1984, Theorem 4.5). Ties are ordered at random. A category without
        rows gets a random place, so that trees, each with its own order, disagree on it.

        Parameters
        ----------
        codes
            Codes of the rows; see :meth:`codes`.
        targets
            Targets, of shape (n,).

        Returns
        -------
        places
            float32, of shape (n_codes,): ``places[codes]`` gives a tree's columns.
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
