"""Bootstraps of the validation rows, and the losses of models on them (ESMBO paper, Section 3)."""

from typing import Any

import numpy as np

from ensemble_search.metrics.base import Metric

#: Maximum number of bootstraps.
MOST = 10_000


def number(evaluations: int | None) -> int:
    """Return the default number of bootstraps: half the evaluations; 75 if None.

    At least 1, and at most :data:`MOST`.
    """
    return 75 if evaluations is None else min(max(1, evaluations // 2), MOST)


def counts(numbers: range, rows: int, ratio: float, seed: int) -> np.ndarray:
    """Return how often each bootstrap contains each row, int, of shape (len(numbers), rows).

    Parameters
    ----------
    numbers
        Which bootstraps, from 0.
    rows
        Number of rows.
    ratio
        Size of a bootstrap over the number of rows; at least one row is drawn.
    seed
        The repeat: a search and its ensemble share the same bootstraps. Each bootstrap is drawn by
        the generator of (seed, its number).
    """
    size = max(1, round(ratio * rows))
    draws = (np.random.default_rng([seed, n]).integers(rows, size=size) for n in numbers)
    return np.stack([np.bincount(drawn, minlength=rows) for drawn in draws])


def losses(
    counts: np.ndarray, labels: np.ndarray, predictions: np.ndarray, metric: Metric
) -> np.ndarray:
    """Return the loss of every model on every bootstrap, of shape (n_models, n_bootstraps).

    Losses are rounded to float32, so that models that differ only in the last bits of a sum tie.

    Parameters
    ----------
    counts
        See :func:`counts`.
    labels
        Of shape (n_samples,), as the metric takes them.
    predictions
        Without NaN, of shape (n_models, n_samples, n_columns); if there are two columns, the second
        is used.
    metric
        If it is not a mean over samples, it is computed for every model and bootstrap.
    """
    if predictions.shape[2] == 2:
        predictions = predictions[:, :, 1:]
    each = [metric.losses(labels, model) for model in predictions]
    found: Any
    known = [own for own in each if own is not None]
    if len(known) < len(each):
        rows = [np.repeat(np.arange(len(labels)), n) for n in counts]
        found = [[metric.on(r).loss(labels[r], model[r]) for r in rows] for model in predictions]
    else:
        found = np.stack(known) @ counts.T / counts[0].sum()
    return np.array(found, dtype=np.float32).astype(float)
