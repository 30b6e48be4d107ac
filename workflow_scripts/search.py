"""Run searches (data set, search, repeat), or continue them from their journals.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/search.py --job '{"dataset": "wine", ...}' \\
        --split results/quickstart/splits/wine/fixed \\
        --checkpoints results/quickstart/checkpoints/wine/divbo/0 \\
        --output results/quickstart/searches/wine/divbo/0
"""

import argparse
import json
from pathlib import Path

from ensemble_search.evaluation.base import EvaluatorError
from ensemble_search.runtime import errors
from ensemble_search.search.run import JOB, run_job


def main() -> None:
    """Search, then write the declared outputs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])

    def several(name: str, type_, what: str, required: bool = True) -> None:
        parser.add_argument(name, type=type_, nargs="+", required=required, help=what)

    several("--job", json.loads, f"JSON: {', '.join(JOB)} (and its settings); one or several")
    several("--split", Path, "folder of the split, one a job, as the other folders")
    several("--checkpoints", Path, "folder for the journals of this search")
    several("--output", Path, "folder for the results")
    several("--table", Path, "folder of a table: look up what to evaluate, and fit nothing", False)
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
            )
    except EvaluatorError as error:
        raise errors.UserError(str(error)) from error


if __name__ == "__main__":
    errors.run(main)
