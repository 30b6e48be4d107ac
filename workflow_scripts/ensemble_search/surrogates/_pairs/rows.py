"""Pairs of configurations as training rows of a regressor."""

from dataclasses import dataclass

import numpy as np

from ensemble_search.surrogates.base import one_hot


@dataclass(frozen=True)
class Pairs:
    """All ordered pairs of n configurations, including (i, i) (DivBO paper, Section 3.1)."""

    #: float32, of shape (n * n, 2 * n_varying): row i * n + j has the columns of i, then those of
    #: j.
    rows: np.ndarray
    targets: np.ndarray  #: diversities of the pairs, of shape (n * n,)
    #: Bool, of shape (n_columns,): the one-hot columns in the rows; the others are constant.
    varying: np.ndarray
    categories: np.ndarray  #: number of categories of each hyperparameter, 0 if it is numerical
    size: int  #: n

    @classmethod
    def of(cls, vectors: np.ndarray, diversities: np.ndarray, categories: np.ndarray) -> "Pairs":
        """Build the pairs of n configurations; see :meth:`DiversitySurrogate.fit`."""
        n = len(vectors)
        vectors = one_hot(vectors, categories)
        varying = (vectors != vectors[0]).any(axis=0)
        vectors = vectors[:, varying]
        rows = np.concatenate(
            [np.repeat(vectors, n, axis=0), np.tile(vectors, (n, 1))],
            axis=1,
        )
        return cls(rows, diversities.ravel(), varying, categories, n)

    def of_subset(self, rng: np.random.Generator) -> np.ndarray:
        """Draw 80 % of the configurations, at least 2; return the indices of their pairs' rows."""
        size = min(self.size, max(2, round(0.8 * self.size)))
        chosen = np.sort(rng.choice(self.size, size, replace=False))
        return (chosen[:, None] * self.size + chosen).ravel()

    def columns(self, vectors: np.ndarray) -> np.ndarray:
        """Return the varying one-hot columns of other configurations, float32."""
        return one_hot(vectors, self.categories)[:, self.varying]
