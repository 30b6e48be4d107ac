"""Designs: configurations chosen together, before any of their results are known."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Literal

import numpy as np

from ensemble_search.dpp.kernels import LengthScale, length_scale, rbf
from ensemble_search.dpp.mcmc import swap_points
from ensemble_search.optimizers.base import History, Suggestion, random_new
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._features import features
from ensemble_search.spaces.base import ALGORITHM, Configuration, Space

#: Initial designs of model-based searches.
Design = Literal["random", "k-dpp", "sobol", "defaults"]
#: Number of points drawn at a time.
BLOCK = 256


def check_space(key: str, design: str, space: Space) -> None:
    """Reject Sobol sequences in a space with conditions.

    Raises
    ------
    UserError
        Its message begins with ``key``, the setting that names the design.
    """
    if design == "sobol" and space.conditional:
        raise UserError(
            f"{key}: a Sobol sequence needs a space without conditions, and '{space.name}' has "
            "some; take k-dpp or random"
        )


def initial(
    design: Design, history: History, size: int, rng: np.random.Generator
) -> Iterator[Suggestion]:
    """Suggest the next ``size`` configurations of a design (not ``random``) after ``history``."""
    if design == "k-dpp":
        drawn = k_dpp(history, size, rng)
    else:
        drawn = (sobol if design == "sobol" else defaults)(history, rng)
    for suggestion in islice(drawn, size):
        yield replace(suggestion, why={**suggestion.why, "origin": "initial"})


def defaults(history: History, rng: np.random.Generator) -> Iterator[Suggestion]:
    """Suggest the default of every algorithm in turn, then uniform draws indefinitely.

    A space of one learner, or of one algorithm, has one default. In a table, the entry nearest to a
    default takes its place. A default that is forbidden or was evaluated is replaced by a uniform
    draw.
    """
    space = history.space
    names = [] if ALGORITHM in space.fixed else space.algorithms
    parts: list[dict[str, str]] = [{ALGORITHM: name} for name in names] or [{}]
    while True:
        found = None
        if history.made < len(parts):
            part = space.restricted(parts[history.made])
            point = part.compose(lambda i: space.columns[i].default)
            found = None if point is None else part.nearest_new(point, history.seen)
        if found is None:
            suggestion = Suggestion(random_new(history, rng), {"origin": "random"})
        else:
            suggestion = Suggestion(found, {"origin": "default"})
        yield suggestion
        history = history.pending(suggestion)


def sobol(history: History, rng: np.random.Generator) -> Iterator[Suggestion]:
    """Iterate indefinitely over a Sobol sequence, shifted by one uniform vector modulo 1.

    The sequence skips as many points as ``history`` has evaluations. It also skips points that are
    forbidden or were evaluated; once a tiny space is exhausted, draws are uniform. In a table, each
    point is replaced by the nearest configuration.
    """
    seed = int(rng.integers(2**63))
    begin, end = len(history), len(history) + 64
    found = True
    while found or end < 10_000:
        found = False
        points = history.space.sobol_points(end, np.random.default_rng(seed), shifted=True)
        for point in points[begin:]:
            if configuration := history.space.nearest_new(point, history.seen):
                suggestion, found = Suggestion(configuration, {"origin": "sobol"}), True
                history = history.pending(suggestion)
                yield suggestion
        begin, end = max(begin, len(points)), 2 * end
    yield from _uniform(history, rng)


def k_dpp(
    history: History,
    size: int,
    rng: np.random.Generator,
    sigma: float | None = None,
    steps: int | None = None,
) -> Iterator[Suggestion]:
    """Draw configurations from a k-DPP, given those already evaluated.

    Dodge et al., "Open loop hyperparameter optimization and determinantal point processes" (2017),
    Algorithm 2: an RBF kernel on :func:`features`, and a Markov chain of swaps.

    Parameters
    ----------
    history
        The set includes its distinct configurations.
    size
        Number of configurations. If the space has fewer new ones, the rest are repeats.
    rng
        Generator.
    sigma
        Length scale of the kernel. Default: that of :func:`length_scale` for sets of the final
        size, shortened until the chain finds a start.
    steps
        Steps of the chain, at least 0; default max(1000, 100 size).

    Yields
    ------
    suggestion
        Suggestions come in random order. Reasons: ``sigma``; ``similarity``, the kernel's median
        between uniform points; ``log_det`` of the set; its mean and standard deviation for uniform
        sets, ``uniform_log_det`` and ``spread``.

    Raises
    ------
    UserError
        If ``sigma`` is too large to compute determinants.
    """
    space, source = history.space, _Source(history.space)
    seen = list(dict.fromkeys(o.configuration for o in history.observations))
    known = features(space, space.points(seen))
    new = _new(history, size, rng)
    if len(new) <= size:
        for configuration in new:
            suggestion = Suggestion(configuration, {"origin": "k-dpp"})
            yield suggestion
            history = history.pending(suggestion)
        yield from islice(_uniform(history, rng), size - len(new))
        return
    scale = _scale(space, len(known) + size, sigma)
    if sigma is not None and not np.isfinite(scale.spread):
        raise UserError(f"sigma: {sigma:g} is too large; choose a smaller sigma")
    while True:
        kernel = partial(rbf, sigma=scale.sigma)
        try:
            chain = swap_points(source, kernel, size, rng, steps=steps, given=known)
            break
        except UserError as error:
            if sigma is not None:
                raise UserError(f"sigma: {sigma:g} is too large; {error}") from None
            if scale.sigma < 1e-3:
                raise
            scale = _scale(space, len(known) + size, scale.sigma / 1.5**0.5)
    why = {
        "origin": "k-dpp",
        "sigma": scale.sigma,
        "similarity": scale.median_similarity,
        "log_det": float(chain.log_dets[-1]),
        "uniform_log_det": scale.log_det,
        "spread": scale.spread,
    }
    for number in chain.items:
        yield Suggestion(space.at(source.point(int(number)))[0], why)


def _new(history: History, size: int, rng: np.random.Generator) -> list[Configuration]:
    """Draw until more than ``size`` new configurations are found, or return all that exist."""
    found: dict[Configuration, None] = {}
    for draws in (2 * size, max(1000, 100 * size)):
        for configuration in history.space.at(history.space.independent_points(draws, rng)):
            if configuration not in history.seen:
                found[configuration] = None
        if len(found) > size:
            break
    return list(found)


def _uniform(history: History, rng: np.random.Generator) -> Iterator[Suggestion]:
    """Suggest uniform draws indefinitely."""
    while True:
        suggestion = Suggestion(random_new(history, rng), {"origin": "fallback"})
        yield suggestion
        history = history.pending(suggestion)


class _Source:
    """Uniform draws, stored as seeds only, because a long chain makes millions."""

    def __init__(self, space: Space):
        self._space = space
        self._seeds: list[int] = []

    def __call__(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a block; return its features, of shape (BLOCK, d)."""
        self._seeds.append(int(rng.integers(2**63)))
        return features(self._space, self._block(len(self._seeds) - 1))

    def point(self, number: int) -> np.ndarray:
        """Return draw ``number``, counted from 0, of shape (1, n_hyperparameters)."""
        block, row = divmod(number, BLOCK)
        return self._block(block)[row : row + 1]

    def _block(self, number: int) -> np.ndarray:
        return self._space.independent_points(BLOCK, np.random.default_rng(self._seeds[number]))


@lru_cache(maxsize=64)
def _scale(space: Space, size: int, sigma: float | None) -> LengthScale:
    """Return the length scale, a property of the space: all repeats share it."""
    return length_scale(_Source(space), size, np.random.default_rng(0), sigma)
