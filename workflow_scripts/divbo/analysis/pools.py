"""How different the members of a final ensemble are from one another (Figure 6)."""

import numpy as np

from divbo.ensembles.base import expand


def mean_of_pairs(matrix: np.ndarray) -> float:
    """Mean over the pairs of different members of a symmetric matrix; NaN for fewer than two."""
    n = len(matrix)
    return float(matrix[np.triu_indices(n, 1)].mean()) if n > 1 else np.nan


def correct(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each member alone is right.

    Parameters
    ----------
    predictions
        Class probabilities as they are stored, of shape (n_members, n_samples, n_columns).
    labels
        True labels, int, of shape (n_samples,).

    Returns
    -------
    correct
        bool, of shape (n_members, n_samples); the first of tied classes is taken.
    """
    return expand(np.asarray(predictions)).argmax(axis=-1) == labels


def disagreement(correct: np.ndarray) -> float:
    """Mean over pairs of the share of samples on which exactly one of the two is right.

    The disagreement measure of Kuncheva and Whitaker (2003), which the caption of Figure 6 gives;
    for two classes it is the share of samples whose predicted labels differ.

    Parameters
    ----------
    correct
        bool, of shape (n_members, n_samples).

    Returns
    -------
    disagreement
        In [0, 1]; NaN for fewer than two members.
    """
    n, samples = correct.shape
    if n < 2:
        return np.nan
    right = correct.sum(axis=0)  # a sample that r of n get right splits r (n - r) pairs
    return float((right * (n - right)).sum() / (samples * n * (n - 1) / 2))
