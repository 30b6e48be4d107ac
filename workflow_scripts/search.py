"""Run a search (data set, search, repeat), or resume it from its journal.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/search.py --job '{"dataset": "wine", ...}' \\
        --split results/quickstart/splits/wine/fixed \\
        --checkpoints results/quickstart/checkpoints/wine/divbo/0 \\
        --output results/quickstart/searches/wine/divbo/0

A job with `repeats`, a list, instead of `repeat` consists of several searches. In --checkpoints and
--output, {repeat} is replaced by their numbers.
"""

import argparse
import functools
import json
import time
from pathlib import Path
from typing import Any, get_args

from ensemble_search.evaluation.base import EvaluatorError
from ensemble_search.evaluation.table import Table
from ensemble_search.runtime import errors
from ensemble_search.search.budget import Budget, Unit
from ensemble_search.search.run import JOB, run_job


def main() -> None:
    """Search, then write the declared outputs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--job", type=checked, required=True, help=f"JSON: {', '.join(JOB)} (and its settings)"
    )
    several = "; or one for every repeat"
    parser.add_argument(
        "--split", type=Path, nargs="+", required=True, help=f"folder of its split{several}"
    )
    parser.add_argument("--checkpoints", required=True, help="folder for its journals")
    parser.add_argument("--output", required=True, help="folder for its results")
    parser.add_argument(
        "--table",
        type=Path,
        nargs="+",
        default=[None],
        help=f"folder of a table: look evaluations up, fit nothing{several}",
    )
    parser.add_argument("--share", type=Path, help="folder of evaluations that searches share")
    parser.add_argument("--tables", type=Path, help="with --share: tables to look up in before")
    parser.add_argument(
        "--warm-start", type=Path, help="folder of a table: begin with its evaluations"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of all workers (1)")
    parser.add_argument("--workers", type=int, default=1, help="evaluations side by side (1)")
    arguments = parser.parse_args()
    for option in ("threads", "workers"):
        if (value := getattr(arguments, option)) < 1:
            raise errors.UserError(f"--{option}: {value} is not 1 or more")
    # Snakemake passes at most as many threads as there are cores.
    workers = max(1, min(arguments.workers, arguments.threads))
    jobs = repeats(arguments.job)
    splits, tables = (
        errors.one_for_each(option, given, len(jobs), "repeat")
        for option, given in (("--split", arguments.split), ("--table", arguments.table))
    )
    read = functools.cache(Table.read)  # once for all repeats
    started = None  # the first search starts with the process
    try:
        for job, split, table in zip(jobs, splits, tables, strict=True):
            number = str(job.get("repeat"))
            run_job(
                job,
                split,
                Path(arguments.checkpoints.replace("{repeat}", number)),
                Path(arguments.output.replace("{repeat}", number)),
                arguments.threads // workers,
                workers,
                table and read(table),
                arguments.share,
                arguments.tables,
                arguments.warm_start and read(arguments.warm_start),
                started,
            )
            started = time.monotonic()
    except EvaluatorError as error:
        raise errors.UserError(str(error)) from error


def checked(text: str) -> dict[str, Any]:
    """Parse the job and check the types of its keys; settings are checked where they are used."""
    try:
        job = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise errors.UserError(f"--job: is not JSON: {error}") from None
    single = not isinstance(job, dict) or "repeats" not in job
    errors.check_keys("--job", job, [key for key in JOB if single or key != "repeat"])
    for key in ("dataset", "search", "space", "metric"):
        if not isinstance(job[key], str):
            raise errors.UserError(f"--job: {key}: {job[key]!r} is not text")
    for key in ("limits", "budget", "optimizer"):
        if not isinstance(job[key], dict):
            raise errors.UserError(f"--job: {key}: {job[key]!r} is not a mapping")
    numbers = job.get("repeats", [job.get("repeat")])
    if not isinstance(numbers, list) or not numbers:
        raise errors.UserError(f"--job: repeats: {numbers!r} is not a list of integers")
    for key, value in (("seed", job["seed"]), *(("repeat", number) for number in numbers)):
        if type(value) is not int or value < 0:
            raise errors.UserError(f"--job: {key}: {value!r} is not an integer from 0")
    errors.check_keys("--job: limits", job["limits"], ("seconds", "memory_mb"))
    for section in ("limits", "budget"):
        for key, value in job[section].items():
            if type(value) not in (int, float) or not value > 0:
                raise errors.UserError(f"--job: {section}.{key}: {value!r} is not a number above 0")
    if len(job["budget"].keys() & get_args(Unit)) != 1:
        raise errors.UserError(f"--job: budget: give one of {', '.join(get_args(Unit))}")
    for key, value in job["budget"].items():
        if key not in Budget.__annotations__:
            raise errors.UserError(f"--job: budget: unknown key '{key}'")
        if not key.endswith("seconds") and type(value) is not int:
            raise errors.UserError(f"--job: budget.{key}: {value!r} is not an integer")
    return job


def repeats(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one job per repeat."""
    numbers = job.get("repeats", [job.get("repeat")])
    rest = {key: value for key, value in job.items() if key != "repeats"}
    return [{**rest, "repeat": repeat} for repeat in numbers]


if __name__ == "__main__":
    errors.run(main)
