"""Successive halving (Jamieson & Talwalkar, 2016) and Hyperband's brackets (Li et al., 2018)."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from math import ceil, log

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new
from ensemble_search.runtime.shares import TOLERANCE


@dataclass(frozen=True)
class Rung:
    """The evaluations at one fidelity: ``size`` configurations, the best of the previous rung."""

    size: int
    fidelity: float


Bracket = Sequence[Rung]


@dataclass(frozen=True)
class Place:
    """Where an evaluation is in the schedule."""

    #: Numbers of the bracket and rung, from 0; bracket numbers continue when the schedule repeats.
    bracket: int
    rung: int
    index: int  #: number of the evaluation within its rung, from 0
    fidelity: float  #: fidelity of the rung
    #: The evaluations of the previous rung, the candidates for promotion; empty for rung 0.
    before: range


def brackets(eta: int, deepest: int) -> list[Bracket]:
    """List Hyperband's brackets, the one with the most configurations first (JMLR, Algorithm 1).

    Parameters
    ----------
    eta
        One of every ``eta`` configurations is promoted.
    deepest
        Number of promotions in the first bracket; each later bracket has one less, down to 0.
    """
    return [
        [
            Rung(-(-(deepest + 1) * eta**s // (s + 1)) // eta**i, 1 / eta ** (s - i))
            for i in range(s + 1)
        ]
        for s in range(deepest, -1, -1)
    ]


def place(schedule: Sequence[Bracket], evaluations: int) -> Place:
    """Return the place of the next evaluation; the schedule repeats indefinitely."""
    begin = 0
    for number, bracket in enumerate(cycle(schedule)):
        before = range(0)
        for i, rung in enumerate(bracket):
            if evaluations < begin + rung.size:
                return Place(number, i, evaluations - begin, rung.fidelity, before)
            before = range(begin, begin + rung.size)
            begin += rung.size
    raise ValueError("the schedule is empty")


class BracketOptimizer(Optimizer):
    """Base of bracket searches, where an evaluation's place depends only on how many came before.

    Given evaluations belong to no bracket and are never promoted.
    """

    eta: int = Field(
        3, ge=2, le=100, description="One in eta configurations is promoted to the next fidelity."
    )
    smallest: float = Field(
        1 / 27,
        ge=0.001,
        lt=1,
        validate_default=True,
        description="Lowest fidelity allowed; fidelities are powers of 1 / eta.",
    )

    @field_validator("smallest")
    @classmethod
    def _promotes(cls, smallest: float, info: ValidationInfo) -> float:
        if "eta" in info.data and smallest > 1 / info.data["eta"]:
            raise ValueError("must be at most 1 / eta, or nothing is promoted")
        return smallest

    @property
    def minimum_evaluations(self) -> int:
        """The size of the first bracket, which ends with a fit on all rows."""
        return sum(rung.size for rung in self.schedule[0])

    @property
    def minimum_fits(self) -> float:
        """Those of the first bracket."""
        return sum(rung.size * rung.fidelity for rung in self.schedule[0])

    def configurations(self, evaluations: int | None, fits: int | None = None) -> int:
        """Count those that the brackets begin with; failures in the brackets may take more."""
        spent, number, left = 0.0, 0, evaluations or self.minimum_evaluations
        for bracket in cycle(self.schedule):
            for rung in bracket:
                more = ceil(((fits or 0) - TOLERANCE - spent) / rung.fidelity)
                size = max(0, min(rung.size, max(left, more)))
                number += size if rung is bracket[0] else 0
                spent, left = spent + size * rung.fidelity, left - size
                if size < rung.size:
                    return number
        raise AssertionError("the schedule is not empty")

    @property
    def deepest(self) -> int:
        """Number of promotions from the smallest fidelity to 1."""
        return int(log(1 / self.smallest, self.eta) + 1e-9)

    @property
    def shares(self) -> tuple[float, ...]:
        """The fidelities of all rungs."""
        return tuple(sorted({rung.fidelity for bracket in self.schedule for rung in bracket}))

    @property
    @abstractmethod
    def schedule(self) -> Sequence[Bracket]:
        """The brackets, which repeat indefinitely."""

    def fresh(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest a configuration of a bracket's first rung: a uniform draw."""
        return Suggestion(random_new(history, rng), {"origin": "random"})

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Whether the next evaluation is the first that needs the results of the previous rung."""
        here = place(self.schedule, evaluations - given)
        return here.rung > 0 and here.index == 0

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest a new configuration, or promote one from the previous rung.

        The configurations with the lowest errors are promoted; ties go to the oldest. Failed ones
        are never promoted: if too few have succeeded, uniform draws take their places.
        """
        here = place(self.schedule, history.made)
        before = range(history.given + here.before.start, history.given + here.before.stop)
        if here.rung == 0:
            found = self.fresh(history, rng)
        elif here.index < len(ranked := _ranked(history, before)):
            row = ranked[here.index]
            why = {"origin": "promoted", "from": row + 1}
            found = Suggestion(history.observations[row].configuration, why)
        else:
            found = BracketOptimizer.fresh(self, history, rng)
        why = {**found.why, "bracket": here.bracket + 1, "rung": here.rung + 1}
        return replace(found, why=why, fidelity=here.fidelity)


class Hyperband(BracketOptimizer):
    """Random search in brackets of successive halving, from many small fits to few on all rows.

    Hyperband (Li et al., JMLR 2018). A bracket begins with random configurations on a share of the
    training rows. The best 1/``eta`` of them are promoted: evaluated again on ``eta`` times as many
    rows, and so on to all rows. Each bracket begins at a larger share than the last: with s
    promotions, at most m, it has ceil((m + 1) / (s + 1) * eta^s) configurations. After the last
    bracket, the first one begins again. By default:

    | bracket | 1/27 | 1/9 | 1/3 | 1 | evaluations |
    |---|---|---|---|---|---|
    | 1 | 27 | 9 | 3 | 1 | 40 |
    | 2 | | 12 | 4 | 1 | 17 |
    | 3 | | | 6 | 2 | 8 |
    | 4 | | | | 4 | 4 |

    A failed evaluation is not promoted; if fewer succeed than are to be promoted, random
    configurations take their places. The place of an evaluation in the schedule depends only on how
    many came before. A study's budget must cover at least the first bracket.

    ``why``: ``origin`` (``random`` or ``promoted``), ``bracket`` and ``rung`` (from 1), ``from``
    (the iteration that was promoted).
    """

    @property
    def schedule(self) -> Sequence[Bracket]:
        """Hyperband's brackets."""
        return brackets(self.eta, self.deepest)


class SuccessiveHalving(BracketOptimizer):
    """Hyperband's first bracket, repeated: by default 27, 9, 3, 1 configurations.

    Successive halving (Jamieson & Talwalkar, AISTATS 2016). ``why`` is as in ``hyperband``.
    """

    @property
    def schedule(self) -> Sequence[Bracket]:
        """The bracket with the most configurations."""
        return brackets(self.eta, self.deepest)[:1]


def _ranked(history: History, rows: range) -> list[int]:
    """Sort the successful evaluations among ``rows`` by error."""
    succeeded = [i for i in history.ok.tolist() if i in rows]
    return sorted(succeeded, key=lambda i: history.observations[i].error)
