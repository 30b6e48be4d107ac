"""Temperature scaling of class probabilities (Guo et al., ICML 2017); residuals of a regression."""

import numpy as np

from ensemble_search.metrics.base import UNWEIGHTED
from ensemble_search.metrics.log_loss import LOWEST
from ensemble_search.predictor.ensemble import MOST_RESIDUALS, TEMPERATURES, calibrated

#: Number of bins of a calibration curve.
BINS = 10


def temperature(
    probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray = UNWEIGHTED
) -> float:
    """Return the temperature with the smallest log loss.

    If (almost) no row is wrong, the log loss falls with the temperature, and probabilities would
    become 0 and 1. Therefore, temperatures below 1 must leave a mean probability of being wrong of
    at least 1 / (n_samples + 2), as by Laplace's rule of succession.

    ``probabilities`` are of rows that no member was fitted on, of shape (n_samples, n_classes);
    ``labels`` codes of their classes, ``weights`` their weights (default: equal), one per row.
    """
    from scipy.optimize import brentq, minimize_scalar

    def loss(log: float) -> float:
        return log_loss(calibrated(probabilities, float(np.exp(log))), labels, weights)

    def doubt(log: float) -> float:
        top = calibrated(probabilities, float(np.exp(log))).max(axis=1)
        return float(np.mean(1 - top)) - 1 / (len(labels) + 2)

    found = minimize_scalar(loss, bounds=np.log(TEMPERATURES), method="bounded")
    if found.fun >= loss(0.0) or (found.x < 0 and doubt(0.0) <= 0):
        return 1.0
    if found.x < 0 and doubt(found.x) < 0:
        return float(np.exp(brentq(doubt, found.x, 0.0)))
    return float(np.exp(found.x))


def log_loss(
    probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray = UNWEIGHTED
) -> float:
    """Return the mean negative log probability of the labels, as the metric ``log-loss``."""
    own = np.maximum(probabilities[np.arange(len(labels)), labels], LOWEST)
    losses = -np.log(own)
    mean = np.average(losses, weights=weights) if weights.size else losses.mean()
    return max(0.0, float(mean))  # not -0.0


def curve(
    probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray = UNWEIGHTED
) -> dict[str, np.ndarray]:
    """Return how often the most probable class, or the second of two, is right, by probability.

    For each non-empty bin of equal width: ``probability`` (mean), ``right`` (share) and ``rows``
    (number of rows, or sum of their weights).
    """
    top, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    if probabilities.shape[1] == 2:
        top, right = probabilities[:, 1], labels == 1
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    own = weights if weights.size else np.ones(len(labels))
    rows = np.bincount(bins, own, BINS)
    some = rows > 0
    return {
        "probability": np.bincount(bins, own * top, BINS)[some] / rows[some],
        "right": np.bincount(bins, own * right, BINS)[some] / rows[some],
        "rows": rows[some],
    }


def residuals(gaps: np.ndarray, weights: np.ndarray = UNWEIGHTED) -> np.ndarray:
    """Return sorted absolute residuals, of which a prediction interval's half width is one.

    At most ``MOST_RESIDUALS``, a random sample, which gives as good an interval. With weights,
    quantiles of their weighted distribution, as many as the effective number of rows (Kish, 1965).
    Intervals are too narrow if a few rows have most of the weight.

    ``gaps`` are the residuals of rows that no member was fitted on, ``weights`` their weights
    (default: equal), of shape (n_samples,).
    """
    gaps = np.abs(gaps)
    if not weights.size:
        some = np.random.default_rng(0).permutation(len(gaps))[:MOST_RESIDUALS]
        return np.sort(gaps[some])
    order, whole = np.argsort(gaps), weights.sum()
    n = min(int(whole**2 / np.sum(weights**2) + 1e-9), MOST_RESIDUALS)
    shares = np.cumsum(weights[order]) / whole
    return gaps[order][np.searchsorted(shares, np.arange(1, n + 1) / n - 1e-9)]


def expected_error(curve: dict[str, np.ndarray]) -> float:
    """Return the expected calibration error: mean gap of a curve, weighted by rows."""
    gaps = np.abs(curve["probability"] - curve["right"])
    return float(np.average(gaps, weights=curve["rows"]))
