"""Diversity of two configurations: how far apart their class probabilities are (paper, Eq. 3)."""

from collections.abc import Sequence

import numpy as np

_known: tuple[list[np.ndarray], np.ndarray] = ([], np.zeros((0, 0)))


def diversity(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Mean over the samples of the Euclidean distance of two probability vectors, over sqrt(2).

    DivBO paper, Eq. 3. It is symmetric, lies in [0, 1] and is 0 for equal predictions.

    Parameters
    ----------
    p, q
        Class probabilities, of shapes (..., n_samples, n_classes) that broadcast.

    Returns
    -------
    diversity
        float64, of the broadcast shape without its last two axes.
    """
    squares = np.square(np.asarray(p) - np.asarray(q)).sum(axis=-1)
    return np.sqrt(squares).mean(axis=-1, dtype=np.float64) / np.sqrt(2.0)


def pairwise(predictions: Sequence[np.ndarray]) -> np.ndarray:
    """Diversity of every pair.

    The matrix of the last call is kept: where ``predictions`` begins with the very same arrays,
    as in a search that grows by one evaluation at a time, only new rows are computed. Every row
    is always computed against the rows before it, so the result has the same bits either way.

    Parameters
    ----------
    predictions
        n arrays of class probabilities, each of shape (n_samples, n_classes).

    Returns
    -------
    diversities
        float64, of shape (n, n), symmetric with zeros on the diagonal; read-only.
    """
    global _known  # noqa: PLW0603 - a cache that may be thrown away at any time
    arrays, matrix = _known
    same = 0
    while same < min(len(arrays), len(predictions)) and arrays[same] is predictions[same]:
        same += 1
    n = len(predictions)
    result = np.zeros((n, n))
    result[:same, :same] = matrix[:same, :same]
    if same < n:
        stacked = np.stack(predictions)
        for i in range(max(same, 1), n):
            result[i, :i] = result[:i, i] = diversity(stacked[i], stacked[:i])
    result.flags.writeable = False
    _known = (list(predictions), result)
    return result
