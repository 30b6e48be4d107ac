"""Ensemble selection on bootstraps of the validation rows; not from a paper."""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from ensemble_search.ensembles import _bootstraps
from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.ensembles.greedy.base import GreedyEnsemble
from ensemble_search.ensembles.selection import paths, select
from ensemble_search.metrics.base import Metric


class BootstrapSelection(GreedyEnsemble):
    """The mean of the ensembles that greedy selection builds on bootstraps of the validation rows.

    Selection minimises the loss on the validation rows and also fits their noise, increasingly so
    in long searches: among hundreds of models, some combination is right by chance. Each bootstrap
    has different noise, which averaging cancels. With one round, the weights are those of
    ``agnostic-bayes``, except for ties.

    Attributes
    ----------
    bootstraps
        Number of bootstraps. Default 25.
    size
        Rounds on each bootstrap. Default 5.
    ties, metric
        See ``GreedyEnsemble``.
    """

    bootstraps: int = Field(25, ge=1, le=_bootstraps.MOST)
    size: int = Field(5, ge=1, le=1000)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`; selects once on each bootstrap, from all evaluations."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        if not len(ok):
            return None
        counts = np.zeros(len(ok), dtype=int)
        for predictions, labels, metric, seed in self._drawn(pool, ok):
            chosen = select(predictions, labels, self.size, seed, ties=self.ties, metric=metric)
            counts[chosen.indices] += np.rint(chosen.weights * self.size).astype(int)
        return self._members(counts, ok)

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """See :meth:`Ensemble.after_each_success`."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        # Row t: how often each model is selected from the first t + 1.
        counts = np.zeros((len(ok), len(ok)), dtype=int)
        for predictions, labels, metric, seed in self._drawn(pool, ok):
            found = paths(predictions, labels, self.size, seed, self.ties, metric)
            for row, (path, _) in zip(counts, found, strict=True):
                np.add.at(row, path, 1)
        for row in counts:
            yield self._members(row, ok)

    def _drawn(
        self, pool: Pool, ok: np.ndarray
    ) -> Iterator[tuple[list[np.ndarray], np.ndarray, Metric, int]]:
        """Yield predictions, labels, metric and the seed of random ties on each bootstrap."""
        metric = self.minimised(pool.problem)
        for number in range(self.bootstraps):
            drawn = _bootstraps.counts(range(number, number + 1), len(pool.labels), 1, pool.seed)[0]
            rows = np.repeat(np.arange(len(drawn)), drawn)
            seed = int(np.random.default_rng([pool.seed, number]).integers(2**31))
            predictions = [pool.predictions[i][rows] for i in ok]
            yield predictions, pool.labels[rows], metric.on(rows), seed

    def _members(self, counts: np.ndarray, ok: np.ndarray) -> Members:
        chosen = np.flatnonzero(counts)
        return Members(ok[chosen], counts[chosen] / (self.bootstraps * self.size))
