"""Points chosen one by one by the posterior variance of a Gaussian process ("seq-PV").

The process has no noise and the kernel as prior covariance; variances are over a finite set of
candidates. They do not depend on function values, so that k points are known before any is tried,
and k + 1 points continue k points, unlike draws of k-DPPs.
"""

from collections.abc import Callable

import numpy as np

from ensemble_search.dpp.greedy import maximise
from ensemble_search.dpp.kernels import Kernel, check_size
from ensemble_search.dpp.residuals import Residuals
from ensemble_search.runtime.errors import UserError


def largest_variance(
    candidates: np.ndarray, k: int, kernel: Kernel, first: int | None = None
) -> np.ndarray:
    """Choose k candidates, each of the largest posterior variance given those before it.

    The posterior variance of a candidate given a set A is det(L of A and it) / det(L_A), so these
    are the items of :func:`ensemble_search.dpp.greedy.greedy_map` on L = kernel of the candidates,
    without qualities, from the same first item and by the same rule for ties: the two are equal
    step by step, without ever forming L. This maximises greedily and is not a draw of a DPP.

    Parameters
    ----------
    candidates
        Feature vectors, (N, d).
    k
        Number of points; the costs are O(N k^2) and k columns of the kernel.
    kernel
        Positive semidefinite, such as ``functools.partial(rbf, sigma=0.1)``.
    first
        The first item; default that of the largest prior variance, the first of ties.

    Returns
    -------
    np.ndarray
        Items, fewer than k where no variance above rounding is left.

    Raises
    ------
    UserError
        If k or ``first`` is out of range, or the kernel seen not to be positive semidefinite.
    """
    diagonal, column = _process(candidates, k, kernel)
    if first is not None and first not in range(len(candidates)):
        raise UserError(
            f"the first item is {first}, must be a whole number from 0 to {len(candidates) - 1}"
        )
    return maximise(diagonal, column, k, first=first)


def sample_by_variance(
    candidates: np.ndarray, k: int, kernel: Kernel, rng: np.random.Generator
) -> np.ndarray:
    """Draw k candidates, each with probability proportional to its posterior variance.

    The sampler of Dodge et al., "Open loop hyperparameter optimization and determinantal point
    processes" (2017). A k-DPP it is only if the sum of the posterior variances is the same after
    every possible choice of the points before, as for projection kernels; with an RBF kernel it
    is close to one (see ``docs/dpp.md``).

    Parameters
    ----------
    candidates
        Feature vectors, (N, d), such as :func:`unit_grid`.
    k
        Number of points; the costs are O(N k^2) and k columns of the kernel.
    kernel
        Positive semidefinite.
    rng
        Generator; one uniform number a point.

    Returns
    -------
    np.ndarray
        Items, (k,), in the order of their choice; the first j are what j points would be.

    Raises
    ------
    UserError
        If k is out of range, or no variance above rounding is left before k points are drawn.
    """
    residuals = Residuals(*_process(candidates, k, kernel), k)
    items: list[int] = []
    while len(items) < k:
        if not residuals.left.any():
            raise UserError(
                f"after {len(items)} of {k} points no posterior variance is left; "
                "a smaller sigma or more candidates are needed"
            )
        items.append(residuals.draw(rng))
        residuals.choose(items[-1])
    return np.array(items)


def unit_grid(dimensions: int, points: int = 10_000) -> np.ndarray:
    """Make a grid on the unit cube: floor(points^(1/d)) values on each axis, ends included.

    Returns
    -------
    np.ndarray
        (at most ``points``, dimensions).

    Raises
    ------
    UserError
        If there are no dimensions or no points.
    """
    if dimensions < 1 or points < 1:
        raise UserError(f"a grid of {points} points in {dimensions} dimensions: needs 1 or more")
    side = int((points + 0.5) ** (1 / dimensions))
    axes = np.meshgrid(*[np.linspace(0, 1, side)] * dimensions, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, dimensions)


def _process(
    candidates: np.ndarray, k: int, kernel: Kernel
) -> tuple[np.ndarray, Callable[[int], np.ndarray]]:
    """Prior variances of the candidates, and the function that computes a column of L."""
    candidates = np.asarray(candidates, float)
    if candidates.ndim != 2 or not np.isfinite(candidates).all():
        raise UserError("candidates must be a matrix of finite feature vectors")
    check_size(k, len(candidates), "the number of candidates")
    parts = np.array_split(candidates, -(-len(candidates) // 64))
    diagonal = np.concatenate([kernel(part, part).diagonal() for part in parts])
    return diagonal, lambda item: kernel(candidates, candidates[item : item + 1])[:, 0]
