"""How different the members of an ensemble are, and what averaging them gains.

The measures are those of Kuncheva and Whitaker, "Measures of diversity in classifier ensembles"
(2003), and Zhou, "Ensemble methods" (2012), chapter 5: ``right`` marks which of the T members is
right on which of the n samples, and weights are ignored. The decompositions apply to the squared
loss of the weighted mean of the members' predictions.
"""

import numpy as np

from ensemble_search.metrics.base import SquaredDistance
from ensemble_search.metrics.brier import Brier
from ensemble_search.metrics.squared_error import SquaredError
from ensemble_search.runtime.names import CLASSIFICATION

#: Names in the order of the two reviews: measures of pairs, then of all members together.
MEASURES = (
    *("disagreement", "q_statistic", "correlation", "kappa", "double_fault", "kw_variance"),
    *("interrater_agreement", "entropy", "difficulty", "generalized_diversity"),
    "coincident_failure_diversity",
)
DECOMPOSITIONS = ("loss", "member_loss", "ambiguity", "bias", "variance", "covariance")


def measures(predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Compute all :data:`MEASURES` from the labels that the members of an ensemble predict.

    ``predictions`` are class probabilities as stored, (T, n, columns), ``labels`` the true ones,
    int, (n,). NaN for a single member.
    """
    if len(predictions) < 2:
        return dict.fromkeys(MEASURES, np.nan)
    own = predicted(predictions)
    right = own == labels
    found = {"kappa": kappa(own), **of_pairs(right), **of_all(right)}
    return {name: float(found[name]) for name in MEASURES}


def predicted(predictions: np.ndarray) -> np.ndarray:
    """Return the label that each member predicts, int, (T, n); ties go to the first class.

    ``predictions`` are class probabilities as stored, (T, n, columns).
    """
    if predictions.shape[2] == 1:
        return (predictions[:, :, 0] > 0.5).astype(int)
    return predictions.argmax(axis=2)


def disagreement(right: np.ndarray) -> float:
    """Mean over pairs of the share of samples on which exactly one of the two is right.

    With two classes, this is the share of samples whose predicted labels differ. From bool, (T, n),
    to a number in [0, 1]; NaN for fewer than two members.
    """
    members, samples = right.shape
    if members < 2:
        return np.nan
    hits = right.sum(axis=0)  # if r of T members are right, r (T - r) pairs disagree
    return float((hits * (members - hits)).sum() / (samples * members * (members - 1) / 2))


def of_pairs(right: np.ndarray) -> dict[str, float]:
    """Means over pairs of Yule's Q statistic, correlation coefficient and double fault.

    Q and correlation are 0 for a pair with a member that is right on all or no samples, because it
    is independent of all others. ``right`` is bool, (T, n), T at least 2.
    """
    members, samples = right.shape
    as_numbers = right.astype(np.float32)  # sums of up to 2^24 are exact
    pairs = np.triu_indices(members, 1)
    both = (as_numbers @ as_numbers.T).astype(float)
    hits = both.diagonal()
    one, other, both = hits[pairs[0]], hits[pairs[1]], both[pairs]
    only_one, only_other = one - both, other - both
    none = samples - both - only_one - only_other
    odds, against = both * none, only_one * only_other
    deviations = np.sqrt(one * (samples - one)) * np.sqrt(other * (samples - other))
    return {
        "q_statistic": _ratio(odds - against, odds + against, 0).mean(),
        "correlation": _ratio(odds - against, deviations, 0).mean(),
        "double_fault": none.mean() / samples,
    }


def kappa(labels: np.ndarray) -> float:
    """Mean over pairs of the kappa statistic of predicted labels (Cohen 1960).

    It is 1 for two members that always predict the same single label. ``labels`` are those that the
    members predict, int, (T, n), T at least 2.
    """
    members, samples = labels.shape
    pairs = np.triu_indices(members, 1)
    same = np.array([np.count_nonzero(labels[i] == labels[j]) for i, j in zip(*pairs, strict=True)])
    n_labels = int(labels.max()) + 1
    counts = np.stack([np.bincount(one, minlength=n_labels) for one in labels])
    chance = (counts @ counts.T)[pairs] / samples**2
    return float(_ratio(same / samples - chance, 1 - chance, 1).mean())


def of_all(right: np.ndarray) -> dict[str, float]:
    """Measures of all members together, and their mean disagreement.

    r is the number of members that are right on a sample, p their mean accuracy:

    - ``kw_variance``: mean of r (T - r) / T^2;
    - ``interrater_agreement``: 1 - mean of r (T - r) / (T (T - 1) p (1 - p));
    - ``entropy``: mean of min(r, T - r) / (T - ceil(T / 2));
    - ``difficulty``: variance of r / T;
    - ``generalized_diversity``: 1 - P(two random members fail) / P(one fails);
    - ``coincident_failure_diversity``: mean of r / (T - 1) over the samples that some member gets
      wrong.

    If all members are right on all samples, both the generalised and coincident failure
    diversities are 0. In this case, or if all are wrong on all samples, the interrater
    agreement is 1. ``right`` is bool, (T, n), T at least 2.
    """
    members, samples = right.shape
    hits = np.arange(members + 1)
    faults = members - hits
    shares = np.bincount(right.sum(axis=0), minlength=members + 1) / samples
    accuracy = shares @ hits / members
    split = shares @ (hits * faults)
    one_fails, two_fail = shares @ faults / members, shares @ (faults * (faults - 1))
    chance = members * (members - 1) * accuracy * (1 - accuracy)
    # Over the samples that some member gets wrong.
    coincident = _ratio(shares[:-1] @ hits[:-1] / (members - 1), 1 - shares[-1], 0)
    return {
        "disagreement": disagreement(right),
        "kw_variance": split / members**2,
        "interrater_agreement": 1 - _ratio(split, chance, 0),
        "entropy": shares @ np.minimum(hits, faults) / (members - (members + 1) // 2),
        "difficulty": shares @ (hits / members - accuracy) ** 2,
        "generalized_diversity": _ratio(
            one_fails - two_fail / (members * (members - 1)), one_fails, 0
        ),
        "coincident_failure_diversity": coincident,
    }


def decompositions(
    predictions: np.ndarray, labels: np.ndarray, weights: np.ndarray, task: str = CLASSIFICATION
) -> dict[str, float]:
    """Decompose the squared loss of a weighted mean of predictions into :data:`DECOMPOSITIONS`.

    It is decomposed exactly, in two ways.

    Error and ambiguity (Krogh and Vedelsby 1995): ``loss`` = ``member_loss`` - ``ambiguity``, the
    weighted means of the members' losses and of their squared distances from the ensemble.

    Bias, variance and covariance (Ueda and Nakano 1996): ``loss`` = ``bias`` + ``variance`` +
    ``covariance``, where expectations are means over the samples, because there is only one
    ensemble. With residuals e_i = prediction - target: ``bias`` is the square of the mean of sum
    w_i e_i; ``variance`` the sum of w_i^2 var(e_i), with equal weights the mean variance / T; and
    ``covariance`` the sum of w_i w_j cov(e_i, e_j) over i != j, with equal weights (1 - 1/T) times
    the mean covariance.

    Parameters
    ----------
    predictions
        Stored predictions, (T, n, columns).
    labels
        Labels, or numbers in regression, (n,).
    weights
        Weights of the members, (T,); they sum to 1.
    task
        ``classification``: the loss is the Brier score, from 0 to 1, and terms are summed over
        classes. ``regression``: it is the squared error.
    """
    loss: SquaredDistance = Brier() if task == CLASSIFICATION else SquaredError()
    targets, factor = loss.targets(labels, predictions.shape[2])
    residuals = predictions - targets
    means = residuals.mean(axis=1)
    flat = residuals.reshape(len(residuals), -1)
    products = factor * (flat @ flat.T) / len(labels)
    covariances = products - factor * (means @ means.T)
    ensemble = weights @ products @ weights
    own = weights**2 @ covariances.diagonal()
    return {
        "loss": float(ensemble),
        "member_loss": float(weights @ products.diagonal()),
        "ambiguity": float(weights @ (products.diagonal() - 2 * products @ weights) + ensemble),
        "bias": float(factor * ((weights @ means) ** 2).sum()),
        "variance": float(own),
        "covariance": float(weights @ covariances @ weights - own),
    }


def _ratio(above: np.ndarray, below: np.ndarray, nothing: float) -> np.ndarray:
    """Divide; 0 / 0 gives ``nothing``."""
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    return np.divide(above, below, out=np.full(below.shape, float(nothing)), where=below != 0)
