"""Run a search job: from job description and split to the files of a finished search."""

import os
import sys
from contextlib import ExitStack
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ensemble_search.data.split import checked_inputs
from ensemble_search.evaluation import live
from ensemble_search.evaluation.base import Evaluator, MakeEvaluator
from ensemble_search.evaluation.shared import SharedEvaluator, Store
from ensemble_search.evaluation.table import Table, TableEvaluator
from ensemble_search.problems import tasks
from ensemble_search.runtime import locks, plugins, provenance
from ensemble_search.runtime.errors import UserError, check_keys
from ensemble_search.search import fingerprint, given, results, takeover
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import InMemory, Journal, differences
from ensemble_search.search.loop import run
from ensemble_search.search.progress import Progress
from ensemble_search.spaces._table import TableSpace
from ensemble_search.spaces.base import Space

#: Keys of a job.
JOB = ("dataset", "search", "repeat", "seed", "space", "metric", "limits", "budget", "optimizer")


# Learners run in the worker; the optimizer's own arrays are too small for threads to help.
@threadpool_limits.wrap(limits=1)
def run_job(
    job: dict[str, Any],
    split: Path,
    checkpoints: Path,
    output: Path,
    threads: int = 1,
    workers: int = 1,
    table: Table | None = None,
    share: Path | None = None,
    tables: Path | None = None,
    warm_start: Table | None = None,
    started: float | None = None,
    make_evaluator: MakeEvaluator = live.make,
) -> None:
    """Run a search, or resume it from its journal, and write its results.

    Raises UserError if a key of the job is missing or wrong, the split cannot be used, the journal
    cannot be read or written, the code changes during the run, or a table does not match the job or
    is too small. Raises EvaluatorError if an evaluator fails.

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
    table
        Its configurations are the space, and evaluations are looked up instead of fitted. Such a
        search keeps no journal; if interrupted, it starts over.
    share
        Folder for evaluations shared between searches, of all data sets and splits: existing ones
        are looked up, others are fitted and added.
    tables
        Folder of tables for all data sets and splits, where evaluations are looked up first; needs
        ``share``.
    warm_start
        Table whose evaluations the search begins with; the budget does not count them.
    started
        Start of the job by ``time.monotonic``; default: the start of the process.
    make_evaluator
        Creates the evaluators; default: worker processes.
    """
    check_keys("--job", job, JOB)
    if not (split / "split.json").is_file():
        raise UserError(f"--split: there is no split in '{split}'; run split.py first")
    if table and warm_start:
        raise UserError("--warm-start: a search that looks its evaluations up begins with none")
    optimizer = plugins.make("optimizers", job["optimizer"], "optimizer", "--job: optimizer")
    problem = tasks.problem(job["metric"])
    space = _space(job["space"], problem.task)
    budget = Budget(**job["budget"], minimum=optimizer.minimum_evaluations)
    guard = fingerprint.guard(job["optimizer"], job["space"], job["metric"])
    inputs = checked_inputs(split)
    if inputs.task != problem.task:
        raise UserError(
            f"--split: '{split}' is for {inputs.task}, metric '{job['metric']}' for {problem.task}"
        )
    problem = tasks.problem(job["metric"], inputs.validation_weights)
    identity = fingerprint.fingerprint(job, inputs.checksum(), threads, space.libraries)
    columns = problem.columns(inputs.n_outputs)
    shapes = (len(inputs.y_validation), columns), (len(inputs.X_test), columns)
    started = provenance.process_started() if started is None else started
    with ExitStack() as opened:
        if table:
            table.check(job["space"], identity["data"], job["limits"], shapes)
            table.check_losses(inputs.y_validation)
            space = _table_space(space, table, optimizer.shares)
            part = optimizer.part(space)
            budget = budget.within(len(part), optimizer, table.folder)
            identity["table"] = table.description["checksum"]
            journal: Journal | InMemory = InMemory()
            evaluators: list[Evaluator] = [TableEvaluator(table, problem)]
        else:
            if missing := [name for name in space.libraries if find_spec(name) is None]:
                raise UserError(
                    f"space: {job['space']} requires {', '.join(missing)}, not installed in "
                    f"'{sys.prefix}'; install it there with pip"
                )
            known = []
            if warm_start:
                warm_start.check(job["space"], identity["data"], job["limits"], shapes)
                warm_start.check_losses(inputs.y_validation)
                identity["given"] = warm_start.description["checksum"]
                known = given.records(
                    warm_start, space, inputs.y_validation, problem, optimizer.shares
                )
            journals = checkpoints / fingerprint.short(identity)
            new = not journals.exists()
            wait = locks.WAIT in os.environ
            journal = opened.enter_context(Journal(journals, identity, shapes, wait))
            evaluators = [
                make_evaluator(job["space"], split / "inputs.npz", job["limits"], threads)
                for _ in range(workers)
            ]
            if share:
                place = Path(job["dataset"], split.name)
                folder = share / place / fingerprint.short(fingerprint.shared(identity))
                store = Store(folder, problem, shapes, guard.check)
                stored = None
                if tables:
                    beside = _beside(tables / place, identity, shapes, inputs.y_validation)
                    stored = TableEvaluator(beside, problem)
                # Longer than any evaluation takes, unless it is suspended.
                patience = 60 + 3 * job["limits"]["seconds"]
                evaluators = [SharedEvaluator(e, store, patience, stored) for e in evaluators]
            for evaluator in evaluators:
                opened.enter_context(evaluator)
            if new:
                takeover.take_over(journal)
            for record in known[len(journal.records) :]:
                journal.append(record)
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
        # Write while holding the lock, so that no other job writes these files.
        written = results.write(output, records, space, shapes, table)
        if isinstance(journal, Journal) and len(records) == len(journal.records):
            journal.share(output)
    about = {
        **{key: job[key] for key in JOB if key != "optimizer"},
        "settings": job["optimizer"],
        "fingerprint": identity,
        "versions": {
            **provenance.versions(space.libraries),
            **identity.get("libraries", {}),
        },
        "threads": threads,
        "resumed_after": progress.resumed,
        **({"table": table.description} if table else {}),
    }
    results.write_manifest(output, about, records, started, written)


# Cached, because the jobs of a process may be repeats of one search.


@cache
def _space(name: str, task: str) -> Space:
    return plugins.load("spaces", name)().for_task(task)


@lru_cache(maxsize=1)
def _table_space(space: Space, table: Table, shares: tuple[float, ...]) -> TableSpace:
    table.check_space(space.configurations)
    return TableSpace(space, space.configurations(table.at(shares)))


def _beside(
    folder: Path, identity: dict[str, Any], shapes: results.Shapes, labels: np.ndarray
) -> Table:
    """Read a table and check that its evaluations equal those that the search would fit."""
    table = Table.read(folder)
    table.check(identity["space"], identity["data"], identity["limits"], shapes)
    table.check_losses(labels)
    there, here = ({k: of[k] for k in ("threads", "versions")} for of in (table.manifest, identity))
    differ = differences(there, here)
    if differ:
        raise UserError(f"the table '{folder}' cannot be mixed with fits: {'; '.join(differ)}")
    return table
