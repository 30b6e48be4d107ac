"""Budget of a search: a number of evaluations, or seconds of fitting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.status import OK
from ensemble_search.search.journal import Record


@dataclass(frozen=True)
class Budget:
    """Exactly one of ``evaluations`` and ``seconds`` is given.

    Attributes
    ----------
    evaluations
        Total evaluations.
    successes
        With ``evaluations``: the search ends once this many have succeeded.
    seconds
        The search ends with the evaluation at which the sum of the evaluations' ``fit_seconds``
        reaches it. How many that are depends on the machine.
    minimum
        Evaluations made in any case; only used with ``seconds``.
    most
        With ``seconds``: the search ends after so many evaluations in any case.
    """

    evaluations: int | None = None
    seconds: float | None = None
    minimum: int = 1
    successes: int | None = None
    most: int | None = None

    def within(self, entries: int, table: Path) -> "Budget":
        """Return the budget of a search in a table of so many configurations.

        Raises
        ------
        UserError
            If it is of more evaluations than that.
        """
        needed = self.evaluations or self.minimum
        if needed > entries:
            raise UserError(
                f"the table '{table}' has {entries} configurations for this search, which needs "
                f"{needed}; lower budget.evaluations, or enlarge the table"
            )
        return replace(self, most=entries)

    def allows(self, started: int) -> bool:
        """Whether another evaluation may be started after so many."""
        most = self.most if self.evaluations is None else self.evaluations
        return most is None or started < most

    def end(self, records: Sequence[Record]) -> int | None:
        """Return the number of evaluations that exhaust the budget; None if some of it is left.

        Raises
        ------
        UserError
            If the evaluations are exhausted before enough have succeeded.
        """
        if self.successes is not None:
            ok = [number for number, record in enumerate(records, start=1) if record.status == OK]
            if len(ok) >= self.successes:
                return ok[self.successes - 1]
            if len(records) >= self.evaluations:
                raise UserError(
                    f"only {len(ok)} of {len(records)} configurations could be fitted, "
                    f"{self.successes} are needed; raise the limits, or ask for fewer"
                )
            return None
        if self.evaluations is not None:
            return self.evaluations if len(records) >= self.evaluations else None
        spent = 0.0
        for number, record in enumerate(records, start=1):
            spent += record.fit_seconds
            if (spent >= self.seconds and number >= self.minimum) or number == self.most:
                return number
        return None
