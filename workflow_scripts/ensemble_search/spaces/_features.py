"""Configurations as feature vectors, for distances between them."""

import numpy as np

from ensemble_search.spaces.base import Space


def features(space: Space, points: np.ndarray) -> np.ndarray:
    """Return what distances between configurations are of (Dodge et al., 2017, Section 3).

    A number counts by its position in unit scale. A categorical has a column for every category,
    1 for its own, so that two categories differ by a squared distance of 2. The i-th level of an
    ordinal has i ones and zeros after them. All columns of an inactive hyperparameter are 0, unlike
    in :meth:`Space.encode`, which gives it a value that it does not have.

    Parameters
    ----------
    points
        Of shape (n, n_hyperparameters); see ``Space``.

    Returns
    -------
    features
        float64, of shape (n, d), in [0, 1].
    """
    result = []
    for i, column in enumerate(space.columns):
        entries = points[:, i : i + 1]
        if column.choices is not None:
            places = np.arange(len(column.choices))
            if column.categorical:
                entries = entries == places
            else:
                entries = np.rint(entries * (len(places) - 1)) >= places
        result.append(np.nan_to_num(np.asarray(entries, dtype=float)))
    return np.concatenate(result, axis=1)


def dimensions(space: Space) -> int:
    """Number of features."""
    return sum(1 if column.choices is None else len(column.choices) for column in space.columns)
