"""Probabilistic random forest: the performance surrogate of SMAC, OpenBox and DivBO."""

import numpy as np
from pydantic import Field

from divbo.surrogates.base import PerformanceModel, PerformanceSurrogate


class RandomForest(PerformanceSurrogate):
    """Forest whose trees' spread is the uncertainty (OpenBox's settings).

    The mean is the mean of the trees' means, the variance is the variance of the trees' means
    (no less than 1e-10). Every split looks at 5/6 of the columns; a node of fewer than 3
    observations is not split, and a leaf holds at least 3.
    """

    trees: int = Field(10, ge=2, description="Trees of the forest.")

    def fit(
        self, vectors: np.ndarray, errors: np.ndarray, rng: np.random.Generator
    ) -> PerformanceModel:
        """Fit the forest; see :meth:`PerformanceSurrogate.fit`."""
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            n_estimators=self.trees,
            max_features=5 / 6,
            min_samples_split=3,
            min_samples_leaf=3,
            random_state=int(rng.integers(2**31)),
        ).fit(np.asarray(vectors, dtype=np.float32), errors)
        trees = [estimator.tree_ for estimator in forest.estimators_]

        def predict(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            # The trees themselves, without the checks that each scikit-learn call repeats.
            vectors = np.ascontiguousarray(vectors, dtype=np.float32)
            means = np.stack([tree.predict(vectors).ravel() for tree in trees])
            return means.mean(axis=0), np.sqrt(np.maximum(means.var(axis=0), 1e-10))

        return predict
