"""Choose a part of the training rows: uniformly, by class, or by a k-DPP."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ensemble_search.data.rows import share_of_rows
from ensemble_search.dpp.low_rank import swap_features
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION, REGRESSION

#: Number of random Fourier features of the RBF kernel between rows.
FOURIER = 200
#: Number of rows whose median distance is the kernel's length scale.
SAMPLE = 600
#: How much similarity counts in the k-DPPs; at 1, they would draw at most as many rows as features.
ALPHA = 0.99


def choose(
    X: np.ndarray,
    labels: np.ndarray,
    classes: np.ndarray,
    settings: Mapping[str, Any],
    seed: int | list[int],
    folds: int = 0,
) -> np.ndarray:
    """Choose training rows (Dodge's proposal, Section 4, for the k-DPPs).

    ``X`` are prepared features of all training rows, of shape (n, p); ``labels`` class codes, int,
    or numbers, of shape (n,); ``classes`` labels by code, empty in regression. ``settings`` has
    ``share``, in (0, 1), and ``by``; for a k-DPP also ``kernel`` (see docs/studies.md). The rows
    will be divided into ``folds`` folds, if any.

    Returns
    -------
    rows
        round(share * n) indices, at least 1, in random order; as many as classes if that is more
        and ``by`` is ``stratified``, which in regression is ``uniform``.

    Raises
    ------
    UserError
        If a class is left without rows, or with only one although there are folds; there are fewer
        rows than folds; or the kernel needs classes in a regression.
    """
    k = max(1, round(settings["share"] * len(labels)))
    rng = np.random.default_rng([*np.atleast_1d(seed).tolist(), k])
    if settings["by"] == "stratified" and len(classes):
        rows = rng.permutation(share_of_rows(labels, settings["share"]))
    elif settings["by"] != "k-dpp":
        rows = rng.permutation(len(labels))[:k]
    else:
        task = CLASSIFICATION if len(classes) else REGRESSION
        groups = labels if kernel(settings, task) == "product" else None
        rows = swap_features(fourier_features(X, rng), k, ALPHA, rng, groups=groups).items
    what = f"train_rows.share: {settings['share']:g} of the training rows, {k},"
    if len(rows) < folds:
        raise UserError(f"{what} are fewer than split.folds, {folds}; raise it")
    counts = np.bincount(labels[rows], minlength=len(classes)) if len(classes) else np.empty(0)
    least = 2 if folds else 1
    for code in np.flatnonzero(counts < least)[:1]:
        raise UserError(
            f"{what} leave class '{classes[code]}' "
            + ("without any" if not counts[code] else "with one, and folds need two")
            + "; raise it"
            + ("" if folds else ", or take by: stratified")
        )
    return rows


def diverse_bags(
    X: np.ndarray,
    labels: np.ndarray,
    bags: int,
    share: float,
    by: str,
    seed: int,
) -> list[np.ndarray]:
    """Draw bags of training rows; see ``ensembles.diverse_bagging.DiverseBagging``.

    ``X`` and ``labels`` are as in :func:`choose`; ``share`` is a bag's part of all n rows; ``by``
    is ``k-dpp``, ``separate``, ``markov`` or ``uniform``. Each bag has max(1, floor(share * n))
    distinct rows; 0.29 * 100 gives 29 here.

    Raises
    ------
    UserError
        If disjoint bags, or two consecutive Markov bags, need more rows than there are.
    """
    if lack := lacking_for_bags(len(labels), bags, share, by):
        raise UserError(f"ensemble.{lack}")
    rng = np.random.default_rng(seed)
    everything, size = np.arange(len(labels)), _bag_size(len(labels), share)
    if by == "uniform":
        return [rng.permutation(len(labels))[:size] for _ in range(bags)]
    features = fourier_features(X, rng)
    groups = labels if labels.dtype.kind == "i" else np.zeros(len(labels), dtype=int)
    if by == "k-dpp":
        union = swap_features(features, bags * size, ALPHA, rng, groups=groups).items
        return list(rng.permutation(union).reshape(bags, size))
    drawn: list[np.ndarray] = []
    for _ in range(bags):
        if by == "markov":
            given = drawn[-1] if drawn else None
            chain = swap_features(features, size, ALPHA, rng, groups=groups, given=given)
            drawn.append(chain.items)
            continue
        left = np.setdiff1d(everything, np.concatenate([*drawn, everything[:0]]))
        chain = swap_features(features[left], size, ALPHA, rng, groups=groups[left])
        drawn.append(left[chain.items])
    return drawn


def lacking_for_bags(rows: int, bags: int, share: float, by: str) -> str:
    """Describe the setting of :func:`diverse_bags` that needs more rows; empty if none does."""
    if by in ("k-dpp", "separate") and bags > rows:
        return (
            f"bags: {bags} disjoint bags need as many training rows, and there are {rows}; "
            "lower bags"
        )
    if by == "markov" and (both := 2 * _bag_size(rows, share)) > rows:
        return (
            f"share: two bags in a row have {both} different rows, and there is one; "
            "take by: uniform"
        )
    return ""


def _bag_size(rows: int, share: float) -> int:
    return max(1, int(share * rows + 1e-9))


def kernel(settings: Mapping[str, Any], task: str) -> str:
    """Return the ``kernel`` of a k-DPP of training rows, or the default for the task.

    Raises UserError if it needs classes, and the task is a regression.
    """
    if task != REGRESSION:
        return settings.get("kernel") or "product"
    if settings.get("kernel") == "product":
        raise UserError(
            "train_rows.kernel: 'product' needs classes, and this is a regression; take features"
        )
    return "features"


def fourier_features(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random Fourier features of rows (Rahimi and Recht, 2007), of shape (n, FOURIER).

    Their inner products approximate an RBF kernel on the columns, which are scaled to variance 1.
    Each row has norm 1. The length scale is the median distance between rows.
    """
    from scipy.spatial.distance import pdist

    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    distances = pdist(X[rng.permutation(len(X))[:SAMPLE]])
    sigma = np.median(distances[distances > 0]) if distances.any() else 1.0
    waves = X @ (rng.normal(size=(X.shape[1], FOURIER // 2)) / sigma)
    return np.concatenate([np.cos(waves), np.sin(waves)], axis=1) / np.sqrt(FOURIER // 2)
