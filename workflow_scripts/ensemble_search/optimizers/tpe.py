"""Tree-structured Parzen estimator (Bergstra et al., NIPS 2011), with hyperopt's constants."""

from collections.abc import Iterator
from functools import cache, partial
from math import ceil, sqrt

import numpy as np
from pydantic import Field

from ensemble_search.optimizers._model_based import batches, parzen, per_algorithm
from ensemble_search.optimizers._model_based.acquisition import settled
from ensemble_search.optimizers.base import PENDING, History, Suggestion, random_new
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import OK
from ensemble_search.spaces.base import ALGORITHM, Space

MOST_GOOD = 25
TRIES = 100  # draws to try for a legal, new configuration


class TreeParzenEstimator(batches.BatchOptimizer):
    """Tree-structured Parzen estimator (Bergstra et al., NIPS 2011), with hyperopt's constants.

    The first ``initial`` configurations are random, or of another ``design``. The others are
    suggested as follows:

    1. The ``gamma`` * sqrt(n) best of n evaluations, rounded up and at most 25, are the good ones.
       A failed evaluation ranks behind all others; ties go to the oldest.
    2. Every hyperparameter has two Parzen estimators: l for the good evaluations in which it is
       active, g for the others. The last 25 observations of an estimator have weight 1; weights of
       older ones decrease linearly, to 1 / n.
       - A number has a mixture of Gaussians on its scale (logarithmic or not), truncated to its
         range: one centred on every observation, and the prior, in the middle, with weight 1 and
         the range as standard deviation. The standard deviation of an observation is the larger of
         the distances to its two neighbours, where the prior's mean counts as a neighbour. It is at
         least range / min(100, n + 2), and half the range if n = 1. An integer has the probability
         of the interval of length 1 around it.
       - The probabilities of categories are proportional to their weighted counts plus 1.
    3. Parents before children, each active hyperparameter gets the value with the largest l / g
       among ``candidates`` draws from l.
    4. If the combination is forbidden or has been evaluated, it is drawn again, each time with half
       as many candidates, because the same one would otherwise win again. On a table, the nearest
       new entry is suggested.

    With ``batch``, that many configurations are suggested from the same results; pending ones count
    as the median error. With ``algorithm``, only that algorithm's part of the space is searched.

    hyperopt differs as follows: the user chooses the interval of integers (here it extends 0.5
    beyond each bound), equal numbers are in arbitrary order (here older first), no combination is
    forbidden, configurations may repeat, and pending evaluations are infinitely bad. In Optuna, the
    prior's mean does not count as a neighbour, each Gaussian is truncated instead of the mixture,
    and categories have a mixture, too.

    ``why``: ``origin`` (``initial``, ``parzen``, or ``fallback``: random, after 100 draws that were
    forbidden or known), ``good`` (number of good evaluations).
    """

    initial: int = Field(
        20, ge=1, description="Number of evaluations before the first model is fitted."
    )
    gamma: float = Field(
        0.25,
        gt=0,
        le=1000,
        description="The best ceil(gamma sqrt(n)) of n evaluations count as good.",
    )
    candidates: int = Field(
        24, ge=1, description="Number of draws, of which one becomes the value of a hyperparameter."
    )
    algorithm: str | None = Field(
        None, description="Search the space of this algorithm only (default: all)."
    )

    def check_space(self, space: Space) -> None:
        """Reject an algorithm that the space lacks."""
        if self.algorithm is not None:
            known = space.algorithms
            if self.algorithm not in known:
                raise UserError(
                    f"algorithm: '{self.algorithm}' is not in the space '{space.name}'; it has "
                    f"{', '.join(known) or 'a single learner: leave the setting out'}"
                )
        super().check_space(space)

    def part(self, space: Space) -> Space:
        """Return the part of the space with ``algorithm``, if that is set."""
        return space.restricted({ALGORITHM: self.algorithm}) if self.algorithm else space

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan batches, as all optimizers with an initial design do."""
        yield from super().plan(self._own(history), generators)

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the best draw of each hyperparameter, or a random configuration."""
        history = self._own(history)
        if first := self.first(history, rng):
            return first
        space = history.space
        points = space.points([o.configuration for o in history.observations])
        failed = [o.status not in (OK, PENDING) for o in history.observations]
        good = self.good(np.where(failed, np.inf, history.errors))

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
        """Return the history in the part of the space with ``algorithm``, if that is set."""
        if self.algorithm is None:
            return history
        return per_algorithm.inside(history, self.part(history.space))

    def good(self, errors: np.ndarray) -> np.ndarray:
        """Return which evaluations are good, bool, of shape (n,); ties go to the oldest."""
        n = min(ceil(self.gamma * sqrt(len(errors))), MOST_GOOD)
        good = np.zeros(len(errors), dtype=bool)
        good[np.argsort(errors, kind="stable")[:n]] = True
        return good
