"""Run one search (data set, search, repeat), or continue it from its journal.

By hand, with the arguments that `snakemake -n -p` prints:

    python workflow_scripts/search.py --task '{"dataset": "wine", ...}' \
        --split results/quickstart/splits/wine/fixed \
        --checkpoints results/quickstart/checkpoints/wine/divbo/0 \
        --output results/quickstart/searches/wine/divbo/0
"""

import argparse
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from divbo import errors, files, locks, plugins, provenance
from divbo.code_version import code_version
from divbo.data.split import checked_inputs
from divbo.errors import UserError
from divbo.evaluation.evaluator import Evaluator, WorkerError
from divbo.history import OK
from divbo.limits import FIGURES, peaks
from divbo.search import code, earlier
from divbo.search.budget import Budget
from divbo.search.journal import Journal, Record
from divbo.search.loop import run
from divbo.search.progress import Progress
from divbo.space.base import Space

TASK = ("dataset", "search", "repeat", "seed", "space", "limits", "budget", "optimizer")
OUTPUTS = ("observations.parquet", "predictions-validation.npy", "predictions-test.npy")


def main() -> None:
    """Search, then write the declared outputs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--task", type=json.loads, required=True, help=f"JSON: {', '.join(TASK)} (and its settings)"
    )
    parser.add_argument("--split", type=Path, required=True, help="folder of the split")
    parser.add_argument(
        "--checkpoints", type=Path, required=True, help="folder for the journals of this search"
    )
    parser.add_argument("--output", type=Path, required=True, help="folder for the results")
    parser.add_argument(
        "--limits",
        type=json.loads,
        help="JSON: limits instead of those of the task, which the "
        "results are known to be the same with",
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of the learners (1)")
    arguments = parser.parse_args()
    task = arguments.task
    asked = task.get("limits")
    if arguments.limits:
        task = task | {"limits": arguments.limits}
    if missing := [key for key in TASK if key not in task]:
        raise UserError(f"--task: key '{missing[0]}' is missing; needed: {', '.join(TASK)}")
    if not (arguments.split / "split.json").is_file():
        raise UserError(f"--split: there is no split in '{arguments.split}'; run split.py first")
    try:
        # The learners' threads are the worker's; the optimizer's own arrays are small.
        with threadpool_limits(1):
            search(arguments, task, asked)
    except WorkerError as error:
        raise UserError(str(error)) from error


def search(arguments: argparse.Namespace, task: dict, asked: dict) -> None:
    """Run the search of a task and write its results; ``asked`` are the limits of ``--task``."""
    optimizer = plugins.make("optimizers", task["optimizer"], "optimizer", "--task: optimizer")
    space = plugins.load("space", task["space"])()
    budget = Budget(**task["budget"], minimum=optimizer.minimum_evaluations)
    guard = code.guard(task["optimizer"], task["space"])
    inputs = checked_inputs(arguments.split)
    identity = fingerprint(task, inputs.checksum(), arguments.threads, space.libraries)
    columns = len(inputs.classes) if len(inputs.classes) > 2 else 1
    shapes = (len(inputs.X_validation), columns), (len(inputs.X_test), columns)
    folder = arguments.checkpoints / short(identity)
    new = not folder.exists()
    evaluator = Evaluator(
        plugins.module_name("space", task["space"]),
        arguments.split / "inputs.npz",
        seconds=task["limits"]["seconds"],
        memory_mb=task["limits"]["memory_mb"],
        threads=arguments.threads,
    )
    started = provenance.process_started()
    wait = locks.WAIT in os.environ
    with Journal(folder, identity, shapes, wait) as journal, evaluator:
        if new:
            earlier.take_over(journal)
        progress = Progress(arguments.checkpoints, task, budget, journal.records)
        records = run(
            optimizer,
            space,
            inputs.y_validation,
            evaluator,
            journal,
            budget=budget,
            seed=(task["seed"], task["repeat"]),
            progress=progress,
            check=guard.check,
            since=started,
        )
        progress(records)
        # Below the lock: nobody else writes these files now.
        write(arguments.output, records, column_types(space), shapes)
    wall = sum(map(seconds, records))
    rest = sum(r.rest_seconds for r in records)
    mine = records[progress.resumed :]
    rest += max(0.0, time.time() - started - sum(seconds(r) + r.rest_seconds for r in mine))
    manifest = {
        **{
            key: task[key]
            for key in ("dataset", "search", "repeat", "seed", "space", "limits", "budget")
        },
        "same_with": asked,
        "peaks": peaks((r.status, {f: getattr(r, f) for f in FIGURES}) for r in records),
        "settings": task["optimizer"],
        "evaluations": len(records),
        "best_error": min((r.error for r in records if r.status == OK), default=None),
        "status": dict(sorted(Counter(r.status for r in records).items())),
        "fingerprint": identity,
        **provenance.commit(),
        "versions": provenance.versions(space.libraries),
        "machine": provenance.machine(),
        "threads": arguments.threads,
        "started": records[0].began,
        "finished": provenance.now(),
        "resumed_after": progress.resumed,
        "job_seconds": wall + rest,
        "wall_seconds": wall,
        "rest_seconds": rest,
        "suggest_seconds": sum(r.suggest_seconds for r in records),
        "cpu_seconds": sum(r.cpu_seconds for r in records),
        "files": files.checksums(arguments.output, OUTPUTS),
    }
    files.write_json(arguments.output / "search.json", manifest)


def seconds(record: Record) -> float:
    """Wall seconds of an evaluation, suggesting included."""
    return record.suggest_seconds + record.fit_seconds


def fingerprint(task: dict, data: str, threads: int, libraries: Sequence[str]) -> dict:
    """Say what a search is: two searches with equal fingerprints are the same search.

    ``data`` is the checksum of its inputs.
    """
    versions = provenance.versions(libraries)
    versions["python"] = ".".join(versions["python"].split(".")[:2])
    modules = code.modules(task["optimizer"], task["space"])
    return {
        "optimizer": task["optimizer"],
        "space": task["space"],
        "limits": task["limits"],
        "seed": [task["seed"], task["repeat"]],
        "data": data,
        "threads": threads,
        "code": {part: code_version(*names) for part, names in modules.items()},
        "versions": versions,
    }


def short(fingerprint: dict) -> str:
    """Name the folder of a fingerprint: 12 hexadecimal digits."""
    text = json.dumps(fingerprint, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def column_types(space: Space) -> dict[str, pa.DataType]:
    """Types of the hyperparameters' columns, so that they are the same in every file."""
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    defaults = {name: h.default_value for name, h in space.configspace.items()}
    return {n: types[type(np.asarray(d).item())] for n, d in defaults.items()}


