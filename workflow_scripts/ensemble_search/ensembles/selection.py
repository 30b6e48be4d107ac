"""Ensemble selection with replacement (Caruana et al., ICML 2004).

Every round adds the model that minimises the error of the mean probability, so it needs the error
of (selected + a) for every model a. Two shortcuts leave the result unchanged:

* ``greedy.counts`` counts errors only on the samples whose label some model of the pool can still
  change, and ``greedy.bounds`` computes other losses only where they may be the lowest.
* When a model joins the pool, rounds before the first that it wins do not change, so only its own
  error is computed for them (:func:`paths`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.ensembles.greedy.base import GreedyEnsemble, Ties
from ensemble_search.ensembles.greedy.running_sums import Scorer, make_sums
from ensemble_search.metrics.base import Metric
from ensemble_search.metrics.error import ERROR
from ensemble_search.problems.combination import RESOLUTION, rounded


class Selection(GreedyEnsemble):
    """Greedy selection with replacement from all evaluations so far.

    Ensemble selection (Caruana et al., ICML 2004). Round 1 takes the model with the lowest
    validation error; each further round adds the model that minimises the error of the mean
    probability. Weights are multiples of 1 / ``size``. Errors are integers, and probabilities are
    rounded to multiples of 2^-32, so that their sums are exact in any order. A model's random draw
    in a round depends only on the seed, the round and the model's index.

    Attributes
    ----------
    size
        Number of rounds; each selects one model, possibly one already selected. Default 25, as in
        the DivBO paper (Table 10 also has 100).
    ties, metric
        See ``GreedyEnsemble``.
    """

    size: int = Field(25, ge=1, le=1000)

    def build(self, pool: Pool) -> Members | None:
        """See :meth:`Ensemble.build`; applies :func:`select` to the successes."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        if not len(ok):
            return None
        chosen = select(
            [pool.predictions[i] for i in ok],
            pool.labels,
            self.size,
            pool.seed,
            ties=self.ties,
            metric=self.minimised(pool.problem),
        )
        return Members(ok[chosen.indices], chosen.weights)

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """See :meth:`Ensemble.after_each_success`; equal to :meth:`build` on every prefix."""
        ok = np.flatnonzero(~np.isnan(pool.errors))
        chosen = paths(
            [pool.predictions[i] for i in ok],
            pool.labels,
            self.size,
            pool.seed,
            self.ties,
            self.minimised(pool.problem),
        )
        for path, _ in chosen:
            yield _members(path, ok)


def select(
    predictions: Sequence[np.ndarray] | np.ndarray,
    labels: np.ndarray,
    size: int = 25,
    seed: int = 0,
    *,
    ties: Ties = "random",
    metric: Metric = ERROR,
) -> Members:
    """Select an ensemble from one pool of successful evaluations.

    Parameters
    ----------
    predictions
        Class probabilities of at least one model, float32, of shape (n_validation, n_columns) each,
        without NaN. Two classes may have one column (the probability of class 1) or two, of which
        the second is used. Memory-mapped arrays are not fully copied.
    labels
        Validation labels, int, of shape (n_validation,).
    size, ties
        See :class:`Selection`.
    seed
        Seed for random ties. A model's draw depends only on (seed, round, its index), so that later
        models do not change the order of earlier ones.
    metric
        Loss to minimise; default: the error.

    Returns
    -------
    members
        Indices into ``predictions``; weights are multiples of 1 / size.
    """
    rounds = _Rounds(predictions, labels, size, seed, ties, metric)
    rounds.fill(len(predictions))
    return _members(rounds.path()[0], np.arange(len(predictions)))


def paths(
    predictions: Sequence[np.ndarray] | np.ndarray,
    labels: np.ndarray,
    size: int,
    seed: int,
    ties: Ties = "random",
    metric: Metric = ERROR,
) -> Iterator[tuple[list[int], list[float]]]:
    """Yield, for every prefix of the pool, the selected indices and the error of each round.

    Parameters are those of :func:`select`. Errors are counts of wrong labels, or losses by another
    metric.
    """
    if not len(predictions):
        return
    rounds = _Rounds(predictions, labels, size, seed, ties, metric)
    for new in range(len(predictions)):
        rounds.join(new)
        rounds.fill(new + 1)
        yield rounds.path()


