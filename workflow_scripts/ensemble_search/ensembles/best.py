"""The best single learner: a search without an ensemble."""

import numpy as np

from ensemble_search.ensembles.base import Ensemble, Members, Pool, lowest


class Best(Ensemble):
    """The evaluation with the lowest validation error so far; ties go to the earliest."""

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        best = lowest(pool.errors, 1)
        return Members(best, np.ones(1)) if len(best) else None
