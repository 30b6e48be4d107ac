"""Budget of a search: evaluations, full fits, or (CPU) seconds of fitting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from ensemble_search.optimizers.base import Optimizer
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import GIVEN, OK
from ensemble_search.runtime.shares import TOLERANCE
from ensemble_search.search.journal import Record

Unit = Literal["evaluations", "fits", "seconds", "cpu_seconds"]
#: The units in words.
UNITS: dict[str, str] = {
    "evaluations": "evaluations",
    "fits": "full fits",
    "seconds": "seconds (wall-clock) of fitting",
    "cpu_seconds": "CPU seconds of fitting",
}
#: The attribute of an evaluation that counts, by unit.
COUNTED = {"fits": "fidelity", "seconds": "fit_seconds", "cpu_seconds": "cpu_seconds"}


@dataclass(frozen=True)
class Budget:
    """Exactly one of ``evaluations``, ``fits``, ``seconds`` and ``cpu_seconds`` is given.

    Given evaluations (``search.given``) count towards none of these, nor towards ``minimum``.
    """

    evaluations: int | None = None  #: total evaluations
    #: The search ends with the evaluation at which the sum of ``fit_seconds`` reaches this. The
    #: number of evaluations depends on the machine.
    seconds: float | None = None
    minimum: int = 1  #: evaluations that are always made; not used with ``evaluations``
    #: With ``evaluations``: the search ends once this many have succeeded.
    successes: int | None = None
    most: int | None = None  #: without ``evaluations``: the search always ends after this many
    #: The search ends with the evaluation at which the sum of fidelities, including those of failed
    #: evaluations, reaches this: an evaluation on a third of the rows is a third of a fit.
    fits: int | None = None
    #: As ``seconds``, but of ``cpu_seconds``, which other work on the machine hardly changes.
    cpu_seconds: float | None = None

    @property
    def unit(self) -> Unit:
        """The unit of the budget."""
        units: tuple[Unit, ...] = get_args(Unit)
        return next(unit for unit in units if getattr(self, unit) is not None)

    def within(self, configurations: int, optimizer: Optimizer, table: Path) -> "Budget":
        """Return the budget of a search in a table that has ``configurations`` for it.

        Raises UserError if the optimizer needs more.
        """
        needed = optimizer.configurations(self.evaluations, self.fits)
        if needed > configurations:
            lower = f"lower budget.{self.unit}, or " if self.evaluations or self.fits else ""
            raise UserError(
                f"the table '{table}' has {configurations} configurations for this search, which "
                f"needs {needed}; {lower}enlarge the table"
            )
        return replace(self, most=configurations * len(optimizer.shares))

    def allows(self, started: Sequence[float]) -> bool:
        """Whether another evaluation may start after those with these fidelities."""
        if self.evaluations is not None:
            return len(started) < self.evaluations
        if self.most is not None and len(started) >= self.most:
            return False
        return self.fits is None or len(started) < self.minimum or not self._reached(sum(started))

    def end(self, records: Sequence[Record]) -> int | None:
        """Return the number of records that exhaust the budget; None if some is left.

        Given records, which come first, are included. Raises UserError if the evaluations are
        exhausted before enough have succeeded.
        """
        own = made(records)
        number = self._end(own)
        return None if number is None else len(records) - len(own) + number

    def _end(self, records: Sequence[Record]) -> int | None:
        if self.successes is not None:
            ok = [number for number, record in enumerate(records, start=1) if record.status == OK]
            if len(ok) >= self.successes:
                return ok[self.successes - 1]
            if self.evaluations is not None and len(records) >= self.evaluations:
                raise UserError(
                    f"only {len(ok)} of {len(records)} configurations could be fitted, "
                    f"{self.successes} are needed; raise the limits, or ask for fewer"
                )
            return None
        if self.evaluations is not None:
            return self.evaluations if len(records) >= self.evaluations else None
        spent = 0.0
        for number, record in enumerate(records, start=1):
            spent += getattr(record, COUNTED[self.unit])
            if (self._reached(spent) and number >= self.minimum) or number == self.most:
                return number
        return None

    def _reached(self, spent: float) -> bool:
        return spent >= getattr(self, self.unit) - (TOLERANCE if self.fits else 0)


def made(records: Sequence[Record]) -> Sequence[Record]:
    """Return the records that a search has made: all except given ones, which come first."""
    return records[sum(record.origin == GIVEN for record in records) :]
