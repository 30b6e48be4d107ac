"""Run a search (data set, search, repeat), or continue it from its journal.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/search.py --job '{"dataset": "wine", ...}' \\
        --split results/quickstart/splits/wine/fixed \\
        --checkpoints results/quickstart/checkpoints/wine/divbo/0 \\
        --output results/quickstart/searches/wine/divbo/0

A job with `repeats`, a list, instead of `repeat` is several searches. In --checkpoints and --output
their numbers are filled in for {repeat}.
"""

import argparse
import functools
import json
import time
from pathlib import Path
from typing import Any

from ensemble_search.evaluation.base import EvaluatorError
from ensemble_search.evaluation.table import Table
from ensemble_search.runtime import errors
from ensemble_search.search.run import JOB, run_job


def main() -> None:
    """Search, then write the declared outputs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--job", type=json.loads, required=True, help=f"JSON: {', '.join(JOB)} (and its settings)"
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
    # Snakemake gives no more threads than there are cores.
    workers = max(1, min(arguments.workers, arguments.threads))
    jobs = repeats(arguments.job)
    splits, tables = (
        errors.one_for_each(option, given, len(jobs), "repeat")
        for option, given in (("--split", arguments.split), ("--table", arguments.table))
    )
    read = functools.cache(Table.read)  # once, for all repeats
    started = None  # with the process
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


def repeats(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the jobs of the single repeats."""
    if "repeats" not in job:
        return [job]
    rest = {key: value for key, value in job.items() if key != "repeats"}
    return [{**rest, "repeat": repeat} for repeat in job["repeats"]]


if __name__ == "__main__":
    errors.run(main)
