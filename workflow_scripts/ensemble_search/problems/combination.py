"""Combinations of models' predictions: weighted means and votes."""

from collections.abc import Iterable

import numpy as np

from ensemble_search.metrics.base import predicted_labels

RESOLUTION = 2.0**-32
"""Predictions are rounded to multiples of this value, so that sums are exact in any order."""


def rounded(predictions: np.ndarray) -> np.ndarray:
    """Round predictions to multiples of :data:`RESOLUTION`; float32, of the same shape.

    Only predictions below 1/256 change, because a float32 has 24 bits. Float64 sums of up to 2**20
    probabilities, or of 2**10 numbers up to 2**10, are exact, so ties of means do not depend on the
    order of the models.
    """
    scale = np.float32(1 / RESOLUTION)
    result = np.asarray(predictions, dtype=np.float32) * scale
    np.rint(result, out=result)
    result /= scale
    return result


def mean(predictions: Iterable[np.ndarray], weights: Iterable[float]) -> np.ndarray:
    """Return the weighted mean of stored predictions (``Problem``), (n_samples, n_columns).

    The weights of the models sum to 1. The result is float64.
    """
    each = (w * rounded(p).astype(float) for p, w in zip(predictions, weights, strict=True))
    return sum(each, np.zeros(()))


def votes(predictions: Iterable[np.ndarray], weights: Iterable[float]) -> np.ndarray:
    """Return, per class, the total weight of the models that predict it.

    Parameters and result are those of :func:`mean`; classification only.
    """
    shares = None
    for p, weight in zip(predictions, weights, strict=True):
        if shares is None:
            shares = np.zeros((len(p), max(p.shape[1], 2)))
        shares[np.arange(len(p)), predicted_labels(p)] += weight
    assert shares is not None, "an ensemble has a member"
    return shares[:, 1:] if p.shape[1] == 1 else shares


#: Combinations by the name that a delivered ensemble stores.
COMBINATIONS = {"mean": mean, "votes": votes}
