"""Progress of a search: a line in its log, and a file for `make status`."""

import atexit
import math
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError, number_of
from ensemble_search.runtime.files import write_json
from ensemble_search.runtime.names import OK, STATUSES
from ensemble_search.search.budget import COUNTED, Budget, made
from ensemble_search.search.journal import Record

#: Seconds between reports.
INTERVAL = 1
#: The limits of an evaluation, by the status when they are reached.
LIMITS = {"timeout": "seconds", "memory": "memory_mb"}


class Progress:
    """Report after every evaluation, at most once a second, and at exit; see ``loop.run``.

    ``folder`` is that of ``progress.json``; ``found`` are the evaluations in the journal at the
    start. Of ``job``, ``dataset``, ``search``, ``repeat`` and ``metric`` are used.
    """

    def __init__(self, folder: Path, job: dict[str, Any], budget: Budget, found: list[Record]):
        self.path = Path(folder) / "progress.json"
        self.name = f"{job['dataset']} {job['search']} repeat {job['repeat']}"
        self.loss = plugins.load("metrics", job["metric"]).title
        self.budget = budget
        self.resumed = len(made(found[: budget.end(found)]))
        self._said, self._reported = -math.inf, -1
        self._records: list[Record] = []
        atexit.register(self._at_exit)
        self._start = time.monotonic(), summary(found, budget)["done"]
        if self.resumed:
            self._say(f"{self.name}: continues after {number_of(self.resumed, 'evaluation')}")

    def __call__(self, records: list[Record]) -> None:
        """Report on the evaluations so far, unless already reported."""
        now, over = time.monotonic(), self.budget.end(records) is not None
        self._records = [] if over else records
        if len(records) == self._reported or (now - self._said < INTERVAL and not over):
            return
        self._said, self._reported = now, len(records)
        state = self._write(records)
        best = "none" if state["best_error"] is None else f"{state['best_error']:.4f}"
        last = records[-1]
        failed = f"{state['failed']} failed, " if state["failed"] else ""
        self._say(
            f"{self.name}: {amount(state)}, best {self.loss} {best}, {failed}"
            f"last {last.status} in {last.fit_seconds:.1f} s{self._left(state)}"
        )

    def _write(self, records: list[Record]) -> dict[str, Any]:
        state = summary(records, self.budget)
        write_json(self.path, {**state, "updated": time.time()})
        return state

    def _at_exit(self) -> None:
        """Count the last evaluations of a search that failed or was stopped."""
        if len(self._records) > self._reported and self.path.parent.is_dir():
            with suppress(UserError, OSError):
                self._write(self._records)

    def _left(self, state: dict[str, Any]) -> str:
        """Estimate the time left from the pace since the job started, with concurrent workers.

        Empty without progress, such as if all evaluations failed and successes are counted.
        """
        start, before = self._start
        done, left = state["done"] - before, max(0, state["budget"] - state["done"])
        if left and not done:
            return ""
        return f", {duration(left and (time.monotonic() - start) / done * left)} left"

    @staticmethod
    def _say(text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def summary(records: list[Record], budget: Budget) -> dict[str, Any]:
    """Count a search's evaluations and failures, and sum its seconds, without given evaluations.

    ``done`` and ``budget`` are evaluations (successes if the budget counts these), full fits, or
    (CPU) seconds of fitting; ``unit`` names which. ``best_error`` includes given evaluations.
    """
    own = made(records)
    succeeded = sum(r.status == OK for r in own)
    whole = getattr(budget, budget.unit)
    if budget.unit in COUNTED:
        done = sum(getattr(r, COUNTED[budget.unit]) for r in own)
    else:
        done = len(own)
        if budget.successes:
            done, whole = succeeded, budget.successes
    return {
        "evaluations": len(own),
        "unit": budget.unit,
        "done": done,
        "budget": whole,
        "best_error": best_error(records),
        "failed": len(own) - succeeded,
        "seconds": sum(r.suggest_seconds + r.fit_seconds for r in own),
    }


def best_error(records: list[Record]) -> float | None:
    """Return the lowest error of evaluations on all training rows; None if there are none."""
    errors = (r.error for r in records if r.error is not None and r.fidelity == 1)
    return min(errors, default=None)


def amount(state: dict[str, Any]) -> str:
    """Format the used portion of a budget: ``5/20``, ``5 in 2.33/20 fits`` or ``5 in 12/60 s``.

    See :func:`summary`.
    """
    if state["unit"] == "evaluations":
        return f"{state['done']}/{state['budget']}"
    if state["unit"] == "fits":
        return f"{state['evaluations']} in {round(state['done'], 2):.10g}/{state['budget']} fits"
    unit = "CPU s" if state["unit"] == "cpu_seconds" else "s"
    return f"{state['evaluations']} in {state['done']:.0f}/{state['budget']:.10g} {unit}"


def most_failed(counts: Mapping[str, int]) -> str:
    """Return advice if most evaluations of a search, by status, failed; empty otherwise."""
    whole, ok = sum(counts.values()), counts.get(OK, 0)
    if whole <= 2 * ok:
        return ""
    worst = max((s for s in STATUSES if s != OK), key=lambda status: counts.get(status, 0))
    if worst in LIMITS:
        then = f"raise limits.{LIMITS[worst]} of the study, or set or lower split.train_rows.share"
    else:
        then = "the column message of the search's observations.parquet says why"
    return f"{whole - ok} of {whole} pipelines failed, {counts[worst]} by {worst}: {then}"


def duration(seconds: float) -> str:
    """Format a duration: ``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
