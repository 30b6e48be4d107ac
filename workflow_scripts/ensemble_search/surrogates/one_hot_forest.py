"""Random forest on one-hot columns: what a forest without categorical splits does to a search."""

import numpy as np
from pydantic import Field

from ensemble_search.surrogates.base import PerformanceModel, PerformanceSurrogate, one_hot


class OneHotForest(PerformanceSurrogate):
    """scikit-learn's forest on one column a category, for comparison with ``random-forest``.

    The mean is the mean of the trees' means, the variance is the variance of the trees' means
    (no less than 1e-10). Every split looks at 5/6 of the columns; a node of fewer than 3
    observations is not split, and a leaf holds at least 3. The column of an algorithm that was
    never tried is constant, so no tree splits on it: all of them predict the mean of the others,
    and expected improvement hardly ever chooses it (docs/optimizers.md).
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
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            n_estimators=self.trees,
            max_features=5 / 6,
            min_samples_split=3,
            min_samples_leaf=3,
            random_state=int(rng.integers(2**31)),
        ).fit(one_hot(vectors, categories), errors)
        trees = [estimator.tree_ for estimator in forest.estimators_]

        def predict(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            # The trees themselves, without the checks that each scikit-learn call repeats.
            columns = one_hot(vectors, categories)
            means = np.stack([tree.predict(columns).ravel() for tree in trees])
            return means.mean(axis=0), np.sqrt(np.maximum(means.var(axis=0), 1e-10))

        return predict
