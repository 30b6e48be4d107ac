"""Ensemble selection on bootstraps of the validation rows; not from a paper."""

import numpy as np
from pydantic import Field

from ensemble_search.ensembles import _bootstraps
from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.ensembles.greedy.base import GreedyEnsemble
from ensemble_search.ensembles.selection import paths


class BootstrapSelection(GreedyEnsemble):
    """The mean of the ensembles that greedy selection finds on bootstraps of the validation rows.

    Selection minimises the loss on the rows that there are, and fits their noise, the more the
    longer the search has been: among hundreds of models, some combination is right by chance. Each
    bootstrap has other noise, which the mean over them cancels. With one round, it is
    ``agnostic-bayes`` with ``combine: mean``, but for ties.

    Attributes
    ----------
    bootstraps
        Their number. Default 25.
    ratio
        Size of a bootstrap over the number of validation rows. Default 1.
    size
        Rounds on each bootstrap. Default 5.
    ties, metric
        See ``GreedyEnsemble``.
    """

    bootstraps: int = Field(25, ge=1, le=_bootstraps.MOST)
    ratio: float = Field(1.0, gt=0, le=1)
    size: int = Field(5, ge=1, le=1000)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        return self.build_prefixes(pool)[-1]

    def build_prefixes(self, pool: Pool) -> list[Members | None]:
        """See :meth:`Ensemble.build_prefixes`."""
        succeeded = ~np.isnan(pool.errors)
        ok = np.flatnonzero(succeeded)
        # Row t: how often each model is selected from the first t + 1.
        counts = np.zeros((len(ok), len(ok)), dtype=int)
        for number in range(self.bootstraps):
            drawn = _bootstraps.counts(
                range(number, number + 1), len(pool.labels), self.ratio, pool.seed
            )[0]
            rows = np.repeat(np.arange(len(drawn)), drawn)
            found = paths(
                [pool.predictions[i][rows] for i in ok],
                pool.labels[rows],
                self.size,
                int(np.random.default_rng([pool.seed, number]).integers(2**31)),
                self.ties,
                self.minimised(pool.problem),
            )
            for row, (path, _) in zip(counts, found, strict=True):
                np.add.at(row, path, 1)
        result: list[Members | None] = []
        members, n = None, 0
        for new in succeeded:
            if new:
                if n == 0 or (counts[n] != counts[n - 1]).any():
                    chosen = np.flatnonzero(counts[n])
                    weights = counts[n][chosen] / (self.bootstraps * self.size)
                    members = Members(ok[chosen], weights)
                n += 1
            result.append(members)
        return result
