"""Run a search job: from job and split to the files of a finished search."""

import json
import os
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from ensemble_search.data.split import checked_inputs
from ensemble_search.evaluation import live
from ensemble_search.evaluation.base import MakeEvaluator
from ensemble_search.evaluation.status import OK
from ensemble_search.problems.classification import Classification
from ensemble_search.runtime import files, locks, plugins, provenance
from ensemble_search.runtime.errors import UserError
from ensemble_search.search import fingerprint, takeover
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import Journal, Record
from ensemble_search.search.loop import run
from ensemble_search.search.progress import Progress, best_error
from ensemble_search.spaces.base import Space

#: Keys of a job.
JOB = ("dataset", "search", "repeat", "seed", "space", "metric", "limits", "budget", "optimizer")
OUTPUTS = ("observations.parquet", "predictions-validation.npy", "predictions-test.npy")


# Learners run in the worker; the optimizer's own arrays are too small for threads to help.
@threadpool_limits.wrap(limits=1)
def run_job(
    job: dict[str, Any],
    split: Path,
    checkpoints: Path,
    output: Path,
    threads: int = 1,
    workers: int = 1,
    make_evaluator: MakeEvaluator = live.make,
) -> None:
    """Run a search, or resume it from its journal, and write its results.

    Parameters
    ----------
    job
        The search: :data:`JOB`, see ``docs/architecture.md``.
    split
        Folder of the split.
    checkpoints
        Folder for the journals of this search, one per fingerprint.
    output
        Folder for the results.
    threads
        Threads of the learners.
    workers
        Concurrent evaluations, each with ``threads`` threads; results do not depend on it.
    make_evaluator
        Makes the evaluators; by default, of worker processes.

    Raises
    ------
    UserError
        If a key of the job is missing or wrong, the split cannot be used, the journal cannot be
        read or written, or the code changes meanwhile.
    EvaluatorError
        If an evaluator fails.
    """
    if missing := [key for key in JOB if key not in job]:
        raise UserError(f"--job: key '{missing[0]}' is missing; needed: {', '.join(JOB)}")
    if not (split / "split.json").is_file():
        raise UserError(f"--split: there is no split in '{split}'; run split.py first")
    optimizer = plugins.make("optimizers", job["optimizer"], "optimizer", "--job: optimizer")
    space = plugins.load("spaces", job["space"])()
    budget = Budget(**job["budget"], minimum=optimizer.minimum_evaluations)
    guard = fingerprint.guard(job["optimizer"], job["space"], job["metric"])
    inputs = checked_inputs(split)
    identity = fingerprint.fingerprint(job, inputs.checksum(), threads, space.libraries)
    problem = Classification(plugins.load("metrics", job["metric"])())
    columns = problem.columns(len(inputs.classes))
    shapes = (len(inputs.y_validation), columns), (len(inputs.X_test), columns)
    folder = checkpoints / fingerprint.short(identity)
    new = not folder.exists()
    started = provenance.process_started()
    wait = locks.WAIT in os.environ
    with Journal(folder, identity, shapes, wait) as journal, ExitStack() as opened:
        evaluators = [
            opened.enter_context(
                make_evaluator(job["space"], split / "inputs.npz", job["limits"], threads)
            )
            for _ in range(workers)
        ]
        if new:
            takeover.take_over(journal)
        progress = Progress(checkpoints, job, budget, journal.records)
        records = run(
            optimizer,
            space,
            inputs.y_validation,
            evaluators,
            journal,
            budget=budget,
            seed=(job["seed"], job["repeat"]),
            problem=problem,
            progress=progress,
            check=guard.check,
            since=started,
        )
        progress(records)
        # Under the lock, so that no other job writes these files.
        write(output, records, column_types(space), shapes)
    wall = sum(map(seconds, records))
    rest = sum(r.rest_seconds for r in records)
    mine = records[progress.resumed :]
    rest += max(0.0, time.time() - started - sum(seconds(r) + r.rest_seconds for r in mine))
    manifest = {
        **{key: job[key] for key in JOB if key != "optimizer"},
        "settings": job["optimizer"],
        "evaluations": len(records),
        "best_error": best_error(records),
        "status": dict(sorted(Counter(r.status for r in records).items())),
        "fingerprint": identity,
        **provenance.commit(),
        "versions": provenance.versions(space.libraries),
        "machine": provenance.machine(),
        "threads": threads,
        "started": records[0].began,
        "finished": provenance.now(),
        "resumed_after": progress.resumed,
        "job_seconds": wall + rest,
        "wall_seconds": wall,
        "rest_seconds": rest,
        "suggest_seconds": sum(r.suggest_seconds for r in records),
        "cpu_seconds": sum(r.cpu_seconds for r in records),
        "files": files.checksums(output, OUTPUTS),
    }
    files.write_json(output / "search.json", manifest)


def seconds(record: Record) -> float:
    """Wall seconds of an evaluation, including its suggestion."""
    return record.suggest_seconds + record.fit_seconds


def column_types(space: Space) -> dict[str, pa.DataType]:
    """Return the column types of the hyperparameters, the same for every file."""
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
    columns["fidelity"] = np.array([r.fidelity for r in records])
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
