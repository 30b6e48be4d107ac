"""Measure the report of a study of the paper's size, with made-up results.

    python benchmarks/report.py
    python benchmarks/report.py --against ../before    # another checkout

Prints CPU seconds and megabytes. The results, 200 MB, go to a temporary folder.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]


def errors(method: str, dataset: str, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    """Make up validation and test errors of 250 iterations; one in ten evaluations fails."""
    rng = np.random.default_rng([*f"{method} on {dataset}".encode(), repeat])
    validation = 0.2 + 0.01 * rng.random() + rng.exponential(0.1, size=250)
    validation[rng.random(250) < 0.1] = np.nan
    noise = rng.normal(scale=0.003, size=250)[np.cumsum(rng.random(250) < 0.2)]
    test = np.fmin.accumulate(validation) + 0.02 + noise
    return validation.round(3), test.round(3)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--against", type=Path, help="another checkout, to be measured too")
    arguments = parser.parse_args()
    sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "tests")]
    from ensemble_search.jobs import Jobs
    from support import made_results

    study = Jobs.load(str(ROOT / "config.yaml")).report()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        made_results.write(results, json.loads(study), errors)
        for root in filter(None, (ROOT, arguments.against)):
            output = Path(folder, "report")
            command = [sys.executable, root / "workflow_scripts" / "report.py", "--study", study]
            command += ["--results", results, "--output", output]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            subprocess.run(list(map(str, command)), env=environment, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            size = sum(file.stat().st_size for file in output.rglob("*") if file.is_file())
            print(f"{root}: {seconds:.1f} CPU seconds, {size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
