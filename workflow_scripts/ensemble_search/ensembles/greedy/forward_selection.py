"""The population and the ensemble of parents of regularized evolution."""

from collections.abc import Sequence

import numpy as np

from ensemble_search.ensembles.greedy.running_sums import make_sums
from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.error import ERROR


def current(ok: np.ndarray, size: int) -> np.ndarray:
    """Return the population: the last ``size`` of the successful evaluations ``ok`` (indices).

    A success replaces the oldest member; failures do not join.
    """
    return ok[max(len(ok) - size, 0) :]


def forward_selection(
    predictions: Sequence[np.ndarray] | np.ndarray,
    labels: np.ndarray,
    size: int,
    rng: np.random.Generator,
    metric: Metric = ERROR,
) -> list[int]:
    """Choose ``size`` different models greedily (ForwardSelect of Zaidi et al., NeurIPS 2021).

    Every round adds the model not yet chosen that minimises the loss of the mean prediction; ties
    are broken at random.

    Parameters
    ----------
    predictions
        Class probabilities of each model, without NaN, of shape (n_samples, n_columns).
    labels
        Int, of shape (n_samples,).
    size
        Number of models to choose; at most n.
    rng
        Generator for ties.
    metric
        Loss to minimise.

    Returns
    -------
    chosen
        Indices in the order of choice.
    """
    candidates = make_sums(predictions, labels, metric)
    models, sums, chosen = range(len(predictions)), candidates.zero, list[int]()
    while len(chosen) < min(size, len(predictions)):
        scorer = candidates.scorer(sums, len(chosen) + 1)
        _, tied = scorer.lowest(models, without=chosen)
        winner = int(tied[rng.random(len(predictions))[tied].argmin()])
        sums = candidates.add(sums, winner)
        chosen.append(winner)
    return chosen
