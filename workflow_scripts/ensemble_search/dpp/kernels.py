"""Similarities of items, their checks, and a length scale for the RBF kernel."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from ensemble_search.dpp.draws import Draws
from ensemble_search.runtime.errors import UserError

#: A kernel function: points (n, d) and (m, d) to their similarities (n, m).
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: Relative size of asymmetries and negative eigenvalues that pass for (single precision) rounding.
ROUNDING = 1e-6
#: Uniform sets that choose a length scale, and points of all sets that log det is averaged over.
SETS, POINTS = 9, 20_000


def rbf(a: np.ndarray, b: np.ndarray, sigma: float) -> np.ndarray:
    """Similarity exp(-|a - b|^2 / (2 sigma^2)) of all pairs of feature vectors.

    Parameters
    ----------
    a, b
        Feature vectors, (n, d) and (m, d).
    sigma
        Length scale, in units of the features. ``gamma`` of other software is 1 / (2 sigma^2).

    Returns
    -------
    np.ndarray
        (n, m), between 0 and 1; exactly 1 for equal vectors.

    Raises
    ------
    UserError
        If sigma is not positive, or the features have another shape or are not finite.
    """
    from scipy.spatial.distance import cdist

    if not (is_number(sigma) and 0 < sigma < np.inf):
        raise UserError(f"sigma of the RBF kernel is {sigma!r}, must be a positive number")
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise UserError(f"feature vectors have the shapes {a.shape} and {b.shape}")
    distances = cdist(a, b, "sqeuclidean")
    if not np.isfinite(distances).all():
        raise UserError("feature vectors must be finite")
    with np.errstate(over="ignore"):  # of distances far above sigma
        return np.exp(distances * (-0.5 / sigma) / sigma)


def check_similarity(similarity: np.ndarray) -> np.ndarray:
    """Check the similarities of N items; whether they are positive semidefinite comes later.

    Returns
    -------
    np.ndarray
        (N, N) float64, exactly symmetric.

    Raises
    ------
    UserError
        If the matrix is not square, finite and, up to rounding, symmetric.
    """
    if np.iscomplexobj(similarity):
        raise UserError("a kernel matrix must be of real numbers")
    matrix = np.asarray(similarity, float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise UserError(f"a kernel matrix must be square, has the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise UserError("a kernel matrix must be finite")
    difference = np.abs(matrix - matrix.T).max()
    if difference > ROUNDING * np.abs(matrix).max():
        raise UserError(f"a kernel matrix must be symmetric; entries differ by {difference:.3g}")
    if matrix.diagonal().min() < 0:
        raise not_semidefinite(matrix.diagonal().min())
    return (matrix + matrix.T) / 2


def check_quality(quality: np.ndarray | None, n_items: int) -> np.ndarray:
    """Check the qualities of items; (n_items,), ones if None.

    Raises
    ------
    UserError
        If the length differs, or one is negative or not finite.
    """
    if quality is None:
        return np.ones(n_items)
    quality = np.asarray(quality, float)
    if quality.shape != (n_items,):
        raise UserError(f"{n_items} items need as many qualities, not shape {quality.shape}")
    if not (np.isfinite(quality).all() and quality.min() >= 0):
        raise UserError("qualities must be finite and not negative")
    return quality


def check_size(k: int, most: int, what: str) -> None:
    """Check that a set of k items can be drawn from ``most``, described by ``what``."""
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise UserError(f"k is {k!r}, must be a whole number")
    if not 1 <= k <= most:
        raise UserError(f"k is {k}, must be at least 1 and at most {most}, {what}")


def is_number(value: object) -> bool:
    """Whether a value is a real number; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def not_semidefinite(value: float) -> UserError:
    """Make the error for an indefinite kernel, with an eigenvalue or variance that shows it."""
    return UserError(
        f"a kernel must be positive semidefinite, found {value:.3g} below 0; "
        "set its negative eigenvalues to 0 or choose another kernel"
    )


@dataclass(frozen=True)
class LengthScale:
    """A length scale, and what uniform sets of k points look like with it.

    Parameters
    ----------
    sigma, gamma
        Length scale, and 1 / (2 sigma^2).
    median_distance
        Median squared distance of uniform points, in squared units of the features.
    median_similarity
        Median of the kernel between uniform points.
    condition
        Median condition number of the kernel matrices of uniform k-sets.
    log_det, spread
        Mean and standard deviation of log det over uniform k-sets: over 200, above k = 100 over
        20,000 / k, at least 9.
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
    """Choose the length scale of an RBF kernel for k-DPPs over a space, or describe a given one.

    Starts at gamma = 0.1 / m, where m is the median squared distance of 600 uniform draws (of
    those that differ), and multiplies gamma by 1.5 while the median condition number of 9 uniform
    k-sets is above 1e6: the kernel is as wide as determinants can be computed with.

    Parameters
    ----------
    draw
        Returns a uniformly drawn feature vector (d,), or several, (m, d). For a finite set of
        feature vectors X: ``lambda rng: X[rng.integers(len(X), size=600)]``.
    k
        Size of the sets.
    rng
        Generator that is handed to ``draw``.
    sigma
        The length scale; default: chosen.

    Raises
    ------
    UserError
        If k or ``sigma`` is not positive, the space has fewer than k distinct points, or some too
        close to tell apart.
    """
    from scipy.spatial.distance import pdist

    check_size(k, 10**6, "a million points")
    draws = Draws(draw, rng)
    distances = pdist(np.array([draws.next()[1] for _ in range(600)]), "sqeuclidean")
    if not distances.any():
        raise UserError("600 uniform draws are all the same point; sigma must be given")
    median = float(np.median(distances[distances > 0]))
    sets = [draws.distinct(k)[1] for _ in range(SETS)]
    gamma = 0.1 / median
    while True:
        scale = float(np.sqrt(0.5 / gamma)) if sigma is None else sigma
        matrices = [rbf(points, points, scale) for points in sets]
        condition = float(np.median([condition_number(matrix) for matrix in matrices]))
        if condition <= 1e6 or sigma is not None:
            break
        if gamma * median > 1e12:
            raise UserError(f"uniform sets of {k} points hold points too close to tell apart")
        gamma *= 1.5
    gamma = 0.5 / scale / scale
    with suppress(UserError):  # of a small space, whose rarest points may be missed
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
