"""Probabilistic random forest on all pairs of configurations."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._forest import grow
from ensemble_search.surrogates._pairs.rows import Pairs
from ensemble_search.surrogates.base import DiversityModel, DiversitySurrogate


class RandomForestPairs(DiversitySurrogate):
    """Random forest on one-hot encoded pairs (DivBO paper, Figure 2: PRF).

    Each tree is a member and learns from a bootstrap sample of the pairs, not of the
    configurations. Predictions are means over both orders of a pair.
    """

    trees: int = Field(10, ge=2, description="Trees of the forest, the members of the model.")

    def fit(
        self,
        vectors: np.ndarray,
        diversities: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> DiversityModel:
        """Fit the forest; see :meth:`DiversitySurrogate.fit`."""
        pairs = Pairs.of(vectors, diversities, categories)
        if not pairs.varying.any():
            return pairs.no_model(self.trees)
        trees = grow(pairs.rows, pairs.targets, self.trees, rng)

        def predict(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            a, b = pairs.columns(a), pairs.columns(b)
            result = np.empty((len(trees), len(a), len(b)))
            for j, other in enumerate(b):  # not at once: 5000 x 25 rows would take too much memory
                others = np.broadcast_to(other, a.shape)
                orders = np.hstack([a, others]), np.hstack([others, a])
                for i, tree in enumerate(trees):
                    result[i, :, j] = sum(tree.predict(rows).ravel() for rows in orders) / 2
            return result

        return predict
