"""Points chosen one by one by the posterior variance of a Gaussian process ("seq-PV").

The process has no noise and the kernel as prior covariance; variances are over a finite set of
candidates. They do not depend on function values, so that k points are known before any is tried,
and k + 1 points continue k points, unlike draws of k-DPPs.
"""

import numpy as np

from ensemble_search.dpp.checks import check_size, not_semidefinite, real
from ensemble_search.dpp.kernels import Kernel, checked
from ensemble_search.dpp.residuals import Residuals
from ensemble_search.runtime.errors import UserError


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
        Positive semidefinite, such as ``functools.partial(rbf, sigma=0.1)``.
    rng
        Generator; one uniform number per point.

    Returns
    -------
    np.ndarray
        Items, (k,), in the order of their choice; the first j are what j points would be.

    Raises
    ------
    UserError
        If k is out of range, no variance above rounding is left before k points are drawn,
        candidates or kernel are not finite or complex, the kernel has another shape, or it is seen
        not to be positive semidefinite.
    """
    candidates = real(candidates, "candidates")
    if candidates.ndim != 2 or not np.isfinite(candidates).all():
        raise UserError("candidates must be a matrix of finite feature vectors")
    k = check_size(k, len(candidates), "the number of candidates")

    similarities = checked(kernel)
    parts = np.array_split(candidates, -(-len(candidates) // 64))
    diagonal = np.concatenate([similarities(part, part).diagonal() for part in parts])
    if diagonal.min() < 0:
        raise not_semidefinite(diagonal.min())
    column = lambda item: similarities(candidates, candidates[item : item + 1])[:, 0]  # noqa: E731
    residuals = Residuals(diagonal, column, k)
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
