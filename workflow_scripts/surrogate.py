"""Fit a surrogate on growing numbers of random configurations, and see how well it predicts others.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/surrogate.py --task '{"surrogate": "forest-kernel", ...}' \
        --configurations results/mine/configurations/quake --output quality.parquet
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from divbo import errors, files, plugins, surrogate_quality
from divbo.errors import UserError

TASK = ("surrogate", "space", "sizes", "held_out", "seed", "repeat")


def main() -> None:
    """Write one row a size and protocol; the file's metadata hold the task."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--task", type=json.loads, required=True, help=f"JSON: {', '.join(TASK)}")
    parser.add_argument(
        "--configurations", type=Path, required=True, help="folder of a finished search"
    )
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()
    task = arguments.task
    if missing := [key for key in TASK if key not in task]:
        raise UserError(f"--task: key '{missing[0]}' is missing; needed: {', '.join(TASK)}")

    surrogate = plugins.load("surrogates", task["surrogate"])()
    space = plugins.load("space", task["space"])()
    evaluated = surrogate_quality.read(arguments.configurations, space)
    needed, found = max(task["sizes"]) + task["held_out"], len(evaluated.errors)
    if needed > found:
        raise UserError(
            f"'{arguments.configurations}' has {found} configurations that could be fitted; "
            f"sizes and held_out need {needed}"
        )
    seed = (task["seed"], task["repeat"])
    with threadpool_limits(1):
        rows = surrogate_quality.assess(surrogate, evaluated, task["sizes"], task["held_out"], seed)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    files.write_parquet(arguments.output, columns, {"divbo.task": json.dumps(task)})


if __name__ == "__main__":
    errors.run(main)
