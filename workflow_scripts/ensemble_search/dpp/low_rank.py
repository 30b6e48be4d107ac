"""Markov chains for k-DPPs on many items with a low-rank similarity."""

import math

import numpy as np

from ensemble_search.dpp.checks import check_size, number, real, shown
from ensemble_search.dpp.generator import check_generator
from ensemble_search.dpp.mcmc import Chain, check_steps
from ensemble_search.runtime.errors import UserError

#: Number of accepted swaps after which an inverse is recomputed from scratch.
REFRESH = 500
#: Largest alpha / (1 - alpha) times the squared norm of an item's features; beyond it, rounding
#: would decide swaps.
LARGEST = 1e4


def swap_features(
    features: np.ndarray,
    k: int,
    alpha: float,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
    steps: int | None = None,
    given: np.ndarray | None = None,
) -> Chain:
    """Draw k of N items by the kernel L = (1 - alpha) I + alpha S.

    The similarity S is the inner product of the items' features, and 0 for items of different
    groups. By the matrix determinant lemma, det L_A is (1 - alpha)^k times the determinants of
    I + alpha / (1 - alpha) B^T B of the groups, where B are the features of the members in a group.
    A step therefore costs O(D^2) for any k.

    Parameters
    ----------
    features
        (N, D).
    k
        Size of the set.
    alpha
        At least 0 and, for features of norm 1, at most 1 - 1e-4; 0 gives uniform sets.
    rng
        Generator.
    groups
        Group of every item, (N,): integers from 0; default one group.
    steps
        Number of attempted swaps of a uniformly drawn member for a uniformly drawn other item;
        default max(1000, 100 k, 10 (N - g)). The start is a uniform set.
    given
        Other items, (g,), also in the set: the k are drawn conditionally on them. Default none.

    Returns
    -------
    Chain
        The chain; its ``points`` are None.

    Raises
    ------
    UserError
        If k is not from 1 to N - g, alpha is negative or too close to 1 for the features' norms,
        steps are negative, shapes differ, values are not finite, or an argument has the wrong type.
    """
    check_generator(rng)
    features = np.ascontiguousarray(real(features, "features"))
    if features.ndim != 2:
        raise UserError(f"features must be a matrix, have the shape {features.shape}")
    given = _check_given(given, len(features))
    possible = np.setdiff1d(np.arange(len(features)), given)
    k = check_size(k, len(possible), "the number of items")
    if not 0 <= number(alpha) <= 1:
        raise UserError(f"alpha is {shown(alpha)}, must be a number from 0 to 1")
    alpha = number(alpha)
    with np.errstate(over="ignore"):
        norm = float(np.square(features).sum(axis=1).max())
    if not np.isfinite(norm):
        raise UserError("features must be finite, and so must their squared norms")
    if alpha == 1 or alpha * norm > LARGEST * (1 - alpha) * (1 + 1e-9):
        least = max(norm / (LARGEST + norm), 1e-16)
        raise UserError(
            f"alpha is {alpha}, must be at most 1 - {least:.1g} for a chain, "
            "which rounding would decide beyond"
        )
    steps = check_steps(steps, k, len(possible))
    if k == len(possible) or alpha == 0:
        steps = 0  # the start is the draw
    groups = _check_groups(groups, len(features))
    factor = alpha / (1 - alpha)
    items = rng.permutation(possible)
    members, outside = items[:k].copy(), items[k:].copy()

    def rows(group: int) -> np.ndarray:
        own = np.concatenate([members, given])
        return features[own[groups[own] == group]]

    blocks = [_Block(factor, rows(group)) for group in range(groups.max() + 1)]
    constant = (k + len(given)) * math.log1p(-alpha)
    log_det = sum(block.log_det for block in blocks) + constant
    log_dets = np.empty(steps + 1)
    log_dets[0] = log_det
    accepted = 0
    outs, ins = rng.integers(k, size=steps), rng.integers(max(len(outside), 1), size=steps)
    uniform = rng.random(steps)
    for step, (out, new) in enumerate(zip(outs.tolist(), ins.tolist(), strict=True), start=1):
        u, v = members[out], outside[new]
        leaves, joins = blocks[groups[u]], blocks[groups[v]]
        own, other = features[u], features[v]
        solved, solution = leaves.inverse @ own, joins.inverse @ other
        kept = 1 - factor * float(own @ solved)
        ratio = kept * (1 + factor * float(other @ solution))
        if leaves is joins:
            ratio += (factor * float(own @ solution)) ** 2
        log_ratio = math.log(max(ratio, 1e-300))
        if uniform[step - 1] < math.exp(min(log_ratio, 0.0)):
            accepted += 1
            members[out], outside[new] = v, u
            leaves.leave(solved, kept)
            joins.join(joins.inverse @ other if leaves is joins else solution, other)
            log_det += log_ratio
            if accepted % REFRESH == 0:
                for group, block in enumerate(blocks):
                    block.refresh(rows(group))
                log_det = sum(block.log_det for block in blocks) + constant
        log_dets[step] = log_det
    return Chain(members, None, log_dets, accepted)


def _check_groups(groups: np.ndarray | None, n_items: int) -> np.ndarray:
    groups = _integers(np.zeros(n_items, int) if groups is None else groups, "groups")
    if groups.shape != (n_items,):
        raise UserError(f"groups must be {n_items} integers")
    if not 0 <= groups.min(initial=0) <= groups.max(initial=0) < n_items:
        raise UserError(f"groups must be numbered from 0, below the number of items, {n_items}")
    return groups


def _check_given(given: np.ndarray | None, n_items: int) -> np.ndarray:
    given = _integers(np.empty(0, int) if given is None else given, "given items")
    if len(np.unique(given)) < len(given) or not np.isin(given, range(n_items)).all():
        raise UserError(f"given items must be different integers from 0 to {n_items - 1}")
    return given


def _integers(values: np.ndarray, what: str) -> np.ndarray:
    """Return ``values``, called ``what``, as an array; UserError unless they are integers, (n,)."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty(())
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise UserError(f"{what} must be a list of integers")
    return array.astype(int, copy=False)


class _Block:
    """The inverse of I + factor * B^T B for the features B of a group's members."""

    def __init__(self, factor: float, rows: np.ndarray):
        self._factor = factor
        self.refresh(rows)

    def refresh(self, rows: np.ndarray) -> None:
        matrix = np.eye(rows.shape[1]) + self._factor * rows.T @ rows
        self.log_det = float(np.linalg.slogdet(matrix)[1])
        self.inverse = np.linalg.inv(matrix)

    def leave(self, solved: np.ndarray, kept: float) -> None:
        """Remove a member; ``solved`` is inverse @ its features, ``kept`` det after / before."""
        self.inverse += np.outer(solved, solved * (self._factor / kept))

    def join(self, solved: np.ndarray, features: np.ndarray) -> None:
        """Add a member; ``solved`` is inverse @ its features."""
        grown = 1 + self._factor * float(features @ solved)
        self.inverse -= np.outer(solved, solved * (self._factor / grown))
