"""Categories as numbers that a tree can split: ordered by what the tree is to learn."""

import numpy as np


class Categories:
    """The categories of all hyperparameters, numbered through.

    Parameters
    ----------
    categories
        Number of categories of each hyperparameter, 0 of a number; int, of shape
        (n_hyperparameters,).
    """

    def __init__(self, categories: np.ndarray):
        self.columns = np.flatnonzero(categories)
        self._sizes = np.asarray(categories)[self.columns]
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._owners = np.repeat(np.arange(len(self._sizes)), self._sizes)

    def codes(self, vectors: np.ndarray) -> np.ndarray:
        """Return the numbers of the categories of encoded configurations.

        Int, of shape (n, n_categorical), columns as in :attr:`columns`.
        """
        return vectors[:, self.columns].astype(np.intp) + self._starts

    def places(
        self, codes: np.ndarray, targets: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Place each hyperparameter's categories on a line, by the mean target of their rows.

        For a numerical target the best split of a category into two subsets is one between
        neighbours on this line (Breiman et al. 1984, Theorem 4.5). Equal means are ordered at
        random. A category without a row falls anywhere between the others, or beyond them: trees
        with places of their own do not agree on it.

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
