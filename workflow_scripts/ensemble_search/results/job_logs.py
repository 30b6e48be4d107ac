"""Reasons for failed jobs, from their logs, and a table of them."""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from ensemble_search.runtime.errors import one_line

#: Bytes of free space below which a disk counts as full.
FULL = 1_000_000
#: Maximum number of failed jobs in a table.
SHOWN = 40
#: Begins a traceback; a call in it; files of Python and its packages; folder of the project's.
TRACEBACK = "Traceback ("
CALL = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+)')
OF_OTHERS, OF_PROJECT = re.compile(r"/lib/python\d|^<"), "workflow_scripts"


class Failure(NamedTuple):
    """A job that failed."""

    #: Its rule, and the values of its wildcards: data set, search, repeat ...
    rule: str
    wildcards: tuple[str, ...]
    log: Path | None  #: its log; None if there is none
    message: str = ""  #: the executor's message (such as SLURM's) about its end; empty if none


def reason(log: Path) -> str:
    """Return the error at the end of a job's log; empty if there is none.

    Of a traceback, the exception in one line, after the place of its last call in a part from
    outside or, without one, in the project.
    """
    lines = _lines(log)
    if lines and lines[-1].startswith("error: "):
        return lines[-1].removeprefix("error: ")
    begin = max((i for i, line in enumerate(lines, 1) if line.startswith(TRACEBACK)), default=None)
    if begin is None:
        return ""
    calls = [*takewhile(lambda line: line.startswith("  "), lines[begin:])]
    places = [match for line in calls if (match := CALL.match(line))]
    ours = [match for match in places if not OF_OTHERS.search(match["file"])]
    own = [match for match in ours if OF_PROJECT not in Path(match["file"]).parts] or ours
    where = "{}, line {}: ".format(*own[-1].group("file", "line")) if own else ""
    said = [line.strip() for line in lines[begin + len(calls) :]]
    return one_line(where.removeprefix(f"{Path.cwd()}{os.sep}") + " ".join(said))


def table(failures: list[Failure]) -> list[str]:
    """List failed jobs: rule, wildcards, log, reason; at most :data:`SHOWN` jobs."""
    rows = [("rule", "job", "log", "reason")]
    for failure in failures[:SHOWN]:
        log = "" if failure.log is None else str(failure.log)
        rows.append((failure.rule, " ".join(failure.wildcards), log, _why(failure)))
    lines = aligned(rows)
    if len(failures) > SHOWN:
        lines.append(f"and {len(failures) - SHOWN} more")
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]


def ranges(numbers: Iterable[int], to: str = "-", and_: str = ",") -> str:
    """Write ascending numbers as ``0-9,12``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return and_.join(f"{run[0]}{to}{run[-1]}" if run[1:] else str(run[0]) for run in runs)


def _why(failure: Failure) -> str:
    """The error in the log, else the executor's message, else the log's last line."""
    lines = [] if failure.log is None else _lines(failure.log)
    said = reason(failure.log) if failure.log and lines else ""
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


def text(log: Path) -> str:
    """Text of a log; empty if it cannot be read."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _lines(log: Path) -> list[str]:
    """Non-empty lines of a log, made printable; none if it cannot be read."""
    return [one_line(line) for line in text(log).splitlines() if line.strip()]
