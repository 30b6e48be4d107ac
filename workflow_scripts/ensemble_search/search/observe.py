"""What an optimizer is shown of an evaluation, and the random numbers that it is given.

Together with the optimizer, the space and the worker, this is the code that decides what a search
finds; a change here makes every search another one.
"""

from collections.abc import Sequence

import numpy as np

from ensemble_search.ensembles.base import Members, expand
from ensemble_search.evaluation.status import OK
from ensemble_search.optimizers.base import Observation
from ensemble_search.spaces.base import Configuration


def generator(seed: Sequence[int], iteration: int) -> np.random.Generator:
    """Make the generator of an iteration: it depends on the seed and the iteration alone."""
    return np.random.default_rng([*seed, iteration])


def observation(
    configuration: Configuration, status: str, error: float | None, validation: np.ndarray | None
) -> Observation:
    """Show the optimizer an evaluation; ``validation`` are its stored predictions.

    It gets a copy that it cannot write to: what is stored stays as it is.
    """
    if status != OK:
        return Observation(configuration, status, float("nan"), None)
    prediction = expand(validation).copy()
    prediction.flags.writeable = False
    return Observation(configuration, status, error, prediction)


def stored(probabilities: np.ndarray | None) -> np.ndarray | None:
    """Keep one column, the probability of class 1, of two classes."""
    if probabilities is None or probabilities.shape[1] != 2:
        return probabilities
    return np.ascontiguousarray(probabilities[:, 1:])


def error_rate(predictions: np.ndarray, labels: np.ndarray) -> float:
    """Share of samples that a learner's stored predictions put into a wrong class."""
    alone = Members(indices=np.array([0]), weights=np.array([1.0]))
    return float(np.mean(alone.predict(predictions[None]) != labels))
