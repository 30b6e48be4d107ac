"""Measure the costs of searches besides fitting pipelines: evidence/performance/README.md.

    python benchmarks/suite.py                        # all, for an hour
    python benchmarks/suite.py report demo            # these groups
    python benchmarks/suite.py start --against ../before   # another checkout, too
    python benchmarks/suite.py start --profile             # where the time goes

Each piece of work (benchmarks/costs.py) runs in its own process, on one thread. The works of a
group take turns, and medians of CPU seconds are compared. The first turn is a warm-up, unless it is
the only one. Figures are written to evidence/performance/figures.csv, and profiles to profiles.csv,
from which the page is made. Those of groups that are not measured stay unchanged, as do those of
peers that are not installed (`make peers`, `make autogluon`).
"""

import argparse
import cProfile
import csv
import datetime
import json
import os
import pstats
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "evidence" / "performance"
COLUMNS = (
    *("group", "figure", "unit", "now", "before", "peer", "goal"),
    *("commit", "against", "date", "machine"),
)
PROFILE = "group", "work", "where", "share", "commit"
PEERS = "peer", "autogluon", "plain", "pandas_reads"

#: Factors from seconds or bytes.
SCALES = {"CPU ms": 1000, "MB": 1e-6, "minutes": 1 / 60}
KERNEL = {"interleave": 0, "diversity_surrogate": "forest-kernel"}
PAIRS = {"interleave": 0, "diversity_surrogate": "lightgbm-pairs"}
ESMBO = {
    **{"surrogate": "gaussian-process", "initial": 2, "candidates": 2000, "ascents": 5},
    **{"local": 0, "interleave": 0, "bootstraps": 125},
}
LARGE = "suggestion", "divbo", 100, KERNEL, "divbo", 100_000, 10
LOSSES = "error", "log-loss", "brier"
#: Turns of a group; default: three. A single turn has no warm-up.
TURNS = {
    **dict.fromkeys(("memory", "storage", "report", "predict", "large-table", "demo"), 1),
    **{"schedule": 1, "large-divbo": 2, "large-selection": 2, "esmbo-1000": 2, "dry-run": 2},
}

#: Pieces of work that take turns, by group: a function of costs.py and its arguments.
WORKS: dict[str, dict[str, tuple]] = {
    **{
        f"suggestion-{n}": {
            "bo": ("suggestion", "bo", n, {"interleave": 0}),
            "divbo": ("suggestion", "divbo", n, KERNEL),
            "pairs": ("suggestion", "divbo", n, PAIRS),
            "smac": ("peer", "smac", n),
            "optuna": ("peer", "optuna", n),
        }
        for n in (50, 150, 250)
    },
    "optimizers": {
        **{name: ("suggestion", name, 250, {"budget": 250}) for name in ("rising-bandit", "boasf")},
        **{
            name: ("suggestion", name, 250, {}) for name in ("tpe", "k-bo", "ensemble-optimization")
        },
    },
    **{f"esmbo-{n}": {"it": ("suggestion", "esmbo", n, ESMBO, "svm")} for n in (250, 1000)},
    "large-divbo": {"it": LARGE, "all": (*LARGE, True)},
    "selection": {
        **{name: ("selection", 10_000, 2, name) for name in LOSSES},
        **{f"plain-{name}": ("plain", 10_000, name) for name in LOSSES},
        "gluon": ("autogluon", 10_000),
    },
    "large-selection": {
        "log-loss-2": ("selection", 100_000, 2, "log-loss"),
        "plain": ("plain", 100_000, "log-loss"),
        **{f"{name}-10": ("selection", 100_000, 10, name) for name in LOSSES},
    },
    "memory": {"it": ("ensemble_job", 100_000, 10)},
    **{name: {"it": (name,)} for name in ("replay", "start", "dry-run", "storage", "report")},
    "predict": {"it": ("predict", 1_000_000), "pandas": ("pandas_reads",)},
    "large-table": {"it": ("large_data", 1_000_000, 3)},
    **{name: {"it": (name,)} for name in ("demo", "schedule")},
}

