"""Ensemble optimization's own ensemble (DivBO paper, EO; Lévesque et al., UAI 2016)."""

from itertools import pairwise

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
        return self.build_prefixes(pool)[-1] if len(pool.errors) else None

    def build_prefixes(self, pool: Pool) -> list[Members | None]:
        """See :meth:`Ensemble.build_prefixes`; the rule is that of ``round_robin.fillings``."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        result: list[Members | None] = [None] * len(pool.errors)
        models = [pool.predictions[i] for i in ok]
        filled = fillings(models, pool.labels, self.size, pool.problem.metric)
        members = None
        for slots, (start, end) in zip(filled, pairwise([*ok, len(result)]), strict=True):
            indices, counts = np.unique(slots, return_counts=True)
            built = Members(ok[indices], counts / len(slots))
            members = members if built.same(members) else built
            result[start:end] = [members] * (end - start)
        return result
