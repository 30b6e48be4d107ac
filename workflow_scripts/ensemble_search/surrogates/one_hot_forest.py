"""Random forest on one-hot columns, to show the effect of categorical splits."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates._forest import grow
from ensemble_search.surrogates.base import PerformanceModel, PerformanceSurrogate, one_hot


class OneHotForest(PerformanceSurrogate):
    """scikit-learn's forest on one-hot columns, for comparison with ``random-forest``.

    Mean and variance (at least 1e-10) are those of the trees' predictions. The column of an untried
    algorithm is constant, so no tree splits on it: all predict the mean of the others, and expected
    improvement hardly ever chooses the algorithm (``benchmarks/unseen_algorithms.py``).
    """

    trees: int = Field(10, ge=2, description="Trees of the forest.")

    def fit(
        self,
        vectors: np.ndarray,
        errors: np.ndarray,
        categories: np.ndarray,
        rng: np.random.Generator,
    ) -> PerformanceModel:
        """Fit the forest; see :meth:`PerformanceSurrogate.fit`."""
        trees = grow(one_hot(vectors, categories), errors, self.trees, rng)

        def predict(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            columns = one_hot(vectors, categories)
            means = np.stack([tree.predict(columns).ravel() for tree in trees])
            return means.mean(axis=0), np.sqrt(np.maximum(means.var(axis=0), 1e-10))

        return predict
