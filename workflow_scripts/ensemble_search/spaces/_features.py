"""Configurations as feature vectors, for distances between them."""

import numpy as np

from ensemble_search.spaces.base import Space


def features(space: Space, points: np.ndarray) -> np.ndarray:
    """Return the features for distances between configurations (Dodge et al., 2017, Section 3).

    The feature of a number is its position in unit scale. A categorical is one-hot encoded, so that
    two categories have a squared distance of 2. The i-th level of an ordinal has i ones followed by
    zeros. All columns of an inactive hyperparameter are 0, unlike in :meth:`Space.encode`, which
    fills in a default.

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
