"""Print how far a study is: one row a search, also while it runs, here or on a cluster.

python workflow_scripts/status.py --study studies/quickstart.yaml
"""

import argparse
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from ensemble_search.jobs import Jobs
from ensemble_search.results import job_logs, layout, outdated, readers
from ensemble_search.runtime import errors, locks, slurm
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import Missing
from ensemble_search.search.progress import amount, duration
from ensemble_search.study.model import Study

HEADER = ("data set", "search", "repeat", "state", "evaluations", "best error", "failed", "left")
#: A search on another host counts as running this long after its last evaluation, in seconds.
SILENCE = 900
#: In the order in which :func:`total` names them.
STATES = ("done", "running", "queued", "stopped", "failed", "waiting", "outdated")
#: Failed searches whose errors are printed.
ERRORS = 10


def main() -> None:
    """Print the table of the study's searches and a line that adds them up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", default="config.yaml", help="study file (config.yaml)")
    arguments = parser.parse_args()
    jobs = Jobs.load(arguments.study)
    loaded = jobs.study
    homes = {name: jobs.home(*name).study.study for name in searches(loaded)}
    queue = {job.comment: job.state for job in slurm.queue() or ()}
    states = [
        state(Path("results") / home, loaded, *name, queue.get(slurm.search_comment(home, *name)))
        for name, home in homes.items()
    ]
    rows = [HEADER, *(row(s) for s in states)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEADER))]
    for cells in rows:
        print("  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip())
    print(f"\n{total(states)}")
    unfinished = {(s["dataset"], s["search"], s["repeat"]) for s in states if s["state"] != "done"}
    found = [(job, job_state(job, unfinished, queue)) for job in jobs_after_searches(jobs)]
    for kind in dict.fromkeys(job.kind for job, _ in found):
        print(summary(kind, [state for job, state in found if job.kind == kind]))
    failures = [
        (f"{s['dataset']} {s['search']} {s['repeat']}", s["reason"], s["log"])
        for s in states
        if s["state"] == "failed"
    ]
    failures += [
        (" ".join(map(str, job.wildcards)) or job.rule, job_logs.reason(job.log), job.log)
        for job, state in found
        if state == "failed"
    ]
    for name, reason, log in failures[:ERRORS]:
        print(f"{name}: {reason}; see {log}")
    if len(failures) > ERRORS:
        print(f"and {len(failures) - ERRORS} more that failed")
    if shared := [home for home in homes.values() if home != loaded.study]:
        print(f"Shared with the study '{shared[0]}', in its folder: {len(shared)} searches")
    report = Path("results") / loaded.study / "report" / "index.html"
    if report.exists():
        earlier = unfinished or any(state != "done" for _, state in found)
        print(f"Report: {report}" + (" (of an earlier state)" if earlier else ""))
    elif reason := job_logs.reason(log := Path("results") / loaded.study / "logs/report.log"):
        print(f"Report: failed: {reason}; see {log}")
    if problems := [problem for s in states for problem in s["problems"]]:
        print("\n".join(f"problem: {problem}" for problem in problems))
        sys.exit(1)


class AfterSearches(NamedTuple):
    """A job that is no search.

    Attributes
    ----------
    kind
        What it makes, in the plural.
    rule, wildcards
        Its rule and the values of its wildcards.
    output, log
        A file that it makes, and its log.
    checkpoints
        Folder of its journals, where it keeps any.
    """

    kind: str
    rule: str
    wildcards: tuple[str | int, ...]
    output: Path
    log: Path
    checkpoints: Path | None = None


def jobs_after_searches(jobs: Jobs) -> Iterator[AfterSearches]:
    """List the jobs of a study that are no searches: ensembles, surrogates, AutoGluon."""
    study, root = jobs.study, Path("results") / jobs.study.study

    def job(kind, rule, pattern, file, checkpoints=None, log=None, **fields) -> AfterSearches:
        return AfterSearches(
            kind,
            rule,
            tuple(fields.values()),
            layout.path(root, pattern, **fields) / file,
            layout.path(root, layout.log(log or rule, pattern), **fields),
            checkpoints and layout.path(root, checkpoints, **fields),
        )

    pairs = dict.fromkeys((m.search, m.ensemble) for m in study.methods.values())
    for dataset, (search, ensemble), repeat in product(study.datasets, pairs, range(study.repeats)):
        run = {"dataset": dataset, "search": search, "ensemble": ensemble, "repeat": repeat}
        rule = "fitted_ensemble" if jobs.refits(ensemble) else "ensemble"
        places = layout.ENSEMBLE, "scores.parquet", layout.FITS, "ensemble"
        yield job("ensembles", rule, *places, **run)
    if section := study.surrogates:
        datasets = section.datasets or list(study.datasets)
        for dataset in datasets:
            places = layout.CONFIGURATIONS, "search.json", layout.CONFIGURATIONS_CHECKPOINTS
            yield job("sets of configurations", "configurations", *places, dataset=dataset)
        for dataset, name, repeat in product(datasets, section.names, range(section.repeats)):
            run = {"dataset": dataset, "surrogate": name, "repeat": repeat}
            places = layout.SURROGATE, "quality.parquet"
            yield job("evaluations of surrogates", "surrogate", *places, **run)
    for dataset in study.datasets if study.autogluon else ():
        places = layout.AUTOGLUON, "scores.json"
        yield job("runs of AutoGluon", "autogluon", *places, dataset=dataset)


def job_state(
    job: AfterSearches, unfinished: Collection[tuple[str, str, int]], queue: Mapping[str, str]
) -> str:
    """Say how far a job is: one of :data:`STATES`.

    Parameters
    ----------
    unfinished
        The searches that are not done: data set, search, repeat. Their ensembles wait for them.
    queue
        States of the jobs in SLURM's queue, by their comments.
    """
    queued = queue.get(slurm.comment(job.rule, *job.wildcards))
    if queued:
        return "queued" if queued == "PENDING" else "running"
    journals = list(job.checkpoints.glob("*/lock")) if job.checkpoints else []
    if any(_held(path, _written(path.with_name("journal.jsonl"))) for path in journals):
        return "running"
    if job.kind == "ensembles" and (*job.wildcards[:2], job.wildcards[3]) in unfinished:
        return "waiting"
    if job.output.exists():
        return "done"
    if job_logs.reason(job.log):
        return "failed"
    return "stopped" if journals else "waiting"


def summary(kind: str, states: Sequence[str]) -> str:
    """Count the states of the jobs of a kind, such as ``12 ensembles: 11 done, 1 running``."""
    counts = ((states.count(name), name) for name in STATES)
    return f"{len(states)} {kind}: " + ", ".join(f"{n} {name}" for n, name in counts if n)


def searches(loaded: Study) -> list[tuple[str, str, int]]:
    """List the searches of a study: data set, search, repeat."""
    return [
        (dataset, search, repeat)
        for dataset in loaded.datasets
        for search in loaded.used("search")
        for repeat in range(loaded.repeats)
    ]


def state(
    root: Path, loaded: Study, dataset: str, search: str, repeat: int, job: str | None = None
) -> dict:
    """Read what is known of a search: from its manifest if it is finished, else its progress.

    A finished search that was made with other settings than the study has is ``outdated``: all of
    its evaluations are still to be done.

    Parameters
    ----------
    root
        Results of the study that the search is part of.
    job
        State of its job in SLURM's queue, if it has one.

    Returns
    -------
    state
        ``state`` is one of :data:`STATES`; ``failed`` comes with ``reason`` and ``log``.
        ``problems``: files that are damaged, one line each with the remedy.
    """
    run = {"dataset": dataset, "search": search, "repeat": repeat}
    checkpoints = layout.path(root, layout.CHECKPOINTS, **run)
    ((unit, budget),) = loaded.budget.model_dump(exclude_none=True).items()
    result = {**run, "unit": unit, "budget": budget}
    problems: list[str] = []
    progress = _read(readers.progress, checkpoints, problems)
    manifest = _read(readers.search, layout.path(root, layout.SEARCH, **run), problems)
    result["problems"] = problems
    nothing = known = {**result, "evaluations": 0, "done": 0, "failed": 0, "seconds": 0.0}
    if progress:
        done = progress["done"] if progress["unit"] == unit else 0
        known = {**progress, **result, "done": done}
    if job == "PENDING":
        return {**known, "state": "queued"}
    if job and manifest is None:
        return {**known, "state": "running"}
    if manifest is not None and outdated.budget(manifest) == {unit: budget}:
        if outdated.search(manifest, loaded.model_dump(mode="json"), search):
            return {**nothing, "state": "outdated"}
        failed = manifest["evaluations"] - manifest["status"].get("ok", 0)
        return {**manifest, **result, "done": budget, "failed": failed,
                "seconds": manifest["wall_seconds"], "state": "done"}  # fmt: skip
    updated = progress.get("updated", 0.0) if progress else 0.0
    running = any(_held(p, updated) for p in checkpoints.glob("*/lock"))
    log = layout.path(root, layout.log("search", layout.SEARCH), **run)
    if running:
        return {**known, "state": "running"}
    if reason := job_logs.reason(log):
        return {**known, "state": "failed", "reason": reason, "log": log}
    return {**known, "state": "stopped" if progress else "waiting"}


def row(state: dict) -> tuple[str, ...]:
    """Write a search's state as the cells of :data:`HEADER`."""
    best = state.get("best_error")
    mean = state["seconds"] / state["done"] if state["done"] else None
    left = max(0, state["budget"] - state["done"])
    return (
        state["dataset"],
        state["search"],
        str(state["repeat"]),
        state["state"],
        amount(state),
        "" if best is None else f"{best:.4f}",
        str(state["failed"] or ""),
        "" if mean is None or state["state"] == "done" else duration(mean * left),
    )


