"""What an optimizer observes of an evaluation, and the random generator that it is given.

Together with the optimizer, the space and the worker, this is the code that decides what a search
finds; a change here makes every search another one.
"""

from collections.abc import Sequence

import numpy as np

from ensemble_search.evaluation.status import OK
from ensemble_search.optimizers.base import Observation
from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.spaces.base import Configuration


def generator(seed: Sequence[int], iteration: int) -> np.random.Generator:
    """Make the generator of an iteration: it depends on the seed and the iteration alone."""
    return np.random.default_rng([*seed, iteration])


def observation(
    configuration: Configuration,
    status: str,
    error: float | None,
    validation: np.ndarray | None,
    problem: Problem = CLASSIFICATION,
) -> Observation:
    """Make the observation of an evaluation; ``validation`` are its stored predictions.

    It gets a copy that it cannot write to: what is stored stays as it is.
    """
    if status != OK:
        return Observation(configuration, status, float("nan"), None)
    prediction = problem.expand(validation).copy()
    prediction.flags.writeable = False
    return Observation(configuration, status, error, prediction)
