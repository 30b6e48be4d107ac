"""Ensemble optimization's own ensemble (DivBO paper, EO; Lévesque et al., UAI 2016)."""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.base import Ensemble, Members, Pool
from ensemble_search.ensembles.greedy.round_robin import fillings


class Slots(Ensemble):
    """The slots of ``ensemble-optimization``, filled from any search.

    (Lévesque et al., UAI 2016.) Slots have equal weights; a model in several slots counts once per
    slot. Each success refills a slot, so the validation error may rise again.

    Attributes
    ----------
    size
        Number of slots. Default 12 as in the DivBO paper.
    """

    size: int = Field(12, ge=1, le=1000)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        return [None, *self.after_each_success(pool)][-1]

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """See :meth:`Ensemble.after_each_success`; the rule is that of ``round_robin.fillings``."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        models = [pool.predictions[i] for i in ok]
        for slots in fillings(models, pool.labels, self.size, pool.problem.metric):
            indices, counts = np.unique(slots, return_counts=True)
            yield Members(ok[indices], counts / len(slots))