def right_probabilities(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return a model's probabilities of the true labels.

    Parameters
    ----------
    predictions
        Of shape (n_samples, n_columns), as in :func:`select`.
    labels
        Of shape (n_samples,).

    Returns
    -------
    right
        Float64, of shape (n_samples,), multiples of ``combination.RESOLUTION``.
    """
    if predictions.shape[1] > 2:
        return rounded(predictions[np.arange(len(labels)), labels]).astype(float)
    ones = rounded(predictions[:, -1]).astype(float)
    return np.where(np.asarray(labels) == 1, ones, 1 - ones)


def log_losses(right: np.ndarray) -> np.ndarray:
    """Return the mean negative logarithm of the labels' probabilities, in nats, of shape (k,).

    It is rounded to float32, because the last bits of a logarithm depend on the processor.

    Parameters
    ----------
    right
        Mean probabilities of the true labels, of shape (k, n_samples); clipped below at
        ``combination.RESOLUTION``, 2^-32.
    """
    return -np.log(np.maximum(right, RESOLUTION)).mean(axis=1).astype(np.float32)


class _Round:
    """A round: the sums before it, the scorer of models, the winner and the winner's key.

    ``right`` is the sum of the true labels' probabilities before it (``log-loss`` only).
    """

    __slots__ = ("key", "right", "scorer", "sums", "winner")

    def __init__(self, sums: Any, scorer: Scorer, right: np.ndarray | float):
        self.sums, self.scorer, self.right = sums, scorer, right

    def won(self, winner: int, key: tuple[float, float, float]) -> None:
        self.winner, self.key = winner, key


class _Rounds:
    """The rounds of a selection. A key is (errors, criterion of the tie rule, random draw)."""

    def __init__(
        self,
        predictions: Sequence[np.ndarray] | np.ndarray,
        labels: np.ndarray,
        size: int,
        seed: int,
        ties: Ties,
        metric: Metric,
    ):
        self.predictions, self.labels = predictions, labels
        self.candidates, self.size, self.ties = make_sums(predictions, labels, metric), size, ties
        # The first draws do not depend on the number of draws.
        self.draws = [
            np.random.default_rng([seed, number]).random(len(predictions))
            for number in range(1, size + 1)
        ]
        self.rounds: list[_Round] = []

    def path(self) -> tuple[list[int], list[float]]:
        """Return the winners and their errors."""
        return [r.winner for r in self.rounds], [r.key[0] for r in self.rounds]

    def join(self, new: int) -> None:
        """Let a model win the first round that it can, then drop the later rounds."""
        for place, current in enumerate(self.rounds):
            wrong, tied = current.scorer.lowest(range(new, new + 1), current.key[0])
            if not len(tied):
                continue
            key = wrong, float(self._second(place, np.array([new]))[0]), self.draws[place][new]
            if key < current.key:
                current.won(new, key)
                del self.rounds[place + 1 :]
                return

    def fill(self, n: int) -> None:
        """Append the missing rounds, choosing among the first ``n`` models."""
        for place in range(len(self.rounds), self.size):
            self.rounds.append(self._begin())
            wrong, tied = self.rounds[place].scorer.lowest(range(n))
            second, draws = self._second(place, tied), self.draws[place][tied]
            best = int(np.lexsort((draws, second))[0])
            key = wrong, float(second[best]), draws[best]
            self.rounds[place].won(int(tied[best]), key)

    def _begin(self) -> _Round:
        """Prepare the round after the last one."""
        sums, right = self.candidates.zero, np.zeros(())
        if self.rounds:
            last = self.rounds[-1]
            sums = self.candidates.add(last.sums, last.winner)
            if self.ties == "log-loss":
                right = last.right + self._right(last.winner)
        return _Round(sums, self.candidates.scorer(sums, len(self.rounds) + 1), right)

    def _second(self, place: int, models: np.ndarray) -> np.ndarray:
        """Return the tie rule's criterion for models, which is minimised, of shape (k,)."""
        if self.ties == "selected-first":
            selected = {r.winner for r in self.rounds[:place]}
            return np.array([model not in selected for model in models.tolist()])
        if self.ties == "log-loss":
            right = self.rounds[place].right
            means = ((right + self._right(model)) / (place + 1) for model in models)
            return np.concatenate([log_losses(mean[None]) for mean in means])
        return np.zeros(len(models))

    def _right(self, model: int) -> np.ndarray:
        """Return a model's probabilities of the true labels."""
        return right_probabilities(self.predictions[model], self.labels)


def _members(path: list[int], indices: np.ndarray) -> Members:
    """Build the ensemble of the selected models, given as positions in ``indices``."""
    chosen, counts = np.unique(path, return_counts=True)
    return Members(indices[chosen], counts / len(path))
