"""SLURM jobs of the searches in a folder, from `squeue`.

Jobs are identified by their working directory and by the comment that Snakemake's SLURM plugin
sets: the rule and its wildcards. Without SLURM nothing here is used.
"""

import os
import subprocess
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ANSWER_SECONDS = 60
#: Seconds that cancelled jobs may take to end; clusters kill them half a minute after SIGTERM.
END_SECONDS = 120
_FORMAT = "%i|%T|%k|%Z"


@dataclass(frozen=True)
class Job:
    """A job in the queue.

    Attributes
    ----------
    number
        SLURM's job id.
    state
        ``PENDING``, ``RUNNING``, ``COMPLETING``, ...
    comment
        What the job does; see :func:`comment`.
    """

    number: str
    state: str
    comment: str


def search_comment(study: str, dataset: str, search: str, repeat: int | str) -> str:
    """Return the plugin's comment of a search job."""
    return comment("search", study, dataset, search, repeat)


def comment(rule: str, *wildcards: str | int) -> str:
    """Return the plugin's comment of a job with this rule and these wildcards."""
    return f"rule_{rule}_wildcards_" + "_".join(map(str, wildcards))


def queue(folder: Path | str = ".") -> list[Job] | None:
    """List this user's jobs that were submitted from a folder and have not ended.

    None if there is no SLURM, or it does not respond.
    """
    command = ["squeue", "--noheader", f"--user={os.geteuid()}", f"--format={_FORMAT}"]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=ANSWER_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [line.split("|", 3) for line in run.stdout.splitlines() if line.count("|") >= 3]
    here = os.path.realpath(folder)
    return [
        Job(number, state, comment)
        for number, state, comment, place in rows
        if os.path.realpath(place) == here
    ]


def cancel(comments: Collection[str], folder: Path | str = ".") -> int:
    """Cancel the jobs of a folder that have one of these comments, and wait until they have ended.

    Returns
    -------
    jobs
        Number of cancelled jobs.
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
