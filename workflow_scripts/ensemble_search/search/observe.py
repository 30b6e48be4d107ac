"""What an optimizer observes of an evaluation, and its random number generator.

Together with the optimizer, the space and the worker, this code determines the result of a search;
a change here changes the fingerprint of every search.
"""

from collections.abc import Sequence

import numpy as np

from ensemble_search.ensembles.base import Members, expand
from ensemble_search.evaluation.status import OK
from ensemble_search.optimizers.base import Observation
from ensemble_search.spaces.base import Configuration


def generator(seed: Sequence[int], iteration: int) -> np.random.Generator:
    """Return the generator of an iteration, which depends on seed and iteration only."""
    return np.random.default_rng([*seed, iteration])


def observation(
    configuration: Configuration, status: str, error: float | None, validation: np.ndarray | None
) -> Observation:
    """Convert an evaluation for the optimizer; ``validation`` are its stored predictions.

    The optimizer gets a read-only copy.
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
    """Misclassification rate of a learner's stored predictions."""
    alone = Members(indices=np.array([0]), weights=np.array([1.0]))
    return float(np.mean(alone.predict(predictions[None]) != labels))
