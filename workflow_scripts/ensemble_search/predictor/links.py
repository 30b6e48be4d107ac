"""Convert scores to predictions.

A link maps scores, of shape (n_samples, n_scores), to class probabilities or to numbers.
"""

from collections.abc import Callable, Mapping

import numpy as np


def expit(scores: np.ndarray) -> np.ndarray:
    """The logistic function; importing SciPy's would take longer than loading an ensemble."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-scores))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Exponentials, normalised."""
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


def both(positive: np.ndarray) -> np.ndarray:
    """Probabilities of two classes, from those of the second."""
    return np.column_stack([1 - positive, positive])


def _logistic(scores: np.ndarray) -> np.ndarray:
    # XGBoost's scores and exponentials have single precision.
    return both(expit(scores[:, 0]))


def _rest(scores: np.ndarray) -> np.ndarray:
    """One class against the rest: logistic functions, normalised."""
    return _normalised(expit(scores))


def _clipped(scores: np.ndarray) -> np.ndarray:
    """As ``ScoreClassifier`` for two classes."""
    positive = expit(np.clip(scores[:, 0], -20, 20))
    return both(np.where(positive > 0.999999, 1.0, np.where(positive < 1e-7, 0.0, positive)))


def _linear(scores: np.ndarray) -> np.ndarray:
    """(score + 1) / 2 clipped to [0, 1], as for the modified Huber loss."""
    shares = (np.clip(scores, -1, 1) + 1) / 2
    return both(shares[:, 0]) if shares.shape[1] == 1 else _normalised(shares)


def _normalised(shares: np.ndarray) -> np.ndarray:
    """Shares scaled to sum 1; equal shares if all are 0."""
    none = shares.sum(axis=1) == 0
    shares[none] = 1
    return shares / shares.sum(axis=1, keepdims=True)


def _votes(scores: np.ndarray) -> np.ndarray:
    """As scikit-learn's AdaBoost (SAMME)."""
    k = scores.shape[1]
    if k > 2:
        return softmax(scores / (k - 1))
    decision = -scores[:, 0] + scores[:, 1]
    return softmax(np.column_stack([-decision, decision]) / 2)


#: Links by name.
LINKS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda scores: scores,
    "logistic": _logistic,
    "softmax": softmax,
    "rest": _rest,
    "clipped": _clipped,
    "linear": _linear,
    "votes": _votes,
}


def n_scores(link: str, n_outputs: int) -> int:
    """Number of scores that a link needs for this number of outputs (1 in a regression)."""
    one = link in ("logistic", "clipped") or (link == "linear" and n_outputs == 2)
    if one and n_outputs != 2:
        raise ValueError(f"the link {link} is for two classes, not {n_outputs}")
    return 1 if one else n_outputs