# fmt: off
#: Group, title, unit, value, peer, and goal. A value is the CPU seconds of a work, a figure that it
#: returns (work.figure), or the ratio of two values. A goal may be a share of the peer, which was
#: measured on the same machine when the goal was set.
FIGURES: list[tuple[str, ...]] = [
    *(
        (f"suggestion-{n}", f"{title}, {n} observations", unit, value, "", goal if n == 250 else "")
        for n in (50, 150, 250)
        for title, unit, value, goal in (
            ("BO", "CPU ms", "bo", "<= 25"),
            ("DivBO", "× BO", "divbo/bo", "<= 2"),
            ("DivBO with `lightgbm-pairs`", "× BO", "pairs/bo", "<= 2"),
            ("SMAC3's `ask`", "× BO", "smac.asked/bo", ""),
            ("Optuna's `ask`", "× BO", "optuna.asked/bo", ""),
        )
    ),
    *(("optimizers", f"`{o}`, 250 observations", "CPU ms", o, "", "") for o in WORKS["optimizers"]),
    ("esmbo-250", "ESMBO, Gaussian process, 250 observations", "CPU ms", "it", "", "<= 100"),
    ("esmbo-1000", "ESMBO, Gaussian process, 1000", "CPU ms", "it", "", "<= 1000"),
    ("large-divbo", "DivBO, 100 models, 100,000 rows × 10 classes", "CPU s", "it", "", "<= 0.5"),
    ("large-divbo", "the same, first after a resume", "CPU s", "all", "", "<= 3"),
    *(
        ("selection", f"25 of 250 models, 10,000 × 2, {name}", "CPU ms", name, f"plain-{name}",
         goal)
        for name, goal in zip(LOSSES, ("<= 0.22 peer", "<= 0.25 peer", "<= 0.076 peer"),
                              strict=True)
    ),
    ("selection", "AutoGluon's by the error", "× ours", "gluon/error", "", ""),
    *(
        ("large-selection", f"25 of 250 models, 100,000 × {classes}, {name}{more}",
         unit, f"{name}-{classes}{value}", "" if value or classes > 2 else "plain", goal)
        for name, classes in (("log-loss", 2), *((name, 10) for name in LOSSES))
        for more, unit, value, goal in (
            ("", "CPU s", "", "<= 0.29 peer" if classes == 2 else "<= 2"),
            (": memory", "× predictions", ".memory", "<= 1.2" if classes > 2 else ""),
        )
    ),
    ("memory", "ensemble job, 100,000 rows × 10 classes", "× memory asked for",
     "it.peak/it.asked", "", "<= 1"),
    ("replay", "replay of BO, 200 evaluations, a process", "CPU s", "it", "", "<= 2"),
    ("start", "start of a search to its first suggestion", "CPU s", "it", "", "<= 1"),
    ("dry-run", "dry run of the paper's study", "CPU s", "it", "", "<= 4.5"),
    ("storage", "search of 250 evaluations, 720 rows × 10 classes", "MB",
     "it.bytes", "", "<= 4.9"),
    ("report", "report of the paper's size", "CPU s", "it", "", "<= 12"),
    ("report", "its files", "MB", "it.bytes", "", "<= 6"),
    ("predict", "`predict.py`, 1,000,000 rows × 50", "CPU s", "it", "pandas", "<= 15"),
    ("large-table", "`make ensemble MINUTES=3`, 1,000,000 × 50: useful", "pipelines",
     "it.useful", "", ">= 20"),
    ("large-table", "of all, which fitted", "pipelines", "it.all", "", ""),
    ("demo", "`make demo` after the installation", "minutes", "it.wall", "", "<= 3"),
    ("demo", "the same without waiting", "CPU s", "it", "", ""),
    ("schedule", "the paper's study on 64 cores", "× least", "it.size 64", "it.file 64", "<= 1.00"),
    ("schedule", "if times were known", "× least", "it.known 64", "", ""),
    ("schedule", "on 256 cores", "× least", "it.size 256", "it.file 256", "<= 1.07"),
    ("schedule", "on 256, if times were known", "× least", "it.known 256", "", ""),
]
# fmt: on