def write(
    output: Path,
    records: list[Record],
    hyperparameters: dict[str, pa.DataType],
    shapes: tuple[tuple[int, int], tuple[int, int]],
) -> None:
    """Write the observations and the predictions of a finished search."""
    columns = {"iteration": np.arange(1, len(records) + 1)}
    columns["status"] = [r.status for r in records]
    columns["error"] = np.array([np.nan if r.error is None else r.error for r in records])
    for key in ("suggest_seconds", "fit_seconds", "cpu_seconds", "predict_seconds", "memory_mb"):
        columns[key] = np.array([getattr(r, key) for r in records], dtype=float)  # None: NaN
    for key in ("error_type", "message"):
        columns[key] = pa.array([getattr(r, key) or "" for r in records], type=pa.string())
    columns["why"] = [json.dumps(r.why, ensure_ascii=False) for r in records]
    for name, type_ in hyperparameters.items():
        values = [r.configuration.get(name) for r in records]
        columns[f"config.{name}"] = pa.array(values, type=type_)
    files.write_parquet(output / "observations.parquet", columns)
    for part, shape in zip(("validation", "test"), shapes, strict=True):
        predictions = np.full((len(records), *shape), np.nan, dtype=np.float32)
        for i, record in enumerate(records):
            if record.status == OK:
                predictions[i] = getattr(record, part)
        files.write_npy(output / f"predictions-{part}.npy", predictions)


if __name__ == "__main__":
    errors.run(main)
