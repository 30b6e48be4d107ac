"""Budget of a search: a number of evaluations, full fits, or seconds of fitting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import GIVEN, OK
from ensemble_search.search.journal import Record

#: By how much a sum of fidelities may fall short of a number of fits: by rounding only, as three
#: times 1/3 may. Every real difference is larger.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Budget:
    """Exactly one of ``evaluations``, ``fits`` and ``seconds`` is given.

    Given evaluations (``search.given``) count towards none of them, nor towards ``minimum``.

    Attributes
    ----------
    evaluations
        Total evaluations.
    successes
        With ``evaluations``: the search ends once this many have succeeded.
    seconds
        The search ends with the evaluation at which the sum of the evaluations' ``fit_seconds``
        reaches it. How many that are depends on the machine.
    fits
        The search ends with the evaluation at which the sum of the evaluations' fidelities reaches
        it, failed ones included: one on a third of the rows is a third of a fit.
    minimum
        Evaluations made in any case; only used with ``seconds`` and ``fits``.
    most
        With ``seconds`` and ``fits``: the search ends after so many evaluations in any case.
    """

    evaluations: int | None = None
    seconds: float | None = None
    minimum: int = 1
    successes: int | None = None
    most: int | None = None
    fits: int | None = None

    @property
    def unit(self) -> Literal["evaluations", "fits", "seconds"]:
        """What is counted."""
        for unit in ("evaluations", "fits"):
            if getattr(self, unit) is not None:
                return unit
        return "seconds"

    def within(self, configurations: int, shares: int, table: Path) -> "Budget":
        """Return the budget of a search in a table.

        Parameters
        ----------
        configurations
            Those of the table that the search may evaluate.
        shares
            Fidelities that it may evaluate each of them at.
        table
            Its folder.

        Raises
        ------
        UserError
            If the budget is of more evaluations than that.
        """
        entries = configurations * shares
        needed = self.evaluations or (shares == 1 and self.fits) or self.minimum
        if needed > entries:
            unit = self.unit if self.unit == "fits" else "evaluations"
            raise UserError(
                f"the table '{table}' has {entries} configurations for this search, which needs "
                f"{needed}; lower budget.{unit}, or enlarge the table"
            )
        return replace(self, most=entries)

    def allows(self, started: Sequence[float]) -> bool:
        """Whether another evaluation may be started after those with these fidelities."""
        if self.evaluations is not None:
            return len(started) < self.evaluations
        if self.most is not None and len(started) >= self.most:
            return False
        return self.fits is None or len(started) < self.minimum or not self._reached(sum(started))

    def end(self, records: Sequence[Record]) -> int | None:
        """Return the number of records that exhaust the budget; None if some of it is left.

        Given ones, which come first, are part of that number.

        Raises
        ------
        UserError
            If the evaluations are exhausted before enough have succeeded.
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
            spent += record.fit_seconds if self.fits is None else record.fidelity
            if (self._reached(spent) and number >= self.minimum) or number == self.most:
                return number
        return None

    def _reached(self, spent: float) -> bool:
        if self.fits is not None:
            return spent >= self.fits - TOLERANCE
        return self.seconds is not None and spent >= self.seconds


def made(records: Sequence[Record]) -> Sequence[Record]:
    """Return the records that a search has made: all but the given ones, which come first."""
    return records[sum(record.origin == GIVEN for record in records) :]
