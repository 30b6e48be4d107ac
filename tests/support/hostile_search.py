"""A search of the instant space in a worker; run as a program, for tests to kill it."""

import sys
from dataclasses import fields
from pathlib import Path

import numpy as np

from ensemble_search.evaluation.live import LiveEvaluator
from ensemble_search.runtime import plugins
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import Journal, Record
from ensemble_search.search.loop import run
from support import hostile_space

SECONDS = {"suggest_seconds", "fit_seconds", "cpu_seconds", "predict_seconds", "rest_seconds"}
PASSING = SECONDS | {"memory_mb", "began"}


def search(folder: Path, inputs: Path, optimizer: str, budget: int) -> list[Record]:
    """Run or continue a search of the instant space in ``folder``."""
    space = hostile_space.HostileSpace()
    with np.load(inputs / "inputs.npz", allow_pickle=False) as arrays:
        labels = arrays["y_validation"]
        shapes = (len(labels), 1), (len(arrays["X_test"]), 1)
    settings = {} if optimizer == "random" else {"candidates": 50, "local": 3}
    evaluator = LiveEvaluator(
        hostile_space.__name__, inputs / "inputs.npz", seconds=20, memory_mb=2048, threads=1
    )
    with Journal(folder, {"optimizer": optimizer}, shapes) as journal, evaluator:
        return run(
            plugins.load("optimizers", optimizer)(**settings),
            space,
            labels,
            evaluator,
            journal,
            budget=Budget(evaluations=budget),
            seed=(0, 1),
        )


def content(records: list[Record]) -> list[tuple]:
    """What must be equal, bit by bit, whatever happened on the way."""
    names = [f.name for f in fields(Record) if f.name not in PASSING]
    rows = []
    for r in records:
        values = [getattr(r, n) for n in names]
        rows.append(tuple(v.tobytes() if isinstance(v, np.ndarray) else str(v) for v in values))
    return rows


if __name__ == "__main__":
    search(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
