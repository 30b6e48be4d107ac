"""Regularized evolution's population: the latest successes, and the ensemble of parents in it."""

import numpy as np

from ensemble_search.ensembles.greedy.running_sums import make_sums
from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.error import ERROR


def current(ok: np.ndarray, size: int) -> np.ndarray:
    """Return the population: the last ``size`` of the successful evaluations ``ok`` (indices).

    The oldest leaves when a success joins; a failed evaluation does not live to join.
    """
    return ok[max(len(ok) - size, 0) :]


def forward_selection(
    predictions: np.ndarray,
    labels: np.ndarray,
    size: int,
    rng: np.random.Generator,
    metric: Metric = ERROR,
) -> list[int]:
    """Choose ``size`` different models greedily (ForwardSelect of Zaidi et al., NeurIPS 2021).

    Every round adds the model, of those that are not in yet, that makes the loss of the mean
    prediction lowest, one of equal ones at random.

    Parameters
    ----------
    predictions
        Class probabilities without NaN, of shape (n, n_samples, n_columns).
    labels
        Int, of shape (n_samples,).
    size
        Models to choose; all n where there are no more.
    rng
        Of ties.
    metric
        What the ensemble is to minimise.

    Returns
    -------
    chosen
        Indices in the order in which they were chosen.
    """
    candidates = make_sums(predictions, labels, metric)
    models = candidates.models(0, len(predictions))
    sums, chosen = candidates.zero, []
    while len(chosen) < min(size, len(predictions)):
        losses = candidates.scorer(sums, len(chosen) + 1)(models).astype(float)
        losses[chosen] = np.inf
        winner = int(np.lexsort((rng.random(len(losses)), losses))[0])
        sums = candidates.add(sums, winner)
        chosen.append(winner)
    return chosen
