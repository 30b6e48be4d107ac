"""Weighted bagging of the best evaluations (a strategy of the DivBO paper, Table 9)."""

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.base import Ensemble, Members, Pool, leading


class Bagging(Ensemble):
    """The evaluations with the lowest validation errors, weighted by their accuracy.

    The paper does not say how the members are weighted. Here weights are proportional to
    1 - validation error; an evaluation that is never right has none, unless no other is better.

    Attributes
    ----------
    size
        Members. Default 5 as in the DivBO paper; fewer as long as fewer have succeeded.
    """

    size: int = Field(5, ge=1)

    def trace(self, pool: Pool) -> list[Members | None]:
        """See :meth:`Ensemble.trace`; the members are those of :func:`leading`."""
        result: list[Members | None] = []
        members = None
        for indices in leading(pool.errors, self.size):
            if len(indices):
                new = _weighted(indices, pool.errors[indices])
                if members is None or not np.array_equal(new.indices, members.indices):
                    members = new
            result.append(members)
        return result


def _weighted(indices: np.ndarray, errors: np.ndarray) -> Members:
    if errors.min() == 1:
        return Members(indices[:1], np.ones(1))
    weights = 1 - errors
    right = weights > 0
    return Members(indices[right], weights[right] / weights.sum())
