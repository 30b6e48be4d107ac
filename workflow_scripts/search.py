"""Run searches (data set, search, repeat), or continue them from their journals.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/search.py --job '{"dataset": "wine", ...}' \\
        --split results/quickstart/splits/wine/fixed \\
        --checkpoints results/quickstart/checkpoints/wine/divbo/0 \\
        --output results/quickstart/searches/wine/divbo/0
"""

import argparse
import json
import time
from pathlib import Path

from ensemble_search.evaluation.base import EvaluatorError
from ensemble_search.runtime import errors
from ensemble_search.search.run import JOB, run_job


def main() -> None:
    """Search, then write the declared outputs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    several = {"nargs": "+", "required": True}
    parser.add_argument(
        "--job", type=json.loads, **several, help=f"JSON: {', '.join(JOB)} (and its settings)"
    )
    parser.add_argument("--split", type=Path, **several, help="folder of its split")
    parser.add_argument("--checkpoints", type=Path, **several, help="folder for its journals")
    parser.add_argument("--output", type=Path, **several, help="folder for its results")
    parser.add_argument(
        "--table", type=Path, nargs="+", help="folder of a table: look evaluations up, fit nothing"
    )
    parser.add_argument("--share", type=Path, help="folder of evaluations that searches share")
    parser.add_argument("--tables", type=Path, help="with --share: tables to look up in before")
    parser.add_argument("--threads", type=int, default=1, help="threads of all workers (1)")
    parser.add_argument("--workers", type=int, default=1, help="evaluations side by side (1)")
    arguments = parser.parse_args()
    # Snakemake gives no more threads than there are cores.
    workers = max(1, min(arguments.workers, arguments.threads))
    tables = arguments.table or [None] * len(arguments.job)
    folders = arguments.split, arguments.checkpoints, arguments.output, tables
    if {len(arguments.job)} != set(map(len, folders)):
        raise errors.UserError("--split, --checkpoints, --output, --table: give one for every job")
    started = None  # with the process
    try:
        for job, split, checkpoints, output, table in zip(arguments.job, *folders, strict=True):
            run_job(
                job,
                split,
                checkpoints,
                output,
                arguments.threads // workers,
                workers,
                table,
                arguments.share,
                arguments.tables,
                started,
            )
            started = time.monotonic()
    except EvaluatorError as error:
        raise errors.UserError(str(error)) from error


if __name__ == "__main__":
    errors.run(main)
