"""Ensemble selection from the latest evaluations only: what evolution has come to."""

from itertools import pairwise

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.base import Ensemble, Members, Pool
from ensemble_search.ensembles.greedy.forward_selection import current
from ensemble_search.ensembles.selection import Ties, select


class Population(Ensemble):
    """Greedy selection with replacement from the population of ``neural-ensemble-search``.

    The paper of that method selects from all evaluations instead, which is ``selection``.

    Attributes
    ----------
    population
        The latest successes that are selected from. Default 30 as in the DivBO paper.
    size, ties
        Rounds of the selection (default 25) and which of equal models they add (default at
        random); see ``Selection``.
    """

    population: int = Field(30, ge=1)
    size: int = Field(25, ge=1, le=1000)
    ties: Ties = "random"

    def trace(self, pool: Pool) -> list[Members | None]:
        """See :meth:`Ensemble.trace`."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        result: list[Members | None] = [None] * len(pool.errors)
        members, content = None, None
        for n, (start, end) in enumerate(pairwise([*ok, len(result)]), start=1):
            alive = current(ok[:n], self.population)
            chosen = select(
                pool.predictions[alive], pool.labels, self.size, pool.seed, ties=self.ties
            )
            indices = alive[chosen.indices]
            if (new := (indices.tolist(), chosen.weights.tolist())) != content:
                members, content = Members(indices, chosen.weights), new
            result[start:end] = [members] * (end - start)
        return result
