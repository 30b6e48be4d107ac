"""Measure the peak memory of ensemble jobs beside what rules/ensemble.smk asks for.

    python benchmarks/memory.py

250 made-up evaluations of made-up data of two sizes. Input is what Snakemake counts: predictions,
features and labels. All in MB.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
#: Rows of the table and classes; a fifth each validates and tests.
SIZES = ((25_000, 2), (100_000, 10))
ENSEMBLES = (
    {"type": "best"},
    {"type": "selection", "size": 25},
    {"type": "selection", "size": 25, "metric": "log-loss"},
    {"type": "selection", "size": 25, "metric": "brier"},
)
EVALUATIONS = 250


def make(folder: Path, rows: int, classes: int) -> None:
    """Write a split and a finished search."""
    import made_search
    from random_configurations import make_inputs

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(rows, 10)), columns=list("abcdefghij"))
    table["y"] = [f"c{code}" for code in rng.integers(classes, size=rows)]
    table.to_csv(folder / "made.csv", index=False)
    make_inputs(f"file={folder / 'made.csv'},target=y", folder / "split")
    made_search.run(folder / "split", folder, EVALUATIONS)


#: Runs the script; prints the peak of this process, where `wait4` would have that of its parent.
RUN = """
import re, runpy, sys
sys.argv[:1] = []
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def peak(folder: Path, settings: dict) -> float:
    """Build an ensemble in a process of its own; return its peak resident memory."""
    command = [sys.executable, "-c", RUN, ROOT / "workflow_scripts/ensemble.py"]
    command += ["--search", folder / "search", "--split", folder / "split"]
    command += ["--settings", json.dumps(settings), "--output", folder / "ensemble"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, command)), env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return int(done.stdout.split()[-1]) / 1000


def main() -> None:
    sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "benchmarks")]
    names = [" ".join(map(str, e.values())) for e in ENSEMBLES]
    print(f"{'rows':>8}{'classes':>8}{'input':>8}{'asked':>8}" + "".join(f"{n:>24}" for n in names))
    for rows, classes in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make(folder, rows, classes)
            files = [
                *(folder / "search").glob("*.parquet"), *(folder / "search").glob("*.npy"),
                *(folder / "split" / f for f in ("split.json", "test_labels.npy", "inputs.npz")),
            ]  # fmt: skip
            size = sum(f.stat().st_size for f in files) / 1e6
            found = [peak(folder, settings) for settings in ENSEMBLES]
            row = f"{rows:8}{classes:8}{size:8.0f}{1000 + 2 * size:8.0f}"
            print(row + "".join(f"{value:24.0f}" for value in found), flush=True)


if __name__ == "__main__":
    main()
