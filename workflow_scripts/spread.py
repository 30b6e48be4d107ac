"""Draw designs with increasing numbers of points, and measure how evenly they cover [0, 1].

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/spread.py --job '{"sampler": "sobol", "sizes": [1, 10, 100], ...}' \
        --output spread.parquet
"""

import argparse
import json
from itertools import islice
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from ensemble_search.dpp import coverage
from ensemble_search.runtime import errors, files

JOB = ("sampler", "sizes", "samples", "seed")


def main() -> None:
    """Write one row per size and sample; the file's metadata hold the job."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--job", type=json.loads, required=True, help=f"JSON: {', '.join(JOB)}")
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()
    job = arguments.job
    errors.check_keys("--job", job, JOB)

    rows = []
    with threadpool_limits(1):
        for size in job["sizes"]:
            rng = np.random.default_rng([job["seed"], size, *job["sampler"].encode()])
            designs = coverage.designs(job["sampler"], size, rng)
            for sample, points in enumerate(islice(designs, job["samples"])):
                rows.append({"size": size, "sample": sample, **coverage.measure(points)})
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    files.write_parquet(arguments.output, columns, {"ensemble_search.job": json.dumps(job)})


if __name__ == "__main__":
    errors.run(main)
