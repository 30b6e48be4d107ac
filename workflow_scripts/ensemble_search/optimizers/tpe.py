"""Tree-structured Parzen estimator (Bergstra et al., NIPS 2011), with hyperopt's constants."""

from collections.abc import Iterator
from functools import cache, partial
from math import ceil, sqrt

import numpy as np
from pydantic import Field

from ensemble_search.optimizers._model_based import batches, parzen, per_algorithm
from ensemble_search.optimizers._model_based.acquisition import settled
from ensemble_search.optimizers.base import History, Suggestion, random_new
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces.base import ALGORITHM, Space

MOST_GOOD = 25
TRIES = 100  # draws until one is legal and new


class TreeParzenEstimator(batches.BatchOptimizer):
    """TPE: hyperparameters drawn as in the best evaluations, unlike in the others.

    The first ``initial`` configurations are random, or of another ``design``. Then the ``gamma`` *
    sqrt(n) best of n evaluations, rounded up and at most 25, are the good ones. Each hyperparameter
    has a Parzen estimator l of the good ones in which it is active, and g of the others. Its value,
    parents' before children's, is the one with the largest l / g among ``candidates`` draws from l.

    The defaults are those of hyperopt. Forbidden combinations and known configurations are drawn
    again, every time with half as many candidates, or the same would come again. With ``batch``,
    that many are suggested from the same results; pending ones count as the median error. With
    ``algorithm``, only the part of the space with that algorithm is searched.
    """

    initial: int = Field(20, ge=1, description="Evaluations before the first model.")
    gamma: float = Field(
        0.25, gt=0, le=1000, description="Good evaluations over the square root of all, rounded up."
    )
    candidates: int = Field(
        24, ge=1, description="Draws that the value of a hyperparameter is chosen from."
    )
    algorithm: str | None = Field(None, description="The only algorithm (default: all).")

    def check_space(self, space: Space) -> None:
        """Refuse an algorithm that the space lacks."""
        if self.algorithm is not None:
            known = space.algorithms
            if self.algorithm not in known:
                raise UserError(
                    f"algorithm: '{self.algorithm}' is not in the space '{space.name}'; it has "
                    f"{', '.join(known) or 'a single learner: leave the setting out'}"
                )
        super().check_space(space)

    def part(self, space: Space) -> Space:
        """Return the part with the only algorithm, if there is one."""
        return space.restricted({ALGORITHM: self.algorithm}) if self.algorithm else space

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan batches, as all optimizers with an initial design do."""
        yield from super().plan(self._own(history), generators)

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the best draws of every hyperparameter, or a random configuration."""
        history = self._own(history)
        if first := self.first(history, rng):
            return first
        space = history.space
        points = space.points([o.configuration for o in history.observations])
        good = self.good(history.errors)

        @cache
        def estimates(i: int) -> tuple:
            """Estimate l and g of a hyperparameter."""
            active = ~np.isnan(points[:, i])
            column = space.columns[i]
            return tuple(
                parzen.estimate(column, points[active & part, i]) for part in (good, ~good)
            )

        def choose(size: int, i: int) -> float:
            likely, unlikely = estimates(i)
            entries = likely.draw(size, rng)
            ratio = likely.log_likelihood(entries) - unlikely.log_likelihood(entries)
            return entries[settled(ratio).argmax()]

        for redrawn in range(TRIES):
            point = space.compose(partial(choose, max(self.candidates >> redrawn, 1)))
            found = None if point is None else space.nearest_new(point, history.seen)
            if found is not None:
                return Suggestion(found, {"origin": "parzen", "good": int(good.sum())})
        return Suggestion(random_new(history, rng), {"origin": "fallback"})

    def _own(self, history: History) -> History:
        """Return the history in the part of the space with the only algorithm, if there is one."""
        if self.algorithm is None:
            return history
        return per_algorithm.inside(history, self.part(history.space))

    def good(self, errors: np.ndarray) -> np.ndarray:
        """Return which evaluations are good, bool, of shape (n,); of equal ones the oldest."""
        n = min(ceil(self.gamma * sqrt(len(errors))), MOST_GOOD)
        good = np.zeros(len(errors), dtype=bool)
        good[np.argsort(errors, kind="stable")[:n]] = True
        return good
