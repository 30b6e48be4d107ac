"""Print how far a study is: one row a search, also while it runs, here or on a cluster.

python workflow_scripts/status.py --study studies/quickstart.yaml
"""

import argparse
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from divbo import errors, locks, readers, slurm
from divbo.analysis import outdated
from divbo.errors import UserError
from divbo.files import Missing
from divbo.search.progress import amount, duration
from divbo.study import Study
from divbo.tasks import Tasks

HEADER = ("data set", "search", "repeat", "state", "evaluations", "best error", "failed", "left")
#: A search on another host counts as running this long after its last evaluation, in seconds.
SILENCE = 900
#: In the order in which :func:`total` names them.
STATES = ("done", "running", "queued", "stopped", "failed", "waiting", "outdated")
#: Failed searches whose errors are printed.
ERRORS = 10


def main() -> None:
    """Print the table of the study's searches and a line that adds them up."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--study", default="config.yaml", help="study file (config.yaml)")
    arguments = parser.parse_args()
    tasks = Tasks.load(arguments.study)
    loaded = tasks.study
    homes = {name: tasks.home(*name).study.study for name in searches(loaded)}
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
    failures = [s for s in states if s["state"] == "failed"]
    for s in failures[:ERRORS]:
        print(f"{s['dataset']} {s['search']} {s['repeat']}: {s['reason']}; see {s['log']}")
    if len(failures) > ERRORS:
        print(f"and {len(failures) - ERRORS} more that failed")
    if shared := [home for home in homes.values() if home != loaded.study]:
        print(f"Shared with the study '{shared[0]}', in its folder: {len(shared)} searches")
    report = Path("results") / loaded.study / "report" / "index.html"
    if report.exists():
        print(f"Report: {report}")
    if problems := [problem for s in states for problem in s["problems"]]:
        print("\n".join(f"problem: {problem}" for problem in problems))
        sys.exit(1)


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
    part = Path(dataset) / search / str(repeat)
    ((unit, budget),) = loaded.budget.model_dump(exclude_none=True).items()
    result = {"dataset": dataset, "search": search, "repeat": repeat, "unit": unit}
    result["budget"] = budget
    problems: list[str] = []
    progress = _read(readers.progress, root / "checkpoints" / part, problems)
    manifest = _read(readers.search, root / "searches" / part, problems)
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
    running = any(_held(p, updated) for p in (root / "checkpoints" / part).glob("*/lock"))
    log = root / "logs" / "search" / f"{part}.log"
    if running:
        return {**known, "state": "running"}
    if reason := _error(log):
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


def _error(log: Path) -> str:
    """Find the error that a job's log ends with: the line it is said in; empty if there is none."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    last = next((line for line in reversed(lines) if line.strip()), "")
    failed = last.startswith("error: ") or any(line.startswith("Traceback (") for line in lines)
    return last.removeprefix("error: ") if failed else ""


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
