"""A search of the instant space in a worker."""

from contextlib import ExitStack
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
#: Settings of the optimizers, and workers.
SEARCHES = {
    "random": ({}, 1),
    "random side by side": ({}, 3),
    "bo": ({"candidates": 50, "local": 3}, 1),
    "bo side by side": ({"candidates": 50, "local": 3, "batch": 4}, 2),
    "divbo": ({"candidates": 50, "local": 3}, 1),
}


def search(
    folder: Path, inputs: Path, name: str, budget: int, workers: int | None = None
) -> list[Record]:
    """Run or continue one of the searches of the instant space in ``folder``."""
    space = hostile_space.HostileSpace()
    with np.load(inputs / "inputs.npz", allow_pickle=False) as arrays:
        labels = arrays["y_validation"]
        shapes = (len(labels), 1), (len(arrays["X_test"]), 1)
    settings, own_workers = SEARCHES[name]
    with Journal(folder, {"search": name}, shapes) as journal, ExitStack() as opened:
        evaluators = [
            opened.enter_context(
                LiveEvaluator(hostile_space.__name__, inputs / "inputs.npz", 20, 2048, threads=1)
            )
            for _ in range(workers or own_workers)
        ]
        return run(
            plugins.load("optimizers", name.split(maxsplit=1)[0])(**settings),
            space,
            labels,
            evaluators,
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