class Worker:
    """A process that does its piece of work once per turn."""

    def __init__(self, root: Path, folder: Path, work: tuple, python: str = sys.executable):
        command = [python, __file__, "--work", root, folder, json.dumps(work)]
        self.work = work
        self.seconds: list[float] = []
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if root == ROOT else subprocess.DEVNULL,  # older code lacks some works
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
            text=True,
        )
        self.answer()  # it is prepared, including files that others also use

    def answer(self) -> Any:
        """Wait for a line from the process."""
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.work} has failed")
        return json.loads(line)

    def turn(self) -> None:
        """Let it work, and record the CPU seconds."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, self.result = self.answer()
        self.seconds.append(seconds)

    def end(self, name: str) -> dict[str, float]:
        """End the process; return the median of its CPU seconds, and the figures of a turn."""
        self.process.communicate()
        middle = sorted(self.seconds)[len(self.seconds) // 2]
        return {name: middle, **{f"{name}.{k}": v for k, v in (self.result or {}).items()}}


def be_worker(root: str, folder: str, work: str) -> None:
    """Run as the process of a :class:`Worker`: do a turn per line on the standard input."""
    turn = prepared(Path(root), Path(folder), *json.loads(work))
    print("true", flush=True)
    for _ in sys.stdin:
        before = cpu_seconds()
        result = turn()
        print(json.dumps([cpu_seconds() - before, result]), flush=True)


def prepared(root: Path, folder: Path, name: str, *arguments: Any) -> Callable:
    """Return a turn of a piece of work of a checkout."""
    sys.path[:0] = [f"{root}/workflow_scripts", f"{ROOT}/benchmarks"]
    import costs

    import ensemble_search  # noqa: F401 - from this checkout, whatever sys.path gets later

    return getattr(costs, name.replace("-", "_"))(root, folder, *arguments)


def cpu_seconds() -> float:
    """CPU seconds of this process and its child processes."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def python_of(work: tuple) -> str | None:
    """Return the Python that runs a piece of work; None if a peer is not installed."""
    from peers import NAMES

    own = NAMES[work[1]] if work[0] == "peer" else work[0]
    python = ROOT / f".venv-{own}/bin/python"
    if work[0] not in ("autogluon", "peer"):
        return sys.executable
    return (str(python) if own == "autogluon" else sys.executable) if python.exists() else None


def measure(group: str, checkouts: Mapping[str, Path]) -> dict[str, dict[str, float]]:
    """Let the works of a group take turns; return the results by checkout."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        workers: list[tuple[str, str, Worker]] = []
        for when, root in checkouts.items():
            folder = Path(name, when)
            folder.mkdir()
            for title, work in WORKS[group].items():
                if not (python := python_of(work)) or (work[0] in PEERS and when == "before"):
                    continue
                with suppress(RuntimeError) if when == "before" else nullcontext():
                    workers.append((when, title, Worker(root, folder, work, python)))
        for number in [0] if (turns := TURNS.get(group, 3)) == 1 else range(-1, turns):
            for one in list(workers):
                worker = one[2]
                try:
                    worker.turn()
                    while number >= 0 and worker.seconds[-1] < 0.1 and len(worker.seconds) % 9:
                        worker.turn()  # short work is measured nine times per turn
                except RuntimeError:
                    if one[0] == "now":
                        raise
                    workers.remove(one)
                if number < 0:
                    worker.seconds.clear()
        for when, title, worker in workers:
            found.setdefault(when, {}).update(worker.end(title))
    return found


def rows_of(group: str, found: Mapping[str, Mapping[str, float]], about: dict) -> list[dict]:
    """Return the rows of a group's figures, without those that need missing works."""
    rows = []
    for own, title, unit, value, peer, goal in FIGURES:
        row = {"group": own, "figure": title, "unit": unit, "goal": goal}
        for column, results, text in (
            ("now", found["now"], value),
            ("before", found.get("before", {}), value),
            ("peer", found["now"], peer),
        ):
            parts = [results.get(name) for name in text.split("/")]
            ratio = parts[0] / (parts[1] if parts[1:] else 1) if None not in parts else None
            row[column] = (
                "" if ratio is None else f"{float(f'{ratio * SCALES.get(unit, 1):.3g}'):g}"
            )
        if own == group and row["now"]:
            rows.append({**row, **about, "against": about["against"] if row["before"] else ""})
    return rows


