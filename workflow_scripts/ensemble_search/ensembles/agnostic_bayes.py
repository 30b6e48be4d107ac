"""Agnostic Bayes: models weighted by how often they are best (Lacoste et al., ICML 2014)."""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from ensemble_search.ensembles import _bootstraps
from ensemble_search.ensembles.base import Ensemble, Members, Pool
from ensemble_search.runtime.names import CLASSIFICATION


class AgnosticBayes(Ensemble):
    """For every bootstrap of the validation rows, the model with the lowest loss on it.

    (Lacoste et al., ICML 2014; the ensemble of the ESMBO paper, UAI 2014.) A model's weight is the
    share of bootstraps on which it is best; tied models share a bootstrap equally. The weights
    approximate the posterior probability that a model is the best of all, treating the validation
    rows as a sample. A metric that is not a mean over samples, such as ``auc``, is computed on the
    rows of each bootstrap; if these have a single class, all models tie. The optimizer ``esmbo``
    with the same number of bootstraps uses the same ones: with that search, this is the paper's
    ESMBO; with ``random``, it is its baseline ERS. Members vote with their weights, and vote shares
    are the ensemble's probabilities; in regression, the prediction is the weighted mean.

    Attributes
    ----------
    bootstraps
        Number of bootstraps. Default: half the study's evaluations, as in the ESMBO paper, or the
        paper's 75 if the budget is in seconds.
    ratio
        Size of a bootstrap over the number of validation rows. Default 1, as in the paper; the
        authors' code has 0.5, which spreads the weight over more models.
    """

    bootstraps: int | None = Field(None, ge=1, le=_bootstraps.MOST)
    ratio: float = Field(1.0, gt=0, le=1)

    def planned(self, evaluations: int | None) -> "AgnosticBayes":
        """See :meth:`Ensemble.planned`."""
        return self.model_copy(
            update={"bootstraps": self.bootstraps or _bootstraps.number(evaluations)}
        )

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`."""
        return [None, *self.after_each_success(pool)][-1]

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """See :meth:`Ensemble.after_each_success`; the losses are computed once."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        if not len(ok):
            return
        numbers = range(self.bootstraps or _bootstraps.number(None))
        counts = _bootstraps.counts(numbers, len(pool.labels), self.ratio, pool.seed)
        losses = _bootstraps.losses(counts, pool.labels, pool.predictions[ok], pool.problem.metric)
        lowest = np.minimum.accumulate(losses)
        kind = _Votes if pool.problem.task == CLASSIFICATION else Members
        members = None
        for n in range(len(ok)):
            if (losses[n] == lowest[n]).any():  # it is best on some bootstrap
                best = losses[: n + 1] == lowest[n]
                weights = (best / best.sum(axis=0)).mean(axis=1)
                members = kind(ok[: n + 1][weights > 0], weights[weights > 0])
            yield members


class _Votes(Members):
    """Members that vote for their most probable labels."""

    combination = "votes"
