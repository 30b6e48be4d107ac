"""Ensemble selection from the current population of an evolution."""

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.base import Ensemble, Members, Pool
from ensemble_search.ensembles.greedy.forward_selection import current
from ensemble_search.ensembles.selection import select


class Population(Ensemble):
    """Greedy selection with replacement from the population of ``neural-ensemble-search``.

    The NES paper selects from all evaluations instead, as ``selection`` does; the DivBO paper does
    not specify this. A driver script of DivBO, edited by a third party, selects from the last 20
    observations, including failed ones: ``population: 20`` does the same without the failed ones.

    Attributes
    ----------
    population
        Number of latest successes to select from; default 30, as in the DivBO paper.
    size
        Number of selection rounds. Default 25.
    """

    population: int = Field(30, ge=1)
    size: int = Field(25, ge=1, le=1000)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        alive = current(np.flatnonzero(~np.isnan(pool.errors)), self.population)
        if not len(alive):
            return None
        chosen = select(
            [pool.predictions[i] for i in alive],
            pool.labels,
            self.size,
            pool.seed,
            metric=pool.problem.metric,
        )
        return Members(alive[chosen.indices], chosen.weights)
