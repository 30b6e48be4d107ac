"""Temperature scaling of class probabilities (Guo et al., ICML 2017)."""

import numpy as np

from ensemble_search.metrics.base import UNWEIGHTED
from ensemble_search.metrics.log_loss import LOWEST
from ensemble_search.predictor.ensemble import TEMPERATURES, calibrated

#: Number of bins of a calibration curve.
BINS = 10


def temperature(
    probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray = UNWEIGHTED
) -> float:
    """Return the temperature with the smallest log loss.

    Parameters
    ----------
    probabilities
        For rows that no member was fitted on, of shape (n_samples, n_classes).
    labels, weights
        Codes of their classes, and weights (default: equal), of shape (n_samples,).
    """
    from scipy.optimize import minimize_scalar

    def loss(log: float) -> float:
        return log_loss(calibrated(probabilities, float(np.exp(log))), labels, weights)

    found = minimize_scalar(loss, bounds=np.log(TEMPERATURES), method="bounded")
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0


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

    Returns
    -------
    curve
        For each non-empty bin of equal width: ``probability`` (mean), ``right`` (share) and
        ``rows`` (number of rows, or sum of their weights).
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


def expected_error(curve: dict[str, np.ndarray]) -> float:
    """Return the expected calibration error: mean gap of a curve, weighted by rows."""
    gaps = np.abs(curve["probability"] - curve["right"])
    return float(np.average(gaps, weights=curve["rows"]))
