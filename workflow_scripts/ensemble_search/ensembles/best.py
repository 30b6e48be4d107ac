"""The best single learner: what a search without an ensemble delivers."""

import numpy as np

from ensemble_search.ensembles.base import Ensemble, Members, Pool


class Best(Ensemble):
    """The evaluation with the lowest validation error so far, the earliest of equal ones."""

    def trace(self, pool: Pool) -> list[Members | None]:
        """See :meth:`Ensemble.trace`; linear in the number of evaluations."""
        result: list[Members | None] = []
        members, lowest = None, np.inf
        for index, error in enumerate(pool.errors):
            if error < lowest:  # never so for NaN, that is for a failed evaluation
                members, lowest = Members(np.array([index]), np.array([1.0])), error
            result.append(members)
        return result
