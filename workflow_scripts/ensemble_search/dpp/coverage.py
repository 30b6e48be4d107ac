"""How evenly designs cover the range from 0 to 1 (Dodge et al., 2017, Figure 1).

:func:`designs` draws designs from a sampler, and :func:`measure` measures one of them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral

import numpy as np

from ensemble_search.dpp.checks import check_size, not_semidefinite, real
from ensemble_search.dpp.exact import LEnsemble
from ensemble_search.dpp.generator import check_generator
from ensemble_search.dpp.kernels import Kernel, checked, rbf
from ensemble_search.dpp.residuals import Residuals
from ensemble_search.runtime.errors import UserError

#: Number of equal cells of the range, from which the exact k-DPP draws; also the maximum number of
#: points of a design.
CELLS = 2000


def length_scale(k: int) -> float:
    """Length scale of the RBF kernel for k points, sqrt(2) / k; for k, see :func:`designs`."""
    return 2**0.5 / _size(k)


def _size(k: int) -> int:
    return check_size(k, CELLS, "the number of cells that a k-DPP draws from")


def uniform(k: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw independent uniform points."""
    while True:
        yield rng.random(k)


def sobol(k: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Shift the first k points of the unscrambled Sobol sequence by one random number, modulo 1.

    The first point, 0, is included: without it, the other points would leave a gap.
    """
    from scipy.stats.qmc import Sobol

    points = Sobol(1, scramble=False).random_base2((k - 1).bit_length())[:k, 0]
    while True:
        yield (points + rng.random()) % 1


def seq_pv(k: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw points one by one from a grid of 10 000, in proportion to the posterior variance."""
    grid, kernel = unit_grid(1), partial(rbf, sigma=length_scale(k))
    while True:
        yield grid[sample_by_variance(grid, k, kernel, rng), 0]


def k_dpp(k: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw k of :data:`CELLS` equal cells from an exact k-DPP, and a uniform point in each."""
    centres = (np.arange(CELLS)[:, None] + 0.5) / CELLS
    ensemble = LEnsemble.from_similarity(rbf(centres, centres, length_scale(k)))
    while True:
        yield (ensemble.sample(rng, k) + rng.random(k)) / CELLS


SAMPLERS: dict[str, Callable[[int, np.random.Generator], Iterator[np.ndarray]]] = {
    "uniform": uniform,
    "sobol": sobol,
    "seq-pv": seq_pv,
    "k-dpp": k_dpp,
}


def designs(sampler: str, k: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw designs endlessly.

    Parameters
    ----------
    sampler
        One of :data:`SAMPLERS`.
    k
        Number of points, from 1 to :data:`CELLS`.
    rng
        Random generator. The same state gives the same designs.

    Returns
    -------
    designs
        Infinite iterator; each design has shape (k,), with points from 0 to 1 in any order.

    Raises
    ------
    UserError
        If the sampler is unknown, k is out of range, or ``rng`` is not a generator.
    """
    if not isinstance(sampler, str) or sampler not in SAMPLERS:
        raise UserError(f"there is no sampler {sampler!r}; choose from {', '.join(SAMPLERS)}")
    check_generator(rng)
    return SAMPLERS[sampler](_size(k), rng)


def star_discrepancy(points: np.ndarray) -> float:
    """Compute the star discrepancy of points from 0 to 1, exactly.

    It is the largest difference between the share of points in an interval and its length, over
    all intervals that begin at 0: 1 / (2 k) + max_i |x_(i) - (2 i - 1) / (2 k)| (Niederreiter,
    1992).

    Parameters
    ----------
    points
        (k,), in any order.

    Returns
    -------
    float
        From 1 / (2 k) to 1.

    Raises
    ------
    UserError
        If there are no points, or some are not in [0, 1].
    """
    points = real(points, "points")
    k = points.size
    if points.ndim != 1 or not k or not ((points >= 0) & (points <= 1)).all():
        raise UserError("the star discrepancy is of one point or more from 0 to 1")
    middles = (np.arange(k) + 0.5) / k
    return float(0.5 / k + np.abs(np.sort(points) - middles).max())


def measure(points: np.ndarray) -> dict[str, float]:
    """Measure a design.

    Returns
    -------
    measures
        ``discrepancy``: :func:`star_discrepancy`; ``centre`` and ``origin``: squared distances from
        1/2 and from 0 to the nearest point.

    Raises
    ------
    UserError
        See :func:`star_discrepancy`.
    """
    discrepancy, points = star_discrepancy(points), np.asarray(points, float)
    return {
        "discrepancy": discrepancy,
        "centre": float(np.square(points - 0.5).min()),
        "origin": float(np.square(points).min()),
    }


def sample_by_variance(
    candidates: np.ndarray, k: int, kernel: Kernel, rng: np.random.Generator
) -> np.ndarray:
    """Draw k candidates, each with probability proportional to its posterior variance.

    This is the sampler of Dodge et al., "Open loop hyperparameter optimization and determinantal
    point processes" (2017). It samples from a k-DPP only if the sum of the posterior variances does
    not depend on the points already chosen, as for projection kernels; with an RBF kernel, the
    distribution is close to that of a k-DPP (see ``docs/dpp.md``).

    Parameters
    ----------
    candidates
        Feature vectors, (N, d), such as :func:`unit_grid`.
    k
        Number of points. The cost is O(N k^2) operations and k columns of the kernel.
    kernel
        Positive semidefinite, such as ``functools.partial(rbf, sigma=0.1)``.
    rng
        Random generator; one uniform number is drawn per point.

    Returns
    -------
    np.ndarray
        Indices of the chosen candidates, (k,), in the order of their choice; with the same state
        of the generator, the first j are those of a draw of j points.

    Raises
    ------
    UserError
        If k is out of range; if no variance above rounding errors is left before k points are
        drawn; if candidates or kernel values are complex or not finite; if the kernel returns
        another shape or is found not to be positive semidefinite; or if an argument has the wrong
        type.
    """
    check_generator(rng)
    if not callable(kernel):
        raise UserError(f"kernel must be a function of two matrices, found {type(kernel).__name__}")
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
    """Make a grid on the unit cube, with floor(points^(1/d)) values per axis, ends included.

    Parameters
    ----------
    dimensions
        Integer from 1 to 64.
    points
        Maximum number of points, from 1 to 10 million.

    Returns
    -------
    np.ndarray
        (at most ``points``, dimensions).

    Raises
    ------
    UserError
        If dimensions or points are not integers, or out of range.
    """
    for name, value, most in (("dimensions", dimensions, 64), ("points", points, 10**7)):
        integer = isinstance(value, Integral) and not isinstance(value, bool)
        if not integer or not 1 <= value <= most:
            raise UserError(f"{name} of a grid is {value!r}, must be an integer from 1 to {most}")
    side = int((points + 0.5) ** (1 / dimensions))
    axes = np.meshgrid(*[np.linspace(0, 1, side)] * dimensions, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, dimensions)
