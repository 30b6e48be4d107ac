"""The problem type follows from the metric: a loss of class probabilities or of numbers."""

import numpy as np

from ensemble_search.metrics.base import UNWEIGHTED
from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION, Classification
from ensemble_search.problems.regression import REGRESSION, Regression
from ensemble_search.runtime import plugins

#: Problem types with their default metrics, by task.
PROBLEMS = {problem.task: problem for problem in (CLASSIFICATION, REGRESSION)}
_TYPES = {kind.task: kind for kind in (Classification, Regression)}


def problem(metric: str, weights: np.ndarray = UNWEIGHTED) -> Problem:
    """Create the problem for a metric, given by name, and sample weights (default: equal)."""
    made = plugins.load("metrics", metric)()
    return _TYPES[made.task](made.with_weights(weights))