def read(name: str = "figures.csv") -> list[dict[str, str]]:
    """Return the stored figures, or profiles."""
    file = FOLDER / name
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(
    figures: Iterable[Mapping[str, str]] = (), profiles: Sequence[Mapping[str, str]] = ()
) -> None:
    """Merge new figures and profiles with the stored ones; write them, and the page."""
    rows = {row["figure"]: row for row in (*read(), *figures)}
    kept = [rows[title] for _, title, *_ in FIGURES if title in rows]
    new = {row["group"] for row in profiles}
    places = [*(row for row in read("profiles.csv") if row["group"] not in new), *profiles]
    places.sort(key=lambda row: [*WORKS].index(row["group"]))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, columns, table in (
        ("figures.csv", COLUMNS, kept),
        ("profiles.csv", PROFILE, places),
    ):
        with (FOLDER / name).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
    (FOLDER / "README.md").write_text(page(kept, places), encoding="utf-8")


def met(row: Mapping[str, str]) -> str:
    """Return whether a figure meets its goal; empty if it has none."""
    if not row["goal"]:
        return ""
    sign, number, *of_peer = row["goal"].split()
    now, goal = float(row["now"]), float(number) * (float(row["peer"]) if of_peer else 1)
    return "yes" if (now <= goal if sign == "<=" else now >= goal) else "**no**"


