"""What the card measures on the test rows: intervals of losses, importance of columns."""

from typing import Any

import numpy as np

from ensemble_search.metrics.base import Metric

#: Resamples of the rows for an interval.
RESAMPLES = 1000
#: Rows, and repeats of each permutation, for the importance of columns.
ROWS, REPEATS = 500, 3


def interval(metric: Metric, labels: np.ndarray, predictions: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of a loss that comes from the choice of the test rows.

    Wilson's (1927) if the loss is a share of rows, else percentiles of seeded bootstraps.
    """
    from scipy.stats import binomtest

    rng = np.random.default_rng(0)
    single = metric.losses(labels, predictions)
    if single is not None and np.isin(single, (0, 1)).all():
        found = binomtest(round(float(np.sum(single))), len(labels))
        wilson = found.proportion_ci(0.95, method="wilson")
        return float(wilson.low), float(wilson.high)
    losses = []
    for _ in range(RESAMPLES):
        rows = rng.integers(len(labels), size=len(labels))
        if single is not None and not metric.weights.size:
            losses.append(np.mean(np.asarray(single)[rows]))
        else:
            with np.errstate(all="ignore"):
                losses.append(metric.on(rows).loss(labels[rows], predictions[rows]))
    return tuple(np.nanquantile(losses, [0.025, 0.975]).tolist())


def importance(
    ensemble: Any, X: np.ndarray, labels: np.ndarray, metric: Metric, seed: int
) -> list[dict[str, Any]]:
    """Measure how much the loss rises when the values of a column are shuffled.

    All features made from a column are shuffled together, on at most ``ROWS`` rows.

    Returns
    -------
    rows
        By falling importance: ``column``, ``rise`` of the loss (mean over ``REPEATS``) and
        ``spread`` (standard deviation).
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:ROWS]
    X, labels, metric = X[rows], labels[rows], metric.on(rows)

    def loss(features: np.ndarray) -> float:
        return metric.loss(labels, ensemble.combine(ensemble.member_predictions(features)))

    usual, found = loss(X), []
    for name, places in ensemble.preparation.places().items():
        rises = []
        for _ in range(REPEATS):
            shuffled = X.copy()
            shuffled[:, places] = X[rng.permutation(len(X))][:, places]
            rises.append(loss(shuffled) - usual)
        found.append(
            {"column": name, "rise": float(np.mean(rises)), "spread": float(np.std(rises))}
        )
    return sorted(found, key=lambda row: -row["rise"])
