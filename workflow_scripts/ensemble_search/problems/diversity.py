"""Diversity of all pairs of a growing list of predictions."""

from collections.abc import Sequence

import numpy as np

from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION

_known: tuple[Problem | None, list[np.ndarray], np.ndarray] = (None, [], np.zeros((0, 0)))


def pairwise(predictions: Sequence[np.ndarray], problem: Problem = CLASSIFICATION) -> np.ndarray:
    """Diversity of every pair.

    The matrix of the last call is kept: where ``predictions`` begins with the very same arrays,
    as in a search that grows by one evaluation at a time, only new rows are computed. Every row
    is always computed against the rows before it, so the result has the same bits either way.

    Parameters
    ----------
    predictions
        n arrays as models give them, each of shape (n_samples, n_outputs).
    problem
        Its ``diversity`` is taken.

    Returns
    -------
    diversities
        float64, of shape (n, n), symmetric with zeros on the diagonal; read-only.
    """
    global _known  # noqa: PLW0603 - a cache that may be thrown away at any time
    other, arrays, matrix = _known
    arrays = arrays if other == problem else []
    same = 0
    while same < min(len(arrays), len(predictions)) and arrays[same] is predictions[same]:
        same += 1
    n = len(predictions)
    result = np.zeros((n, n))
    result[:same, :same] = matrix[:same, :same]
    if same < n:
        stacked = np.stack(predictions)
        for i in range(max(same, 1), n):
            result[i, :i] = result[:i, i] = problem.diversity(stacked[i], stacked[:i])
    result.flags.writeable = False
    _known = (problem, list(predictions), result)
    return result