def page(rows: Sequence[Mapping[str, str]], places: Iterable[Mapping[str, str]]) -> str:
    """Return the page for the figures and the profiles, in Markdown."""
    goals = [met(row) for row in rows if row["goal"]]
    lines = [
        "# What a search costs beside fitting pipelines",
        "",
        f"**{goals.count('yes')} of {len(goals)} goals are met**; [why not the others]"
        "(../../docs/performance.md#goals-that-are-not-met). Written by `make bench`; the figures "
        "are in `figures.csv`, the profiles in `profiles.csv`.",
        "",
        "| figure | unit | now | before | peer | goal | met | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = [row[c] for c in ("figure", "unit", "now", "before", "peer")]
        goal = row["goal"].replace("<=", "≤").replace(">=", "≥").replace("peer", "× peer")
        cells += [goal, met(row), f"`{row['commit']}`"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Where and when:", ""]
    for where in sorted({(row["date"], row["commit"], row["machine"]) for row in rows}):
        own = [row for row in rows if (row["date"], row["commit"], row["machine"]) == where]
        before = sorted({f"`{row['against']}`" for row in own if row["against"]})
        lines.append(f"- `{where[1]}`, {where[0]}: {where[2]}")
        lines[-1] += f"; before: {', '.join(before)}" * bool(before)
    lines += ["", "## Where the time goes", ""]
    lines += ["Own time by the profiler, which slows Python down; places with at least 5 %.", ""]
    lines += ["| group | work | where | commit |", "| --- | --- | --- | --- |"]
    for (group, work), own in groupby(places, key=lambda row: (row["group"], row["work"])):
        found = list(own)
        shares = ", ".join(f"{row['where']} {float(row['share']):.0%}" for row in found)
        cells = [group, f"`{work}`", shares, f"`{found[0]['commit']}`"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def describe(root: Path) -> str:
    """Return the commit of a checkout, followed by + if its code has changed since."""
    git = ["git", "-C", root]
    commit = subprocess.check_output([*git, "rev-parse", "--short=7", "HEAD"], text=True).strip()
    changed = subprocess.check_output([*git, "status", "--porcelain", "workflow_scripts"])
    return commit + "+" * bool(changed)


def machine() -> str:
    """Return the processor and the versions that figures depend on."""
    from ensemble_search.runtime import provenance

    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    lines = dict(re.findall(r"^(\S.*?)\s*: (.*)$", text, re.M))
    name = " ".join(lines.get(key, "?") for key in ("model name", "cpu family", "model"))
    return ", ".join([name, *(f"{k} {v}" for k, v in provenance.versions().items())])


def profile(group: str, about: Mapping[str, str]) -> list[dict[str, str]]:
    """Run every work of a group once more under the profiler; return where the time goes.

    There is one row per place with at least 5 % of the time. Places are modules of this project and
    other packages; functions that are not in Python count for their callers.
    """
    import costs

    rows = []
    for title, work in WORKS[group].items():
        if work[0] in PEERS:
            continue
        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as profiles:
            turn = prepared(ROOT, Path(name), *work)
            if TURNS.get(group) != 1:
                turn()
            costs.PROFILES.append(Path(profiles))
            with cProfile.Profile(time.process_time) as found:  # independent of other programs
                turn()
            costs.PROFILES.clear()
            started = [pstats.Stats(str(file)) for file in sorted(Path(profiles).iterdir())]
        seconds: Counter[str] = Counter()
        for one in started or [pstats.Stats(found)]:
            for (file, _, function), (_, _, own, _, callers) in one.stats.items():
                if file != "~":
                    seconds[place(file, function)] += own
                    continue
                for (caller, _, outer), (*_, share, _) in callers.items():
                    seconds[place(caller, outer)] += share
        total = seconds.total()
        rows += [
            {
                **{"group": group, "work": title, "where": where},
                **{"share": f"{own / total:.2f}", "commit": about["commit"]},
            }
            for where, own in seconds.most_common()
            if own >= 0.05 * total
        ]
    return rows


def place(file: str, function: str) -> str:
    """Return the module of this project or the package that a function belongs to."""
    parts = Path(file).with_suffix("").parts
    if function == "<module>" or file.startswith("<frozen importlib"):
        return "imports"
    for root in ("ensemble_search", "site-packages", "workflow_scripts", "benchmarks"):
        if root in parts[:-1]:
            inner = parts[parts.index(root) + 1 :]
            return inner[0] if root == "site-packages" else f"`{'/'.join(inner)}`"
    return f"Python's {parts[-1]}" if file != "~" else "others"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("groups", nargs="*", help=f"{', '.join(WORKS)} (default: all)")
    parser.add_argument("--against", type=Path, help="another checkout, to be measured too")
    parser.add_argument("--profile", action="store_true", help="measure where the time goes")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return be_worker(*options.work)
    if unknown := set(options.groups) - set(WORKS):
        parser.error(f"there is no group '{min(unknown)}'; known: {', '.join(WORKS)}")
    sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "benchmarks")]
    chosen = [group for group in WORKS if group in (options.groups or WORKS)]
    before = {"before": options.against.resolve()} if options.against else {}
    checkouts = {"now": ROOT, **before}
    about = {
        "commit": describe(ROOT),
        "against": "".join(map(describe, before.values())),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
    }
    for group in chosen:
        if options.profile:
            write(profiles=profile(group, about))
            continue
        rows = rows_of(group, measure(group, checkouts), about)
        write(rows)
        for row in rows:
            print(*(f"{row[column]}" for column in COLUMNS[1:7]), sep="  ", flush=True)


if __name__ == "__main__":
    main()
