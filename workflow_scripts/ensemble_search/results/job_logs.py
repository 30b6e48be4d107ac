"""What the logs of failed jobs say: the reason, and a table of several."""

import shutil
from pathlib import Path
from typing import NamedTuple

from ensemble_search.runtime.errors import one_line

#: Bytes: with less left a disk is full, whatever a job had to write.
FULL = 1_000_000
#: Failed jobs that a table shows.
SHOWN = 40


class Failure(NamedTuple):
    """A job that failed.

    Attributes
    ----------
    rule, wildcards
        Its rule, and the values of its wildcards: data set, search, repeat ...
    log
        Its log; None if it has none.
    message
        What is said of its end by whoever ran it (SLURM, say), empty if nothing.
    """

    rule: str
    wildcards: tuple[str, ...]
    log: Path | None
    message: str = ""


def reason(log: Path) -> str:
    """Find the error that a job's log ends with: the line it is said in; empty if there is none."""
    lines = _lines(log)
    last = lines[-1] if lines else ""
    failed = last.startswith("error: ") or any(line.startswith("Traceback (") for line in lines)
    return last.removeprefix("error: ") if failed else ""


def table(failures: list[Failure]) -> list[str]:
    """Say in lines which jobs failed: rule, wildcards, log, reason; at most :data:`SHOWN` jobs."""
    rows = [("rule", "job", "log", "reason")]
    for failure in failures[:SHOWN]:
        log = "" if failure.log is None else str(failure.log)
        rows.append((failure.rule, " ".join(failure.wildcards), log, _why(failure)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[-1] = 0  # as long as it is
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    if len(failures) > SHOWN:
        lines.append(f"and {len(failures) - SHOWN} more")
    return lines


def _why(failure: Failure) -> str:
    """The error in the log, else what was said of the job's end, else the log's last line."""
    lines = [] if failure.log is None else _lines(failure.log)
    said = reason(failure.log) if lines else ""
    message = " ".join(failure.message.split())
    if said or message:
        return said or message
    if lines:
        return f"ended from outside, or said no reason; the last line of its log: {lines[-1]}"
    if failure.log is not None and _full(failure.log):
        return f"no space is left on the disk of '{failure.log.parent}', for its log neither"
    return "said no reason; its log is empty"


def _full(log: Path) -> bool:
    try:
        return shutil.disk_usage(log.parent).free < FULL
    except OSError:
        return False


def _lines(log: Path) -> list[str]:
    """The lines of a log that are not empty, printable; none where it cannot be read."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [one_line(line) for line in text.splitlines() if line.strip()]
