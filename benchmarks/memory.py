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
from contextlib import redirect_stderr
from io import StringIO
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
    """Write a split and a finished search, with predictions that are right half of the time."""
    from random_configurations import make_inputs

    from ensemble_search.data.split import load_inputs
    from ensemble_search.evaluation.base import Evaluation
    from ensemble_search.search.run import run_job

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(rows, 10)), columns=list("abcdefghij"))
    table["y"] = [f"c{code}" for code in rng.integers(classes, size=rows)]
    table.to_csv(folder / "made.csv", index=False)
    make_inputs(f"file={folder / 'made.csv'},target=y", folder / "split")
    labels = (
        load_inputs(folder / "split/inputs.npz").y_validation,
        np.load(folder / "split/test_labels.npy"),
    )

    class Evaluator:
        def __init__(self, *arguments):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        def evaluate(self, values, fidelity=1.0) -> Evaluation:
            made = []
            for own in labels:
                p = rng.random((len(own), classes), dtype=np.float32)
                p[np.arange(len(own)), own] += 0.5
                made.append(p / p.sum(axis=1, keepdims=True))
            return Evaluation("ok", *made, 1.0, 1.0, 0.1, 1.0, None, None)

    job = {
        **{"dataset": "made", "search": "random", "repeat": 0, "seed": 0, "space": "divbo"},
        **{"metric": "error", "limits": {"seconds": 60, "memory_mb": 4096}},
        **{"budget": {"evaluations": EVALUATIONS}, "optimizer": {"optimizer": "random"}},
    }
    with redirect_stderr(StringIO()):
        places = folder / "split", folder / "journals", folder / "search"
        run_job(job, *places, make_evaluator=Evaluator)


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
