"""Ensemble optimization's own ensemble: slots that are refilled in turn.

It is recomputed from the successes whenever needed: 250 models on 8000 samples take a tenth of a
second.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ensemble_search.ensembles.greedy.running_sums import RunningSums, Scorer, make_sums
from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.error import ERROR

SEED = 0
"""Seed for ties, shared by all searches: a search and its ensemble must fill slots equally."""


def fillings(
    predictions: Sequence[np.ndarray] | np.ndarray,
    labels: np.ndarray,
    size: int,
    metric: Metric = ERROR,
) -> Iterator[list[int]]:
    """Yield, for every prefix of the successes, the models in its slots.

    After the n-th success (from 1), slot (n - 1) mod size gets the model, of the n, that minimises
    the loss of the slots' mean prediction; ties are broken uniformly at random with the seed
    (:data:`SEED`, n). The first ``size`` successes fill empty slots (Lévesque et al., UAI 2016).

    Parameters
    ----------
    predictions
        Class probabilities of each model, without NaN, of shape (n_samples, n_columns).
    labels
        Int, of shape (n_samples,).
    size
        Number of slots.
    metric
        Loss to minimise.

    Yields
    ------
    slots
        Indices of the models in slots 0, 1, ..., at most ``size``.
    """
    if not len(predictions):
        return
    candidates = make_sums(predictions, labels, metric)
    slots: list[int] = []
    for n in range(1, len(predictions) + 1):
        turn = (n - 1) % size
        _, tied = _scorer(candidates, slots, turn).lowest(range(n))
        winner = int(tied[np.random.default_rng([SEED, n]).random(n)[tied].argmin()])
        slots = [*slots[:turn], winner, *slots[turn + 1 :]]
        yield slots


def next_losses(
    predictions: Sequence[np.ndarray] | np.ndarray,
    labels: np.ndarray,
    size: int,
    metric: Metric = ERROR,
) -> np.ndarray:
    """Return the loss of the slots with each model in the next slot.

    Parameters
    ----------
    predictions, labels, size, metric
        See :func:`fillings`; at least one model.

    Returns
    -------
    losses
        Of shape (n,).
    """
    *_, slots = fillings(predictions, labels, size, metric)
    n = len(predictions)
    candidates = make_sums(predictions, labels, metric)
    return candidates.losses(_scorer(candidates, slots, n % size).losses(range(n)))


def _scorer(candidates: RunningSums, slots: list[int], turn: int) -> Scorer:
    """Return the scorer of models in slot ``turn``, given the models in other slots."""
    others = slots[:turn] + slots[turn + 1 :]
    sums = candidates.zero
    for model in others:
        sums = candidates.add(sums, model)
    return candidates.scorer(sums, len(others) + 1)
