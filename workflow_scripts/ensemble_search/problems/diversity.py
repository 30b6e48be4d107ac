"""Pairwise diversities of a growing list of predictions."""

from collections.abc import Sequence

import numpy as np

from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION

_known: tuple[Problem | None, list[np.ndarray], np.ndarray] = (None, [], np.zeros((0, 0)))


def pairwise(predictions: Sequence[np.ndarray], problem: Problem = CLASSIFICATION) -> np.ndarray:
    """Return the diversity of every pair.

    The last result is cached: if ``predictions`` begins with the same array objects, as in a
    growing search, only new rows are computed. Rows are always computed against those before, so
    the bits are the same either way.

    Parameters
    ----------
    predictions
        n predictions of models, each of shape (n_samples, n_outputs).
    problem
        Defines the diversity.

    Returns
    -------
    diversities
        float64, of shape (n, n), symmetric with zeros on the diagonal; read-only.
    """
    global _known  # noqa: PLW0603 - a disposable cache
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
