"""Regularized evolution's population: the latest successes, and the ensemble of parents in it."""

import numpy as np

from ensemble_search.ensembles.greedy.error_counts import make_votes


def current(ok: np.ndarray, size: int) -> np.ndarray:
    """Return the population: the last ``size`` of the successful evaluations ``ok`` (indices).

    The oldest leaves when a success joins; a failed evaluation does not live to join.
    """
    return ok[max(len(ok) - size, 0) :]


def forward_selection(
    predictions: np.ndarray, labels: np.ndarray, size: int, rng: np.random.Generator
) -> list[int]:
    """Choose ``size`` different models greedily (ForwardSelect of Zaidi et al., NeurIPS 2021).

    Every round adds the model, of those that are not in yet, that makes the error of the mean
    probability lowest, one of equal ones at random.

    Parameters
    ----------
    predictions
        Class probabilities without NaN, of shape (n, n_samples, n_columns).
    labels
        Int, of shape (n_samples,).
    size
        Models to choose; all n where there are no more.

    Returns
    -------
    chosen
        Indices in the order in which they were chosen.
    """
    votes = make_votes(predictions, labels)
    models = votes.models(0, len(predictions))
    sums, chosen = votes.zero, []
    while len(chosen) < min(size, len(predictions)):
        wrong = votes.counter(sums, len(chosen) + 1)(models)
        wrong[chosen] = len(labels) + 1  # more than any other
        winner = int(np.lexsort((rng.random(len(wrong)), wrong))[0])
        sums = votes.add(sums, winner)
        chosen.append(winner)
    return chosen
