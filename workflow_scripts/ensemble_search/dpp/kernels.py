"""The RBF kernel and its length scale."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ensemble_search.dpp.checks import check_function, check_size, number, real, shown
from ensemble_search.dpp.draws import Draws
from ensemble_search.dpp.generator import check_generator
from ensemble_search.runtime.errors import UserError

#: A kernel function: maps points (n, d) and (m, d) to similarities (n, m).
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: Number of uniform sets to choose a length scale, and total points of the sets that average log
#: det.
SETS, POINTS = 9, 20_000


def rbf(a: np.ndarray, b: np.ndarray, sigma: float) -> np.ndarray:
    """Similarity exp(-|a - b|^2 / (2 sigma^2)) of all pairs of feature vectors.

    Parameters
    ----------
    a, b
        Feature vectors, (n, d) and (m, d).
    sigma
        Length scale, in units of the features. In other software, ``gamma`` is 1 / (2 sigma^2).

    Returns
    -------
    np.ndarray
        (n, m), between 0 and 1; exactly 1 for equal vectors.

    Raises
    ------
    UserError
        If sigma is not positive (at least 2.3e-308), or the features have the wrong shape, are
        complex, or have squared distances that are not finite.
    """
    from scipy.spatial.distance import cdist

    sigma = _check_sigma(sigma)
    a, b = real(a, "feature vectors"), real(b, "feature vectors")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise UserError(f"feature vectors have the shapes {a.shape} and {b.shape}")
    distances = cdist(a, b, "sqeuclidean")
    if not np.isfinite(distances).all():
        raise UserError("feature vectors and their squared distances must be finite")
    with np.errstate(over="ignore"):  # for distances far above sigma
        return np.exp(distances * (-0.5 / sigma) / sigma)


def _check_sigma(sigma: float) -> float:
    if not np.finfo(float).tiny <= number(sigma) < np.inf:
        raise UserError(f"sigma of the RBF kernel is {shown(sigma)}, must be a positive number")
    return number(sigma)


def checked(kernel: Kernel, most: float = np.finfo(float).max) -> Kernel:
    """Wrap a kernel to raise UserError unless its result is at most ``most`` and (n, m)."""
    check_function(kernel, "kernel", "two matrices")

    def similarities(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = real(kernel(a, b), "the kernel of two points")
        if result.shape != (len(a), len(b)):
            raise UserError(
                f"the kernel of {len(a)} and {len(b)} points must have the shape "
                f"{(len(a), len(b))}, has {result.shape}"
            )
        if not np.abs(result).max(initial=0) <= most:
            if not np.isfinite(result).all():
                raise UserError("the kernel of two points is not finite")
            raise UserError(
                f"the kernel of two points is above {most:g}; divide the kernel by a constant"
            )
        return result

    return similarities


@dataclass(frozen=True)
class LengthScale:
    """A length scale and its statistics for uniform sets of k points.

    Parameters
    ----------
    sigma, gamma
        Length scale, and 1 / (2 sigma^2).
    median_distance
        Median squared distance between uniform points, in squared units of the features.
    median_similarity
        Median of the kernel between uniform points.
    condition
        Median condition number of the kernel matrices of uniform k-sets.
    log_det, spread
        Mean and standard deviation of log det over uniform k-sets: over 200 sets, or for k > 100,
        over 20,000 / k, at least 9.
    """

    sigma: float
    gamma: float
    median_distance: float
    median_similarity: float
    condition: float
    log_det: float
    spread: float


def length_scale(
    draw: Callable[[np.random.Generator], np.ndarray],
    k: int,
    rng: np.random.Generator,
    sigma: float | None = None,
) -> LengthScale:
    """Choose the length scale of an RBF kernel for k-DPPs on a space, or describe a given one.

    Starts at gamma = 0.1 / m, where m is the median squared distance between 600 uniform draws
    (among distinct ones), and multiplies gamma by 1.5 while the median condition number of 9
    uniform k-sets is above 1e6. The kernel is thus as wide as computing determinants allows.

    Parameters
    ----------
    draw
        Returns a uniformly drawn feature vector (d,), or several, (m, d). For a finite set of
        feature vectors X: ``lambda rng: X[rng.integers(len(X), size=600)]``.
    k
        Size of the sets.
    rng
        Generator passed to ``draw``.
    sigma
        The length scale to describe; default: choose one.

    Raises
    ------
    UserError
        If k or ``sigma`` is not positive, or the space has fewer than k distinct points or some
        that are too close to distinguish.
    """
    from scipy.spatial.distance import pdist

    check_generator(rng)
    k = check_size(k, 10**6, "a million points")
    draws = Draws(draw, rng)
    distances = pdist(np.array([draws.next()[1] for _ in range(600)]), "sqeuclidean")
    if not np.isfinite(distances).all():
        raise UserError("feature vectors and their squared distances must be finite")
    if not distances.any():
        raise UserError(
            "600 uniform draws have no squared distance above 0: they are the same point, or "
            "closer than squares can tell; sigma must be given"
        )
    median = float(np.median(distances[distances > 0]))
    sets = [draws.distinct(k)[1] for _ in range(SETS)]
    gamma = 0.1 / median
    while True:
        scale = float(np.sqrt(0.5 / gamma)) if sigma is None else _check_sigma(sigma)
        matrices = [rbf(points, points, scale) for points in sets]
        condition = float(np.median([condition_number(matrix) for matrix in matrices]))
        if condition <= 1e6 or sigma is not None:
            break
        if gamma * median > 1e12:
            raise UserError(f"uniform sets of {k} points hold points too close to distinguish")
        gamma *= 1.5
    gamma = 0.5 / scale / scale
    with suppress(UserError):  # in a small space, draws may miss the rarest points
        for _ in range(min(200, POINTS // k) - SETS):
            points = draws.distinct(k)[1]
            matrices.append(rbf(points, points, scale))
    log_dets = np.array([np.linalg.slogdet(matrix)[1] for matrix in matrices])
    log_det = float(log_dets.mean())
    spread = float(log_dets.std(ddof=1)) if np.isfinite(log_dets).all() else np.inf
    with np.errstate(over="ignore"):
        similarity = float(np.median(np.exp(distances * (-0.5 / scale) / scale)))
    return LengthScale(scale, gamma, median, similarity, condition, log_det, spread)


def condition_number(matrix: np.ndarray) -> float:
    """Compute largest / smallest eigenvalue of a symmetric matrix; infinite if one is not above 0.

    Parameters
    ----------
    matrix
        (k, k).
    """
    values = np.linalg.eigvalsh(matrix)
    return float(values[-1] / values[0]) if values[0] > 0 else np.inf
