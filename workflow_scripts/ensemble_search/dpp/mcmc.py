"""Markov chains of swaps whose stationary distribution is a k-DPP.

Algorithms 1 (a finite set) and 2 (a space that can be drawn from uniformly) of Dodge et al., "Open
loop hyperparameter optimization and determinantal point processes" (2017), without staying in place
half of the time, which changes only the speed. Anari, Oveis Gharan and Rezaei, "Monte Carlo Markov
chain algorithms for sampling strongly Rayleigh distributions and determinantal point processes"
(2016), bound the steps that a finite set needs; for spaces, no bound is known.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Protocol

import numpy as np

from ensemble_search.dpp.checks import (
    ROUNDING,
    check_function,
    check_quality,
    check_similarity,
    check_size,
    not_semidefinite,
    real,
    shown,
)
from ensemble_search.dpp.draws import Draws
from ensemble_search.dpp.generator import check_generator
from ensemble_search.dpp.greedy import greedy_map
from ensemble_search.dpp.kernels import Kernel, checked, condition_number
from ensemble_search.dpp.residuals import NOTHING
from ensemble_search.runtime.errors import UserError

#: Start sets must have condition numbers below this.
WORST_CONDITION = 1e12
#: Kernels of spaces must be between these, so that squares and inverses of similarities are finite.
SMALLEST_KERNEL, LARGEST_KERNEL = 1e-100, 1e100
#: Maximum number of steps; their trace takes 8 GB.
MOST_STEPS = 10**9
#: Number of uniform sets to try as the start.
TRIES = 100
#: If qualities differ by more than this factor, chains start at items of large quality: from a
#: uniform set, whose probability may be almost 0, they would take too long to get there.
WIDE = 1e3


@dataclass(frozen=True)
class Chain:
    """The final state of a chain, and its trace.

    Parameters
    ----------
    items
        The drawn set, (k,), in random order: items of the finite set, or numbers of draws from the
        space, counted from 0.
    points
        Feature vectors of the draws, (k, d); None for a finite set.
    log_dets
        log det(L_A) of the start and after every step, (steps + 1,).
    accepted
        Number of accepted swaps.
    """

    items: np.ndarray
    points: np.ndarray | None
    log_dets: np.ndarray
    accepted: int


def default_steps(k: int, n_items: int = 0) -> int:
    """Return the default number of steps, max(1000, 100 k, 10 N) for N items.

    A step proposes one item. With independent items, the bias shrinks by exp(-1) in at most N
    steps.
    """
    return max(1000, 100 * k, 10 * n_items)


def check_steps(steps: int | None, k: int, n_items: int = 0) -> int:
    """Return the number of steps, by default :func:`default_steps`; UserError if out of range."""
    steps = default_steps(k, n_items) if steps is None else steps
    if not isinstance(steps, Integral) or isinstance(steps, bool) or not 0 <= steps <= MOST_STEPS:
        raise UserError(f"steps is {shown(steps)}, must be an integer from 0 to {MOST_STEPS:g}")
    return int(steps)


def swap_items(
    similarity: np.ndarray,
    k: int,
    rng: np.random.Generator,
    quality: np.ndarray | None = None,
    steps: int | None = None,
) -> Chain:
    """Draw k of N items: a step may swap a uniformly drawn member for a uniformly drawn other.

    Parameters
    ----------
    similarity
        S, (N, N), symmetric and positive semidefinite; L = diag(q) S diag(q).
    k
        Size of the set.
    rng
        Generator.
    quality
        q, (N,), not negative; default all 1. Items of quality 0 are never drawn.
    steps
        Number of steps; default max(1000, 100 k, 10 N), where N excludes items of quality 0. Each
        costs O(k^2). The start is a uniform set or, if qualities differ by more than a factor of
        1000, that of :func:`ensemble_search.dpp.greedy.greedy_map`.

    Raises
    ------
    UserError
        If k is larger than the number of items of positive quality or the rank of S, S is not
        symmetric and finite, a quality is negative, or the chain detects that S is not positive
        semidefinite.
    """
    check_generator(rng)
    similarity = check_similarity(similarity)
    quality = check_quality(quality, len(similarity))
    possible = np.flatnonzero((quality > 0) & (similarity.diagonal() > 0))
    k = check_size(k, len(possible), "the number of items of positive quality")
    ground = _Items(similarity, possible, quality, k, rng)
    steps = check_steps(steps, k, len(possible))
    return _run(ground, k, rng, steps if len(possible) > k else 0)


def swap_points(
    draw: Callable[[np.random.Generator], np.ndarray],
    kernel: Kernel,
    k: int,
    rng: np.random.Generator,
    quality: Callable[[np.ndarray], np.ndarray] | None = None,
    steps: int | None = None,
    given: np.ndarray | None = None,
) -> Chain:
    """Draw k points of a space: a step may swap a uniformly drawn member for a new draw.

    Parameters
    ----------
    draw
        Returns a uniformly drawn feature vector (d,), or several, (m, d), which is faster. The
        chain returns the numbers of draws, by which ``draw`` can store what the vectors represent.
    kernel
        Maps feature vectors (n, d) and (m, d) to similarities (n, m); positive semidefinite, such
        as ``functools.partial(rbf, sigma=0.1)``. At most 1e100, and of k points at least 1e-100.
    k
        Number of points.
    rng
        Generator, also passed to ``draw``.
    quality
        Maps feature vectors (n, d) to positive qualities (n,); default 1.
    steps
        Number of steps; default max(1000, 100 k). Each costs O((g + k)^2) and g + k + 1
        similarities.
    given
        Feature vectors (g, d) of other points in the set, such as known ones: the k points are
        drawn from the (g + k)-DPP conditionally on them. Default none.

    Raises
    ------
    UserError
        If no start set is found, because the space has fewer than k other distinct points or
        because their kernel matrix, together with the given points, is too close to singular. If
        draws or kernel are not finite, the kernel turns out not to be positive semidefinite, or a
        quality is not positive.
    """
    check_generator(rng)
    k = check_size(k, 10**6, "a million points")
    ground = _Space(Draws(draw, rng), kernel, quality, k, given)
    return _run(ground, k, rng, check_steps(steps, k))


class _Ground(Protocol):
    """What a chain draws from. A member is a row of ``points``; the kernel takes such rows."""

    numbers: np.ndarray  # (k,) of the start set
    points: np.ndarray  # (k + g, ...): the start set, then the given points

    def kernel(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray: ...
    def log_quality(self, points: np.ndarray, /) -> np.ndarray: ...
    def propose(self) -> tuple[int, np.ndarray]: ...
    def swapped(self, number: int, /) -> None: ...
    def features(self, points: np.ndarray, /) -> np.ndarray | None: ...


class _Items:
    """The items of a finite set; points are the items themselves."""

    def __init__(
        self,
        similarity: np.ndarray,
        possible: np.ndarray,
        quality: np.ndarray,
        k: int,
        rng: np.random.Generator,
    ):
        self._rng = rng
        # Variances are treated as qualities: a residual relative to its variance shows if it is
        # rounding.
        roots = np.sqrt(np.where(similarity.diagonal() > 0, similarity.diagonal(), 1))
        self._similarity = similarity / roots[:, None] / roots
        with np.errstate(divide="ignore"):
            self._log_quality = np.log(quality) + np.log(roots)

        def largest() -> tuple[np.ndarray, np.ndarray]:
            part = similarity[np.ix_(possible, possible)]
            items = rng.permutation(possible[greedy_map(part, k, quality[possible])])
            if len(items) < k:
                raise UserError(
                    f"k is {k}, but only {len(items)} items are linearly independent up to rounding"
                )
            return items, items

        self.numbers = self.points = _start(self._starts(possible, k, largest), self.kernel)[0]
        self._outside = np.setdiff1d(possible, self.numbers)

    def _starts(
        self, possible: np.ndarray, k: int, largest: Callable[[], tuple[np.ndarray, np.ndarray]]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Uniform sets, and the greedy set: last, or first if qualities differ widely."""
        if np.ptp(self._log_quality[possible]) > np.log(WIDE):
            yield largest()
        for _ in range(TRIES):
            items = self._rng.permutation(possible)[:k]
            yield items, items
        yield largest()

    def kernel(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self._similarity[a[:, None], b]

    def log_quality(self, points: np.ndarray) -> np.ndarray:
        return self._log_quality[points]

    def propose(self) -> tuple[int, np.ndarray]:
        self._proposed = self._rng.integers(len(self._outside))
        item = self._outside[self._proposed]
        return item, item

    def swapped(self, number: int) -> None:
        self._outside[self._proposed] = number

    def features(self, points: np.ndarray) -> None:
        return None


class _Space:
    """A space to draw from; points are feature vectors."""

    def __init__(
        self,
        draws: Draws,
        kernel: Kernel,
        quality: Callable[[np.ndarray], np.ndarray] | None,
        k: int,
        given: np.ndarray | None,
    ):
        if quality is not None:
            check_function(quality, "quality", "a matrix")
        self.kernel = checked(kernel, LARGEST_KERNEL)
        self._quality, self.propose = quality, draws.next
        self.numbers, self.points = _start(self._starts(draws, k, given), self.kernel)
        largest = self.kernel(self.points, self.points).max()
        if largest < SMALLEST_KERNEL:
            raise UserError(
                f"the largest kernel of {len(self.points)} points is {largest:.3g}, must be at "
                f"least {SMALLEST_KERNEL:g}; multiply the kernel by a constant"
            )

    @staticmethod
    def _starts(
        draws: Draws, k: int, given: np.ndarray | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        given = None if given is None else real(given, "given points")
        if given is not None and given.ndim != 2:
            raise UserError(f"given points must be a matrix, have the shape {given.shape}")
        for _ in range(TRIES):
            numbers, points = draws.distinct(k, given)
            if given is not None and np.shape(given)[1:] != points.shape[1:]:
                raise UserError(
                    f"given points have the shape {np.shape(given)}, and draws {points.shape[1]} "
                    "features"
                )
            yield numbers, points if given is None else np.concatenate([points, given])

    def log_quality(self, points: np.ndarray) -> np.ndarray:
        if self._quality is None:
            return np.zeros(len(points))
        quality = real(self._quality(points), "qualities")
        quality = check_quality(quality, len(points))
        if not quality.all():
            raise UserError("a quality is 0, must be positive; leave such points out of the draws")
        return np.log(quality)

    def swapped(self, number: int) -> None:
        pass

    def features(self, points: np.ndarray) -> np.ndarray:
        return points


def _start(
    starts: Iterator[tuple[np.ndarray, np.ndarray]], kernel: Kernel
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and points of the first set whose determinant can be computed."""
    best = math.inf
    for numbers, points in starts:
        try:
            matrix = check_similarity(kernel(points, points))
            condition = condition_number(matrix)
            best = min(best, condition)
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            continue
        if condition < WORST_CONDITION:
            return numbers, points
    raise UserError(
        f"no start set of {len(points)} points has a condition number below {WORST_CONDITION:.0e} "
        f"(best: {best:.1e}); a smaller sigma or fewer points are needed"
    )


class Determinant:
    """The inverse and the determinant of the kernel matrix of k points, with updates for swaps.

    Parameters
    ----------
    matrix
        (k, k), positive definite beyond rounding (else ``numpy.linalg.LinAlgError``).

    Attributes
    ----------
    inverse
        (k, k).
    log_det
        Logarithm of the determinant.
    """

    def __init__(self, matrix: np.ndarray):
        root = np.linalg.cholesky(matrix)
        if (root.diagonal() ** 2 <= NOTHING * matrix.diagonal()).any():
            raise np.linalg.LinAlgError("a point depends on others up to rounding")
        inverse_root = np.linalg.inv(root)
        self.inverse = inverse_root.T @ inverse_root
        self.log_det = 2 * float(np.log(root.diagonal()).sum())
        self._trace = float(np.trace(self.inverse))

    def ratio(self, out: int, column: np.ndarray, own: float) -> tuple[float, float]:
        """Compute det after / det before, if a new point replaces point ``out``; O(k^2).

        Parameters
        ----------
        out
            Position of the point to replace.
        column
            Similarities of the new point to all k, (k,).
        own
            Similarity of the new point to itself.

        Returns
        -------
        ratio, error
            The error is a generous bound on the ratio's rounding error.
        """
        coefficients = self.inverse @ column
        schur = own - float(column @ coefficients)
        noise = 1e3 * np.finfo(float).eps * (own + float(column @ column) * self._trace)
        if schur < -noise - ROUNDING * own:
            raise not_semidefinite(schur)
        precision = float(self.inverse[out, out])
        ratio = max(schur, 0.0) * precision + float(coefficients[out]) ** 2
        return ratio, noise * precision

    def swap(self, out: int, column: np.ndarray, own: float, ratio: float) -> None:
        """Replace point ``out`` by the new point; O(k^2), arguments as above."""
        leaving = self.inverse[out]
        precision = leaving[out]
        rest = self.inverse - np.outer(leaving, leaving / precision)
        rest[out] = rest[:, out] = 0
        direction = rest @ column
        direction[out] = -1
        # The Schur complement of the new point is that of the old one, 1 / precision, times ratio.
        self.inverse = rest + np.outer(direction, direction * (precision / ratio))
        self.log_det += math.log(ratio)
        self._trace = float(np.trace(self.inverse))


def _run(ground: _Ground, k: int, rng: np.random.Generator, steps: int) -> Chain:
    numbers = ground.numbers.copy()
    # The last row is for the proposed point; rows between the first k and it never change.
    points = np.concatenate([ground.points, ground.points[:1]])
    log_quality = ground.log_quality(ground.points)
    current = Determinant(ground.kernel(points[:-1], points[:-1]))
    log_dets = np.empty(steps + 1)
    log_dets[0] = current.log_det + 2 * log_quality.sum()
    accepted = 0
    for step in range(1, steps + 1):
        out = int(rng.integers(k))
        number, points[-1] = ground.propose()
        own_quality = float(ground.log_quality(points[-1:])[0])
        column = ground.kernel(points, points[-1:])[:, 0]
        own, column = float(column[-1]), column[:-1]
        ratio, error = current.ratio(out, column, own)
        # Accept if a uniform number is below the ratio of det(L_A); ``ratio`` is that of
        # similarities.
        threshold = 2 * (float(log_quality[out]) - own_quality)
        threshold = rng.random() * math.exp(min(threshold, 700))
        exact = None
        # Recompute from scratch if rounding could decide, and after k updates to limit their
        # rounding.
        if abs(ratio - threshold) <= error or (threshold < ratio and (accepted + 1) % k == 0):
            exact = _after(ground, points[:-1], out, points[-1])
            ratio = math.exp(min(exact.log_det - current.log_det, 700)) if exact else 0.0
        if threshold < ratio:
            accepted += 1
            ground.swapped(int(numbers[out]))
            numbers[out], points[out], log_quality[out] = number, points[-1], own_quality
            if exact:
                current = exact
            else:
                current.swap(out, column, own, ratio)
        log_dets[step] = current.log_det + 2 * log_quality.sum()
    return Chain(numbers, ground.features(points[:k]), log_dets, accepted)


def _after(ground: _Ground, points: np.ndarray, out: int, point: np.ndarray) -> Determinant | None:
    """Compute the determinant after a swap from scratch; None if it is 0 up to rounding."""
    points = points.copy()
    points[out] = point
    try:
        return Determinant(ground.kernel(points, points))
    except np.linalg.LinAlgError:
        return None
