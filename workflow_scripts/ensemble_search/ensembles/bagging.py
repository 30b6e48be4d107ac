"""Weighted bagging of the best evaluations (a strategy of the DivBO paper, Table 9)."""

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.base import Ensemble, Members, Pool, lowest


class Bagging(Ensemble):
    """The evaluations with the lowest validation errors, weighted by their accuracy.

    The paper does not specify the weights. Here they are proportional to validation accuracy (other
    metrics: 1 - loss / :attr:`Pool.worst`, which is R² for the squared error). An evaluation that
    is never right, or no better than a useless model, gets weight 0. If all would, the best is the
    only member.

    Attributes
    ----------
    size
        Number of members; default 5, as in the DivBO paper; fewer if fewer evaluations succeeded.
    """

    size: int = Field(5, ge=1)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        indices = lowest(pool.errors, self.size)
        if not len(indices):
            return None
        weights = np.maximum(1 - pool.errors[indices] / pool.worst, 0)
        if not weights.any():
            return Members(indices[[pool.errors[indices].argmin()]], np.ones(1))
        return Members(indices[weights > 0], weights[weights > 0] / weights.sum())