def total(states: list[dict]) -> str:
    """Add the searches up, and guess how long the rest takes with those that run now."""
    counts = {name: sum(s["state"] == name for s in states) for name in STATES}
    done = sum(min(s["done"], s["budget"]) for s in states)
    budget = sum(s["budget"] for s in states)
    what = "evaluations" if states[0]["unit"] == "evaluations" else "seconds of fitting"
    text = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    line = f"{len(states)} searches: {text}; {done:.0f}/{budget:.10g} {what}"
    if done and done < budget:
        seconds = seconds_left(states)
        line += f"; about {duration(seconds)} of work left"
        if counts["running"]:
            line += f", {duration(seconds / counts['running'])} at the present pace"
    return line


def seconds_left(states: list[dict]) -> float:
    """Guess the work that is left from what a unit of the budget took on the same data set.

    Where nothing is known of a data set, from all searches.
    """
    overall = _mean(states)
    left = 0.0
    for state in states:
        same = _mean([s for s in states if s["dataset"] == state["dataset"]])
        units = max(0, state["budget"] - state["done"])
        left += units * (overall if same is None else same)
    return left


def _mean(states: list[dict]) -> float | None:
    """Mean seconds (by the clock, suggesting included) of a unit of the budget, None without any.

    A unit is an evaluation or a second of fitting.
    """
    done = sum(s["done"] for s in states)
    return sum(s["seconds"] for s in states) / done if done else None


def _read(reader: Callable[[Path], dict], folder: Path, problems: list[str]) -> dict | None:
    """Read a file; None where it is missing, or damaged, which is added to ``problems``."""
    try:
        return reader(folder)
    except Missing:
        return None
    except UserError as error:
        problems.append(str(error))
        return None


def _written(path: Path) -> float:
    """When a file was written last; 0 where there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _held(path: Path, updated: float) -> bool:
    """Say whether the process that a journal's lock names still runs.

    The lock itself is left alone: to try it, even shared and for an instant, would turn away a
    search that starts just then. A process of this host is looked up; one that began after the lock
    was written only has the same number. Of another host it is only known when it last wrote:
    ``updated``, from its progress, or the lock.
    """
    try:
        holder, written = locks.holder(path), path.stat().st_mtime
    except OSError:
        return False
    if holder is None:
        return False
    if holder.host != socket.gethostname():
        return time.time() - max(updated, written) < SILENCE
    return locks.runs(holder, written)


if __name__ == "__main__":
    errors.run(main)
