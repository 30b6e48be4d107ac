"""Fit a surrogate on increasing numbers of random configurations, and test it on others.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/surrogate.py --job '{"surrogate": "forest-kernel", ...}' \
        --configurations results/mine/configurations/quake \
        --split results/mine/splits/quake/fixed --output quality.parquet
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from ensemble_search.results import readers
from ensemble_search.runtime import errors, files, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.scoring import surrogate_quality

JOB = ("surrogate", "space", "task", "configurations", "sizes", "held_out", "seed", "repeat")


def main() -> None:
    """Write one row per size and protocol; the file's metadata hold the job."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--job", type=json.loads, required=True, help=f"JSON: {', '.join(JOB)}")
    parser.add_argument(
        "--configurations", type=Path, required=True, help="folder of a finished search or a table"
    )
    parser.add_argument("--split", type=Path, required=True, help="folder of their split")
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()
    job = arguments.job
    errors.check_keys("--job", job, JOB)

    surrogate = plugins.load("surrogates", job["surrogate"])()
    space = plugins.load("spaces", job["space"])().for_task(job["task"])
    data = readers.split(arguments.split)["checksum"]
    evaluated = surrogate_quality.read(arguments.configurations, space, job["configurations"], data)
    needed, found = max(job["sizes"]) + job["held_out"], len(evaluated.errors)
    if needed > found:
        raise UserError(
            f"'{arguments.configurations}' has {found} configurations that could be fitted; "
            f"sizes and held_out need {needed}"
        )
    seed = (job["seed"], job["repeat"])
    with threadpool_limits(1):
        rows = surrogate_quality.assess(surrogate, evaluated, job["sizes"], job["held_out"], seed)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    files.write_parquet(arguments.output, columns, {"ensemble_search.job": json.dumps(job)})


if __name__ == "__main__":
    errors.run(main)
