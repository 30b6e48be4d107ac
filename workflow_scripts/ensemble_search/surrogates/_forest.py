"""Random forests with OpenBox's settings."""

import numpy as np

#: Every split considers 5/6 of the columns; a leaf holds at least 3 rows.
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


def fitted(tree, columns: np.ndarray, targets: np.ndarray):
    """Fit a tree estimator without scikit-learn's checks, which take half of the time.

    Parameters
    ----------
    tree
        The unfitted estimator.
    columns
        float32, of shape (n, n_columns), without NaN.
    targets
        float64, contiguous.

    Returns
    -------
    tree
        The ``Tree`` object, see :func:`grow`.
    """
    from sklearn import config_context

    with config_context(skip_parameter_validation=True):
        return tree.fit(columns, targets, check_input=False).tree_
