"""The tables of `make status`: of all studies; of a study's searches (or, in a replay, states of
repeats) and other jobs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ensemble_search.results import job_logs, layout, states
from ensemble_search.runtime import plugins, slurm
from ensemble_search.runtime.errors import number_of, one_line
from ensemble_search.search.budget import UNITS
from ensemble_search.search.progress import amount, duration

if TYPE_CHECKING:
    from ensemble_search.jobs import Jobs

#: Maximum number of failed jobs whose errors are printed.
ERRORS = 10
#: Normal reasons to wait in SLURM's queue.
USUAL = ("None", "Priority", "Resources")


def report(jobs: "Jobs") -> tuple[list[str], list[str]]:
    """Describe the progress of a study whose results are below the working directory.

    Returns the table of its searches with a summary of its other jobs, and damaged files, one line
    each with the remedy.
    """
    study = jobs.study
    found = slurm.queue() or ()
    queue = {job.comment: job.state for job in found}

    def comment(home: str, name: tuple[str, str, int]) -> str:
        if not study.evaluation.replay:
            return slurm.search_comment(home, *name)
        *names, repeat = name
        rule = states.replay_rule("replay", study, repeat)
        return slurm.comment(rule, *names, layout.tens(repeat))

    homes = {name: jobs.home(*name).study.study for name in states.searches(study)}
    searches = [
        states.search_state(Path("results") / home, study, *name, queue.get(comment(home, name)))
        for name, home in homes.items()
    ]
    unfinished = {name for name, s in zip(homes, searches, strict=True) if s["state"] != "done"}
    others = [
        (job, states.job_state(job, unfinished, queue)) for job in states.jobs_after_searches(jobs)
    ]
    loss = plugins.load("metrics", study.metric).title
    rows = together(searches) if study.evaluation.replay else searches
    lines = [*table(rows, loss), "", total(searches)]
    for kind in dict.fromkeys(job.kind for job, _ in others):
        lines.append(summary(kind, [state for job, state in others if job.kind == kind]))
    lines += waiting(found)
    failures = list(_failures(searches, others))
    lines += failures[:ERRORS]
    if len(failures) > ERRORS:
        lines.append(f"and {len(failures) - ERRORS} more that failed")
    if shared := [home for home in homes.values() if home != study.study]:
        count = number_of(len(shared), "search")
        lines.append(f"Shared with the study '{shared[0]}', in its folder: {count}")
    changed = [f"note: {line}" for line in jobs.changed_data()]
    lines += changed
    root = Path("results") / study.study
    page, log = root / "report" / "index.html", root / "logs/report.log"
    if page.exists():
        earlier = unfinished or changed or any(state != "done" for _, state in others)
        lines.append(f"Report: {page}" + (" (of an earlier state)" if earlier else ""))
    elif reason := job_logs.reason(log):
        lines.append(f"Report: failed: {reason}; see {log}")
    return lines, [problem for s in searches for problem in s["problems"]]


def overview(root: Path) -> list[str]:
    """Count the results of each study below ``root``, one line per study.

    Only file names are read; ensembles may be delivered ones. Searches and ensembles that a study
    shares with another count where they are stored.
    """

    def found(kind: str, pattern: str) -> set[Path]:
        return {file.parent.relative_to(folder / kind) for file in (folder / kind).glob(pattern)}

    rows = []
    for folder in sorted(root.glob("*/")):
        searches = found("searches", "*/*/*/search.json")
        started = found("checkpoints", "*/*/*/progress.json")
        ensembles = [
            *found("ensembles", "*/*/*/*/scores.parquet"), *found("delivered", "*/*/card.html"),
        ]  # fmt: skip
        page = folder / "report" / "index.html"
        if searches or ensembles or started or page.exists():
            counts = len(searches), len(started - searches), len(ensembles)
            rows.append((folder.name, *map(str, counts), str(page) if page.exists() else ""))
    if not rows:
        return [f"No study has results below {root}/."]
    header = ("study", "searches done", "unfinished", "ensembles", "report")
    return [
        *job_logs.aligned([header, *rows]),
        "",
        "Details of a study: make status STUDY=<its file>, such as studies/quickstart.yaml",
    ]


def table(searches: list[dict], loss: str) -> list[str]:
    """Align the rows of searches below the header; ``loss`` is the title of the metric."""
    header = ("data set", "search", "repeat", "state", "evaluations", f"best {loss}", "failed")
    return job_logs.aligned([(*header, "left"), *map(row, searches)])


def together(searches: list[dict]) -> list[dict]:
    """Merge the repeats of each search that are in the same state: replays have hundreds.

    The best losses are averaged.
    """
    groups: dict[tuple, list[dict]] = {}
    for search in searches:
        same = search["dataset"], search["search"], search["state"], search.get("used_up", False)
        groups.setdefault(same, []).append(search)
    made = []
    for group in groups.values():
        best = [s["best_error"] for s in group if s.get("best_error") is not None]
        sums = {
            key: sum(s[key] for s in group)
            for key in ("evaluations", "done", "budget", "failed", "seconds")
        }
        mean = sum(best) / len(best) if best else None
        repeats = job_logs.ranges([s["repeat"] for s in group])
        made.append({**group[0], **sums, "repeat": repeats, "best_error": mean})
    return made


def row(state: dict) -> tuple[str, ...]:
    """Write a search's state as the cells of :func:`table`."""
    best = state.get("best_error")
    mean = state["seconds"] / state["done"] if state["done"] else None
    left = "" if mean is None or state["state"] == "done" else duration(mean * _left(state))
    return (
        state["dataset"],
        state["search"],
        str(state["repeat"]),
        state["state"],
        amount(state),
        "" if best is None else f"{best:.4f}",
        str(state["failed"] or ""),
        "table used up" if state.get("used_up") else left,
    )


