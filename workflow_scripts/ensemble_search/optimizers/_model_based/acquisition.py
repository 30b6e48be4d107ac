"""Expected improvement, candidates, and the choice among them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ensemble_search.spaces.base import Configuration, Space

Score = Callable[[np.ndarray], np.ndarray]
Slope = Callable[[np.ndarray], tuple[float, np.ndarray]]


def settled(values: np.ndarray) -> np.ndarray:
    """Round values that decide a choice to float32 precision (24 bits); returns float64.

    The last bits of a float64 depend on the processor's instructions, so values that differ only in
    those bits must tie on every machine.
    """
    return np.asarray(values, dtype=np.float32).astype(float)


def expected_improvement(mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:
    """Expected improvement on the lowest error, :func:`settled` (Jones et al. 1998, Eq. 15).

    Parameters
    ----------
    mean, std
        Predicted error and its standard deviation, of shape (m,); the improvement is 0 where std is
        0.
    best
        Lowest observed error.
    """
    from scipy.special import ndtr

    gain = best - mean
    safe = np.where(std > 0, std, 1.0)
    z = gain / safe
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return settled(np.where(std > 0, np.maximum(gain * ndtr(z) + safe * density, 0.0), 0.0))


def log_improvement(
    mean: float, std: float, mean_slope: np.ndarray, std_slope: np.ndarray, best: float
) -> tuple[float, np.ndarray]:
    """Logarithm of :func:`expected_improvement` at one configuration, and its gradient.

    Parameters
    ----------
    mean, std, mean_slope, std_slope
        The prediction and its gradients, each of shape (n_hyperparameters,).
    best
        Lowest observed error.
    """
    from scipy.special import ndtr

    if std <= 0:
        return -np.inf, np.zeros_like(mean_slope)
    gain = best - mean
    z = gain / std
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    value = gain * ndtr(z) + std * density
    if value <= 0:
        return -np.inf, np.zeros_like(mean_slope)
    return float(np.log(value)), (density * std_slope - ndtr(z) * mean_slope) / value


def descending_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 for the largest value, ties averaged."""
    from scipy.stats import rankdata

    return rankdata(-np.asarray(values))


def climb(
    space: Space,
    starts: Sequence[Configuration],
    score: Score,
    rng: np.random.Generator,
    steps: int = 20,
) -> np.ndarray:
    """Climb from every start to a local maximum of the score, all climbs in lockstep.

    A climb moves to its best neighbour as long as the score improves, at most ``steps`` times. The
    score is called once per step, for all climbs together.

    Parameters
    ----------
    score
        Maps encoded configurations, of shape (m, n_hyperparameters), to values, of shape (m,).

    Returns
    -------
    points
        End of each climb, in the order of ``starts``, of shape (n_starts, n_hyperparameters);
        ``Space`` defines points.
    """
    points = space.points(starts)
    if not len(points):
        return points
    values = score(space.encode_points(points))
    active = np.arange(len(points))
    for _ in range(steps):
        if not len(active):
            break
        around, centres = space.neighbour_points(points[active], rng)
        scores = score(space.encode_points(around))
        # Sort neighbours by climb, then by score: the last of each climb is its best.
        order = np.lexsort((scores, centres))
        last = order[np.flatnonzero(np.diff(centres[order], append=-1))]
        better = last[scores[last] > values[active[centres[last]]]]
        active = active[centres[better]]
        points[active], values[active] = around[better], scores[better]
    return points


def ascend(space: Space, starts: np.ndarray, score: Slope) -> np.ndarray:
    """Climb from every start to a local maximum by the gradient (L-BFGS-B, Byrd et al. 1995).

    Only numerical hyperparameters move; integers are treated as continuous. End points are rounded
    to four digits of the range, because further digits depend on the processor.

    Parameters
    ----------
    starts
        Points without inactive hyperparameters, of shape (n, n_hyperparameters).
    score
        Maps an encoded configuration, of shape (n_hyperparameters,), to a value and its gradient.

    Returns
    -------
    points
        Legal points, of shape (at most n, n_hyperparameters).
    """
    from scipy.optimize import minimize

    numbers = np.array([c.name not in space.fixed and not c.categorical for c in space.columns])
    ends = starts.copy()
    for end in ends if numbers.any() else ():

        def loss(x: np.ndarray, point: np.ndarray = end) -> tuple[float, np.ndarray]:
            point[numbers] = x
            value, gradient = score(point)
            return -value, -gradient[numbers]

        bounds = [(0.0, 1.0)] * int(numbers.sum())
        start = end[numbers]
        end[numbers] = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return space.nearest_points(np.round(ends, 4))


@dataclass(frozen=True)
class Candidates:
    """The configurations that an optimizer chooses from."""

    #: Distinct end points of the climbs, then uniform draws; of shape (n, n_hyperparameters).
    points: np.ndarray
    vectors: np.ndarray  #: the encoded points, float32, of shape (n, n_hyperparameters)
    n_local: int  #: number of end points of climbs

    def extended(self, ends: np.ndarray, space: Space) -> "Candidates":
        """Return the candidates with further end points of climbs prepended."""
        return Candidates(
            np.concatenate([ends, self.points]),
            np.concatenate([space.encode_points(ends).astype(np.float32), self.vectors]),
            len(ends) + self.n_local,
        )


def propose(
    space: Space,
    starts: Sequence[Configuration],
    score: Score,
    rng: np.random.Generator,
    *,
    size: int = 5000,
    sobol: bool = False,
) -> Candidates:
    """Make ``size`` candidates: local maxima of the score, and draws to fill the rest.

    The draws are uniform, or a Sobol sequence (:meth:`Space.sobol_points`).
    """
    ends = climb(space, starts, score, rng)
    local = ends[sorted({point.tobytes(): i for i, point in enumerate(ends)}.values())]
    draw = space.sobol_points if sobol else space.sample_points
    drawn = draw(max(size - len(local), 0), rng)
    points = np.concatenate([local, drawn])
    vectors = np.ascontiguousarray(space.encode_points(points), dtype=np.float32)
    return Candidates(points, vectors, len(local))


def first_new(
    space: Space,
    points: np.ndarray,
    cost: np.ndarray,
    seen: Collection[Configuration],
    rng: np.random.Generator,
) -> tuple[int, Configuration] | None:
    """Return the index and configuration of the cheapest point not in ``seen``, or None.

    Ties are broken at random.
    """
    for i in np.lexsort((rng.random(len(cost)), cost)):
        configuration = space.at(points[i : i + 1])[0]
        if configuration not in seen:
            return int(i), configuration
    return None
