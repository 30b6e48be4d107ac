"""BOHB: Hyperband with a model (Falkner et al., ICML 2018)."""

import numpy as np
from pydantic import Field

from ensemble_search.optimizers._brackets import Hyperband, place
from ensemble_search.optimizers._model_based.acquisition import settled
from ensemble_search.optimizers._model_based.kernel_density import KernelDensity
from ensemble_search.optimizers.base import PENDING, History, Suggestion
from ensemble_search.spaces.base import Space

#: Probability of a random configuration.
INTERLEAVE = 1 / 3
#: Share of the evaluations that count as good.
GOOD = 0.15
#: Number of draws, of which the best is suggested, and how many times as wide as kernels they are.
CANDIDATES, FACTOR = 64, 3.0
#: Smallest bandwidth.
FLOOR = 1e-3


class ModelBasedHyperband(Hyperband):
    """Hyperband whose brackets begin with configurations from a model (Falkner et al., ICML 2018).

    1. With probability 1/3, the configuration is random.
    2. The model uses the evaluations at the largest fidelity that has at least ``points`` + 2 of
       them and a success; if there is no such fidelity, the configuration is random. The best 15 %,
       but at least ``points``, are the good ones; the others, but at least the ``points`` worst,
       are the bad ones. Failed evaluations rank last.
    3. A kernel density is estimated for each set: l for the good ones, g for the bad ones.
       Bandwidths follow the normal reference rule, 1.06 * standard deviation * n^(-1 / (4 + d)) for
       n configurations of d hyperparameters, but at least 0.001. Numbers are scaled to [0, 1]
       (on a log scale where the space has one); inactive hyperparameters get the value of a random
       other configuration in the same set.
    4. 64 configurations are drawn from l, with bandwidths 3 times as wide for numbers. Of those
       that are legal and new, the one with the largest l / g is suggested.

    In a space with many hyperparameters, the model needs many evaluations at one fidelity (107 in
    the space ``divbo``); until then, suggestions are those of ``hyperband``. The authors' code has
    brackets of 27, 9, 6 and 4 configurations instead of 27, 12, 6 and 4.

    ``why`` is as in ``hyperband``. For a configuration from the model, ``origin`` is ``density``,
    ``model`` is the model's fidelity, and ``good`` is the number of good evaluations.
    """

    points: int | None = Field(
        None,
        ge=2,
        description="Minimum number of observations to fit a density (default: number of "
        "hyperparameters + 1).",
    )

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Whether a model or the previous rung may be needed."""
        first = place(self.schedule, evaluations - given).rung == 0
        return first or super().needs_results(evaluations, given)

    def fresh(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the best candidate of the model, or a uniform draw."""
        chance = rng.random()
        if chance < INTERLEAVE or (rows := self.modelled(history)) is None:
            return super().fresh(history, rng)
        space = history.space
        n_good = max(self.least(space), int(GOOD * len(rows)))
        n_bad = max(self.least(space), len(rows) - n_good)
        observed = scaled(space, [history.observations[i].configuration for i in rows])
        likely, unlikely = (
            KernelDensity.of(filled(space, part, rng), space.categories, FLOOR)
            for part in (observed[:n_good], observed[-n_bad:])
        )
        draws = likely.draw(CANDIDATES, FACTOR, rng)
        ratio = settled(likely.log_density(draws) - unlikely.log_density(draws))
        for i, column in enumerate(space.columns):
            if not column.categorical:
                draws[:, i] = column.draw(draws[:, i])
        for row in np.argsort(-ratio, kind="stable"):
            point = space.compose(draws[row].__getitem__)
            found = None if point is None else space.nearest_new(point, history.seen)
            if found is not None:
                share = history.observations[rows[0]].fidelity
                return Suggestion(found, {"origin": "density", "model": share, "good": n_good})
        return super().fresh(history, rng)

    def least(self, space: Space) -> int:
        """Return the number of observations that a density needs."""
        return self.points or len(space.columns) + 1

    def modelled(self, history: History) -> list[int] | None:
        """Return the evaluations to model, from best to worst; None if there are too few.

        Failed evaluations rank last; pending ones are left out.
        """
        ok = set(history.ok.tolist())
        finished = [i for i, o in enumerate(history.observations) if o.status != PENDING]
        for share in sorted({history.observations[i].fidelity for i in finished}, reverse=True):
            rows = [i for i in finished if history.observations[i].fidelity == share]
            if len(rows) >= self.least(history.space) + 2 and ok & set(rows):
                failed = np.inf
                return sorted(
                    rows, key=lambda i: history.observations[i].error if i in ok else failed
                )
        return None


def scaled(space: Space, configurations) -> np.ndarray:
    """Return points with numbers scaled to [0, 1], as for draws; NaN if inactive."""
    points = space.points(configurations)
    for i, column in enumerate(space.columns):
        if not column.categorical:
            active = ~np.isnan(points[:, i])
            points[active, i] = column.positions(points[active, i])
    return points


def filled(space: Space, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Replace inactive entries by those of random other points, or by uniform draws without any.

    Parameters
    ----------
    points
        From :func:`scaled`, of shape (n, n_hyperparameters).
    """
    points = points.copy()
    for i, size in enumerate(space.categories):
        missing = np.isnan(points[:, i])
        known = points[~missing, i]
        if len(known):
            points[missing, i] = rng.choice(known, missing.sum())
        else:
            uniform = rng.random(missing.sum())
            points[missing, i] = np.floor(uniform * size) if size else uniform
    return points
