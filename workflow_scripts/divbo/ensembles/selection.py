"""Ensemble selection with replacement (Caruana et al., ICML 2004; Specification E.1).

Every round adds the model that makes the error of the mean probability lowest, so a round has to
know the error of (selected + a) for every model a. Two things make this cheap without changing a
result:

* Errors are counted by :mod:`divbo.votes`, which looks only at the samples whose label some model
  of the pool can still turn.
* When a model joins the pool, the rounds before the first one that it wins stay as they are, so
  only its own error in these rounds is computed (:func:`paths`).
"""

from collections.abc import Callable, Iterator

import numpy as np
from pydantic import Field

from divbo.ensembles.base import Ensemble, Members, Pool
from divbo.votes import make_votes


class Selection(Ensemble):
    """Greedy selection with replacement from all evaluations so far.

    Attributes
    ----------
    size
        Rounds; every round selects one model, and equal ones more than once. Default 25 as in
        the DivBO paper (its Table 10 has 100 too).
    use_best
        Keep only the shortest beginning of the selection that has the lowest error of all its
        beginnings, as AutoGluon does. Default False: all rounds are kept, as in the DivBO paper
        and in auto-sklearn.
    """

    size: int = Field(25, ge=1, le=1000)
    use_best: bool = False

    def trace(self, pool: Pool) -> list[Members | None]:
        """See :meth:`Ensemble.trace`; equal to :func:`select` on every prefix."""
        ok = ~np.isnan(pool.errors)
        indices = np.flatnonzero(ok)
        chosen = paths(pool.predictions[ok], pool.labels, pool.errors[ok], self.size, pool.seed)
        result: list[Members | None] = []
        members, counts = None, {}
        for succeeded in ok:
            if succeeded:
                path, errors = next(chosen)
                new = _counts(path, errors, self.use_best)
                if new != counts:
                    members, counts = _members(new, indices), new
            result.append(members)
        return result


def select(
    predictions: np.ndarray,
    labels: np.ndarray,
    errors: np.ndarray,
    size: int = 25,
    seed: int = 0,
    *,
    use_best: bool = False,
) -> Members:
    """Select an ensemble from one pool of successful evaluations.

    Ties: a model that is already selected, then the lower single error, then a random order of
    the models, in which the place of a model depends on (seed, its index) only.

    Parameters
    ----------
    predictions
        Class probabilities, float32, of shape (n, n_validation, n_columns), n at least 1, without
        NaN. Two classes may have one column (the probability of class 1) or two, of which the
        second is used, so both forms give the same ensemble: class 1 where the mean is above 0.5.
    labels
        Validation labels, int, of shape (n_validation,).
    errors
        Single validation errors in [0, 1], of shape (n,).
    size, use_best
        See :class:`Selection`.
    seed
        Of the random order of ties.

    Returns
    -------
    members
        Indices into ``predictions``; weights are multiples of 1 / size (without ``use_best``).
    """
    votes = make_votes(predictions, labels)
    rank = _rank(errors, len(labels), seed)
    rounds: list[_Round] = []
    _extend(rounds, votes, rank, len(rank), size)
    path, trajectory = [r.winner for r in rounds], [r.errors for r in rounds]
    return _members(_counts(path, trajectory, use_best), np.arange(len(rank)))


def paths(
    predictions: np.ndarray, labels: np.ndarray, errors: np.ndarray, size: int, seed: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield, for every prefix of the pool, the selected indices and the errors round by round.

    Parameters are those of :func:`select`; errors are counts of wrong labels.
    """
    if not len(predictions):
        return
    votes = make_votes(predictions, labels)
    rank = _rank(errors, len(labels), seed)
    rounds: list[_Round] = []
    for new in range(len(rank)):
        model = votes.models(new, new + 1).copy()
        for number, old in enumerate(rounds):
            wrong = int(old.count(model)[0])
            key = _key(wrong, True, rank[new], len(rank))
            if key < old.key:
                rounds[number] = _Round(old.sums, old.count, new, wrong, int(key))
                del rounds[number + 1 :]
                break
        _extend(rounds, votes, rank, new + 1, size)
        yield [r.winner for r in rounds], [r.errors for r in rounds]


class _Round:
    """One round: the sums before it, the counter of errors, its winner and the winner's key."""

    __slots__ = ("count", "errors", "key", "sums", "winner")

    def __init__(self, sums: np.ndarray, count: Callable, winner: int, errors: int, key: int):
        self.sums, self.count = sums, count
        self.winner, self.errors, self.key = winner, errors, key


def _extend(rounds: list[_Round], votes, rank: np.ndarray, n: int, size: int) -> None:
    """Append rounds until there are ``size``, choosing among the first ``n`` models."""
    models = votes.models(0, n)
    unselected = np.ones(n, dtype=bool)
    unselected[[r.winner for r in rounds]] = False
    while len(rounds) < size:
        sums = votes.add(rounds[-1].sums, rounds[-1].winner) if rounds else votes.zero
        count = votes.counter(sums, len(rounds) + 1)
        wrong = count(models)
        keys = _key(wrong, unselected, rank[:n], len(rank))
        winner = int(keys.argmin())
        unselected[winner] = False
        rounds.append(_Round(sums, count, winner, int(wrong[winner]), int(keys[winner])))


def _key(wrong, unselected, rank, n: int):
    """Fold (errors, not yet selected, rank) into one integer that orders alike."""
    return (wrong * 2 + unselected) * n + rank


def _rank(errors: np.ndarray, n_samples: int, seed: int) -> np.ndarray:
    """Rank models by single error, equal ones at random; int, of shape (n,), all different."""
    counts = np.rint(np.asarray(errors, dtype=float) * n_samples)
    # The first draws are the same however many follow, so a place depends on (seed, index) only.
    order = np.lexsort((np.random.default_rng(seed).random(len(counts)), counts))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _counts(path: list[int], errors: list[int], use_best: bool) -> dict[int, int]:
    """Count how often each model is selected, by ascending index."""
    kept = path[: int(np.argmin(errors)) + 1] if use_best else path
    return {i: kept.count(i) for i in sorted(set(kept))}


def _members(counts: dict[int, int], indices: np.ndarray) -> Members:
    """Turn the counts of models, numbered as in ``indices``, into an ensemble."""
    weights = np.array(list(counts.values()))
    return Members(indices[list(counts)], weights / weights.sum())
