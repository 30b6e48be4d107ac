"""Random forests with OpenBox's settings."""

import numpy as np

#: Every split looks at 5/6 of the columns; a leaf holds at least 3 rows.
TREE = {"max_features": 5 / 6, "min_samples_split": 3, "min_samples_leaf": 3}


def grow(rows: np.ndarray, targets: np.ndarray, size: int, rng: np.random.Generator) -> list:
    """Fit scikit-learn's random forest of ``size`` trees.

    Returns
    -------
    trees
        The ``Tree`` objects, whose ``predict`` skips scikit-learn's checks: it takes float32 and
        returns float64 of shape (n, 1).
    """
    from sklearn.ensemble import RandomForestRegressor

    seed = int(rng.integers(2**31))
    forest = RandomForestRegressor(size, **TREE, random_state=seed).fit(rows, targets)
    return [estimator.tree_ for estimator in forest.estimators_]
