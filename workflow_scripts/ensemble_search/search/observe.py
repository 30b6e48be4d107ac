"""Input of an optimizer: observations of the evaluations and a random generator.

Together with the optimizer, the space and the worker, this code determines the result of a search:
any code change here changes the fingerprint of every search.
"""

from collections.abc import Sequence

import numpy as np

from ensemble_search.optimizers.base import Observation
from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime.names import OK
from ensemble_search.spaces.base import Configuration


def generator(seed: Sequence[int], iteration: int) -> np.random.Generator:
    """Return the generator of an iteration, which depends only on seed and iteration."""
    return np.random.default_rng([*seed, iteration])


def observation(
    configuration: Configuration,
    status: str,
    error: float | None,
    validation: np.ndarray | None,
    problem: Problem = CLASSIFICATION,
    fidelity: float = 1.0,
    seconds: float = 0.0,
    given: bool = False,
) -> Observation:
    """Create the observation of an evaluation from its stored predictions ``validation``.

    The observation holds a read-only copy of them.
    """
    if status != OK or validation is None or error is None:
        return Observation(configuration, status, float("nan"), None, fidelity, seconds, given)
    prediction = problem.expand(validation).copy()
    prediction.flags.writeable = False
    return Observation(configuration, status, error, prediction, fidelity, seconds, given)
