"""SLURM jobs of the searches in a folder: why they end, and when none can be submitted.

Jobs are identified by their working directory and by the comment that Snakemake's SLURM plugin
sets: the rule and its wildcards. Without SLURM, nothing here is used.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ANSWER_SECONDS = 60
#: Seconds that cancelled jobs may take to end; clusters kill them half a minute after SIGTERM.
END_SECONDS = 120
#: Seconds between two checks of a closed partition.
LOOK_SECONDS = 10
_FORMAT = "%i|%T|%r|%k|%Z"
#: Out-of-memory messages, from cgroups' limits and from SLURM's own measurements.
_OUT_OF_MEMORY = re.compile(r"oom.kill|out.of.memory|exceeded (job )?memory limit", re.IGNORECASE)
_ERROR = re.compile(r"(?:srun|sbatch|slurm\w+)[\w.-]*: (?:error|fatal): (.+)")


@dataclass(frozen=True)
class Job:
    """A job in the queue."""

    number: str  #: SLURM's job id
    state: str  #: ``PENDING``, ``RUNNING``, ``COMPLETING``, ...
    reason: str  #: why it waits: ``Priority``, ``PartitionDown``, ...; ``None`` if it does not
    comment: str  #: what the job does; see :func:`comment`


def search_comment(study: str, dataset: str, search: str, repeat: int | str) -> str:
    """Return the plugin's comment of a search job."""
    return comment("search", study, dataset, search, repeat)


def comment(rule: str, *wildcards: str | int) -> str:
    """Return the plugin's comment of a job with this rule and these wildcards."""
    return f"rule_{rule}_wildcards_" + "_".join(map(str, wildcards))


def queue(folder: Path | str = ".") -> list[Job] | None:
    """List this user's jobs that were submitted from a folder and have not ended.

    None if there is no SLURM or it does not respond.
    """
    try:
        run = _ask("squeue", f"--user={os.geteuid()}", f"--format={_FORMAT}")
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [line.split("|", 4) for line in run.stdout.splitlines() if line.count("|") >= 4]
    here = os.path.realpath(folder)
    return [
        Job(number, state, reason, comment)
        for number, state, reason, comment, place in rows
        if os.path.realpath(place) == here
    ]


def cancel(comments: Collection[str], folder: Path | str = ".") -> int:
    """Cancel the jobs of a folder that have one of these comments, and wait until they have ended.

    Returns how many were cancelled.
    """
    left = _numbers(comments, folder) if comments else []
    found = len(left)
    end = time.monotonic() + END_SECONDS
    if left:
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(["scancel", *left], check=False, timeout=ANSWER_SECONDS)
    while left and time.monotonic() < end:
        time.sleep(1)
        left = _numbers(comments, folder)
    return found


def _numbers(comments: Collection[str], folder: Path | str) -> list[str]:
    return [job.number for job in queue(folder) or () if job.comment in comments]


def why_ended(message: str, log: str, memory_mb: int, minutes: int, rule: str) -> str:
    """Explain in one line why SLURM ended or rejected a job; empty if ``message`` is not SLURM's.

    ``message`` is the plugin's, ``log`` the text of the job's SLURM log, and ``memory_mb`` and
    ``minutes`` are what the job, of this ``rule``, requested.
    """
    if found := re.search(r"sbatch failed.*? error message was '(.*?)'\.\n", message, re.DOTALL):
        lines = found[1].strip().splitlines() or ["no reason given"]
        return "SLURM rejected the job: " + lines[-1].removeprefix("sbatch: error: ")
    if not (found := re.search(r"SLURM status is: '(\w+)", message)):
        return ""
    state, more = found[1], f"give it more, such as --set-resources {rule}:"
    if state == "OUT_OF_MEMORY" or _OUT_OF_MEMORY.search(log):
        return f"the job took more than its {memory_mb} MB of memory; {more}mem_mb={2 * memory_mb}"
    if state in ("TIMEOUT", "DEADLINE"):
        return f"the job took longer than its {minutes} minutes; {more}runtime={2 * minutes}"
    if state in ("NODE_FAIL", "BOOT_FAIL"):
        return f"the node of the job failed ({state})"
    if state == "CANCELLED":
        return "the job was cancelled, by scancel or by an administrator"
    errors = _ERROR.findall(log)
    return f"the job ended as {state}" + (f": {errors[-1]}" if errors else "")


class Gate:
    """Holds submissions back while SLURM would reject them or not start them: they would fail.

    Thread-safe. After :meth:`close`, nothing waits any more.
    """

    def __init__(self):
        self._turn, self._closed, self._until = threading.Lock(), threading.Event(), {}

    def close(self) -> None:
        """Let nothing through any more."""
        self._closed.set()

    def passes(self, partition: str | None) -> bool:
        """Wait until a partition (None: the default one) is open; False after :meth:`close`.

        Prints the reason for waiting on stderr. An open partition is not checked again for
        :data:`LOOK_SECONDS`.
        """
        said = ""
        with self._turn:
            while not self._closed.is_set() and time.monotonic() >= self._until.get(partition, 0):
                if not (reason := closed(partition)):
                    self._until[partition] = time.monotonic() + LOOK_SECONDS
                elif reason != said:
                    said = reason
                    print(f"note: no job is submitted until {reason}", file=sys.stderr, flush=True)
                if reason:
                    self._closed.wait(LOOK_SECONDS)
        return not self._closed.is_set()


def closed(partition: str | None) -> str:
    """Return what must happen before a partition accepts jobs; empty if it does, or if unknown."""
    try:
        run = _ask("sinfo", "--format=%P|%a", *([f"--partition={partition}"] if partition else []))
    except OSError:
        return ""
    except subprocess.SubprocessError as error:
        # After a timeout, stderr is bytes even if text was requested.
        found = getattr(error, "stderr", None) or ""
        text = found.decode(errors="replace") if isinstance(found, bytes) else found
        said = " ".join(text.split())
        return f"SLURM responds (sinfo: {said or error})"
    rows = [line.rpartition("|") for line in run.stdout.splitlines()]
    found = {name.rstrip("*"): state for name, _, state in rows if partition or name.endswith("*")}
    if not found or "up" in found.values():
        return ""
    names = " or ".join(f"'{name}' ({state})" for name, state in sorted(found.items()))
    return f"SLURM's partition {names} is up"


def nodes(partition: str | None) -> set[str]:
    """List the nodes of a partition (None: of all); empty if SLURM does not respond."""
    chosen = [f"--partition={partition}"] if partition else []
    try:
        return set(_ask("sinfo", "--Node", "--format=%N", *chosen).stdout.split())
    except (OSError, subprocess.SubprocessError):
        return set()


def _ask(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, "--noheader"],
        capture_output=True,
        text=True,
        check=True,
        timeout=ANSWER_SECONDS,
    )
