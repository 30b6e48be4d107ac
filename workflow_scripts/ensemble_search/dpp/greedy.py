"""Greedy maximisation of the determinant."""

import numpy as np

from ensemble_search.dpp.checks import check_quality, check_similarity, check_size
from ensemble_search.dpp.residuals import Residuals


def greedy_map(
    similarity: np.ndarray, k: int | None = None, quality: np.ndarray | None = None
) -> np.ndarray:
    """Repeatedly add the item that increases det(L_A) most; O(N k^2).

    Chen, Zhang and Zhou, "Fast greedy MAP inference for determinantal point process to improve
    recommendation diversity" (2018). The result does not maximise the determinant in general; each
    prefix is the greedy result of its size.

    Parameters
    ----------
    similarity
        S, (N, N), symmetric and positive semidefinite; L = diag(q) S diag(q).
    k
        Number of items; None adds items as long as each increases the determinant.
    quality
        q, (N,), not negative; default all 1.

    Returns
    -------
    np.ndarray
        Items in the order chosen; ties up to rounding (1e-9) go to the first. Fewer than k if every
        other item, such as a duplicate, is a linear combination of the chosen ones up to rounding
        (a residual below 1e-12 of L_ii).

    Raises
    ------
    UserError
        If k is not from 1 to N, S is not symmetric and finite, a quality is negative, or L turns
        out not to be positive semidefinite, which is detected only for chosen items.
    """
    similarity = check_similarity(similarity)
    quality = check_quality(quality, len(similarity))
    n_items = len(similarity)
    most = check_size(n_items if k is None else k, n_items, "the number of items")
    residuals = Residuals(similarity.diagonal(), similarity.__getitem__, most, quality)
    items: list[int] = []
    while len(items) < most and residuals.left.any():
        item = residuals.largest()
        if k is None and residuals.log2(item) <= 0:
            break
        residuals.choose(item)
        items.append(item)
    return np.array(items, dtype=int)