def total(searches: list[dict]) -> str:
    """Sum up the searches, and estimate the remaining time at the current pace."""
    found = [s["state"] for s in searches]
    done = sum(min(s["done"], s["budget"]) for s in searches)
    budget = sum(s["budget"] for s in searches)
    unit = UNITS[searches[0]["unit"]]
    line = f"{summary('search', found)}; {done:.0f}/{budget:.10g} {unit}"
    if done and any(map(_left, searches)):
        seconds = seconds_left(searches)
        line += f"; about {duration(seconds)} of work left"
        if running := found.count("running"):
            line += f", {duration(seconds / running)} at the present pace"
    return line


def seconds_left(searches: list[dict]) -> float:
    """Estimate the remaining work from the mean time per unit of budget on the same data set.

    If a data set has no times yet, the mean over all searches is used.
    """
    overall = _mean(searches) or 0.0
    left = 0.0
    for search in searches:
        same = _mean([s for s in searches if s["dataset"] == search["dataset"]])
        left += _left(search) * (overall if same is None else same)
    return left


def _left(search: dict) -> float:
    """Return what is left of a search's budget, and can be used."""
    return 0 if search.get("used_up") else max(0, search["budget"] - search["done"])


def _mean(searches: list[dict]) -> float | None:
    """Mean wall-clock seconds per unit of budget, including suggestions; None if unknown.

    A unit is an evaluation, a full fit or a (CPU) second of fitting.
    """
    done = sum(s["done"] for s in searches)
    return sum(s["seconds"] for s in searches) / done if done else None


def summary(kind: str, found: Sequence[str]) -> str:
    """Count the states of the jobs of a kind, such as ``12 ensembles: 11 done, 1 running``."""
    counts = ((found.count(name), name) for name in states.STATES)
    return f"{number_of(len(found), kind)}: " + ", ".join(f"{n} {name}" for n, name in counts if n)


def waiting(queue: Sequence[slurm.Job]) -> list[str]:
    """Explain why jobs wait in SLURM's queue, unless others just come first."""
    reasons = Counter(job.reason for job in queue if job.state == "PENDING")
    return [
        f"Waiting in SLURM's queue: {count}, because of {one_line(reason)}"
        for reason, count in sorted(reasons.items())
        if reason not in USUAL
    ]


def _failures(
    searches: list[dict], others: list[tuple[states.AfterSearches, str]]
) -> Iterator[str]:
    """Explain why jobs failed, one line each; one job may cover several searches or ensembles."""
    names = [(f"{s['dataset']} {s['search']} {s['repeat']}", s) for s in searches]
    failed = [(name, s["log"]) for name, s in names if s["state"] == "failed"]
    jobs = [(job, " ".join(map(str, job.wildcards)) or job.rule, state) for job, state in others]
    failed += [(name, job.log) for job, name, state in jobs if state == "failed"]
    for log, group in groupby(failed, itemgetter(1)):
        first, *more = [name for name, _ in group]
        name = f"{first} and {len(more)} more" if more else first
        yield f"{name}: {job_logs.reason(log)}; see {log}"
