"""Pairwise diversities of a growing list of predictions."""

from collections.abc import Sequence

import numpy as np

from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION

#: Samples whose distances are summed at a time, the same number as in ``numpy.mean``.
CHUNK = 8192
#: Numbers processed at a time, few enough to stay in the CPU cache.
BLOCK = 2**18

_known: tuple[Problem | None, list[np.ndarray], np.ndarray] = (None, [], np.zeros((0, 0)))


def pairwise(predictions: Sequence[np.ndarray], problem: Problem = CLASSIFICATION) -> np.ndarray:
    """Return the diversity of every pair.

    The last result is cached: if ``predictions`` begins with the same array objects, as in a
    growing search, only new rows are computed. Each row is always computed against earlier rows, so
    the bits are the same either way.

    The n ``predictions`` of models are each of shape (n_samples, n_outputs). The result is float64,
    of shape (n, n), symmetric with zeros on the diagonal; read-only.
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
        new = _lower_rows(predictions, problem, same)
        result[same:] = new
        result[:, same:] += new.T
    result.flags.writeable = False
    _known = (problem, list(predictions), result)
    return result


def _lower_rows(predictions: Sequence[np.ndarray], problem: Problem, first: int) -> np.ndarray:
    """Return the diversities of predictions from ``first`` on to earlier ones, else 0.

    The shape is (n - first, n). Samples are processed class by class, which is faster in NumPy.
    """
    n, (samples, outputs), dtype = len(predictions), predictions[0].shape, predictions[0].dtype
    sums = np.zeros((n - first, n))
    others = max(BLOCK // (min(CHUNK, samples) * outputs), 1)
    for start in range(0, samples, CHUNK):
        size = min(CHUNK, samples - start)
        by_class = np.empty((outputs, n, size), dtype)
        for place, model in enumerate(predictions):
            by_class[:, place] = model[start : start + size].T
        models = by_class.transpose(1, 2, 0)
        for row, new in zip(sums, range(first, n), strict=True):
            for j in range(0, new, others):
                some = slice(j, min(j + others, new))
                distances = problem.distances(models[new], models[some])
                row[some] += distances.sum(axis=1, dtype=np.float64)
    return problem.scaled(sums / samples)
