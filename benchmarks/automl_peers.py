"""Compare `make ensemble` with AutoGluon and FLAML, with equal CPU time, tested on held-out rows.

    make autogluon    # environments of their own
    make peers
    make bench-automl REGRESSIONS=folder
    python benchmarks/automl_peers.py --sets diabetes wind    # some data sets only

A random fifth of the rows is held out, in one to three splits. Every system gets the other rows as
a CSV file, one thread, and a metric: in classifications first the error, then the log loss, each
compared only among fits that minimise it. Everything else is its own default. The search of `make
ensemble` has :data:`SEARCH` seconds; its total time, from the file to the delivered ensemble, is
the limit of the others on this split. All times are CPU times: the clock by which a system keeps
its limit is replaced by the CPU seconds of its processes, so that other work on the machine costs
it nothing. (Only FLAML's logistic regression has an alarm of wall-clock time.)

The CPU time of a system is user and system time of its process and all descendants
(`RUSAGE_CHILDREN` of a process that adopts orphans), from its start to the fitted model.

One row per system, data set, split and metric is appended to evidence/automl/runs.csv, from which
the page is made. Existing rows are not run again, so the command resumes after an interruption.
"""

import argparse
import csv
import ctypes
import datetime
import itertools
import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "workflow_scripts"
FOLDER = ROOT / "evidence" / "automl"
sys.path.insert(0, str(SCRIPTS))

#: Tables with 500 to 40,000 rows and at least eight features; none occurs twice with different
#: targets, and only one per number of rows (the lowest id, or the first readable name). Of these,
#: eight classifications and four regressions, with ranks by number of rows that are evenly spaced.
#: Chosen before any result; run in this order.
SETS: dict[str, dict] = {
    "diabetes": {"openml": 37},
    "housing": {"file": "housing.arff", "target": "class"},
    "satimage": {"openml": 182},
    "cal_housing": {"file": "cal_housing.arff", "target": "medianHouseValue"},
    "spambase": {"openml": 44},
    "eeg-eye-state": {"openml": 1471},
    "stock": {"file": "stock.arff", "target": "company10"},
    "house_8L": {"openml": 843},
    "wind": {"openml": 847},
    "bank8FM": {"file": "bank8FM.arff", "target": "rej"},
    "pol": {"openml": 722},
    "elevators": {"openml": 846},
}
OWN = "make ensemble"
#: Name of the environment, package and preset, by title.
PEERS = {
    "AutoGluon good_quality": ("autogluon", "autogluon.tabular", "good_quality"),
    "FLAML": ("flaml", "FLAML", ""),
    "AutoGluon best_quality": ("autogluon", "autogluon.tabular", "best_quality"),
}
#: Systems that complete all data sets of a split before the others begin.
FIRST = (OWN, *tuple(PEERS)[:2])
#: CPU seconds of the search of `make ensemble`, about two thirds of its total time here.
SEARCH = 40.0
#: Relative difference of CPU times from those of `make ensemble` up to which they count as equal.
EQUAL = 0.2
TEST_SHARE, SPLITS = 0.2, 3
TARGET, LEVEL = "target", 0.95
MEASURES = {"error": "error, %", "log_loss": "log loss", "rmse": "RMSE"}
#: The metric of `make ensemble` that a system minimises for each measure, and its names elsewhere.
METRICS = {"error": "error", "log_loss": "log-loss", "rmse": "squared-error"}
AUTOGLUON = {
    "error": "accuracy",
    "log-loss": "log_loss",
    "squared-error": "root_mean_squared_error",
}
FLAML = {"error": "accuracy", "log-loss": "log_loss", "squared-error": "rmse"}
#: Decimals of differences; smaller differences count as equal.
DIGITS = 9
COLUMNS = (
    *(
        "system",
        "dataset",
        "split",
        "metric",
        "version",
        "train_rows",
        "test_rows",
        "features",
        "classes",
    ),
    *("limit_cpu_seconds", "cpu_seconds", "wall_seconds", "models"),
    *("error", "log_loss", "rmse", "failure", "commit", "date", "machine"),
)
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def main() -> None:
    """Run what is missing, and write rows and page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--regressions",
        type=Path,
        help="folder with housing.arff, stock.arff, bank8FM.arff and cal_housing.arff, of Luis "
        "Torgo's collection (default: no regressions)",
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="data sets")
    parser.add_argument("--splits", type=int, default=1, help=f"1 to {SPLITS} (1)")
    parser.add_argument("--systems", nargs="+", choices=[OWN, *PEERS], default=[OWN, *PEERS])
    parser.add_argument("--task", help=argparse.SUPPRESS)  # run as the process of a system
    options = parser.parse_args()
    if options.task:
        task = json.loads(options.task)
        (own if task["system"] == OWN else peer)(task)
        return
    if not 1 <= options.splits <= SPLITS:
        parser.error(f"--splits: {options.splits} is not between 1 and {SPLITS}")
    names = [n for n in options.sets if options.regressions or "openml" in SETS[n]]
    systems = [s for s in options.systems if python_of(s).exists()]
    for system in sorted({*options.systems} - {*systems}):
        print(f"{system}: not installed; run make autogluon, make peers", file=sys.stderr)
    rows = read()
    done = {(row["system"], row["dataset"], int(row["split"]), row["metric"]) for row in rows}
    groups = FIRST, set(PEERS) - set(FIRST)
    for split, group, name in itertools.product(range(options.splits), groups, names):
        for metric, system in itertools.product(metrics(name), filter(group.__contains__, systems)):
            if (system, name, split, metric) in done:
                continue
            rows.append(run(system, name, split, metric, options.regressions, rows))
            write(rows)
            print(*rows[-1].values(), sep="  ", flush=True)
    write(rows)


def metrics(name: str) -> tuple[str, ...]:
    """Return the metrics that systems minimise on a data set."""
    return ("error", "log-loss") if "openml" in SETS[name] else ("squared-error",)


def python_of(system: str) -> Path:
    """Return the Python that runs a system."""
    return Path(sys.executable) if system == OWN else ROOT / f".venv-{PEERS[system][0]}/bin/python"


# Running ------------------------------------------------------------------------------------------


def run(
    system: str,
    name: str,
    split: int,
    metric: str,
    regressions: Path | None,
    rows: Sequence[Mapping[str, str]],
) -> dict[str, str]:
    """Fit a system to a split of a data set by a metric; return its row."""
    from suite import describe, machine

    limit = SEARCH
    if system != OWN:
        key = {"system": OWN, "dataset": name, "split": str(split), "metric": metric}
        ours = [row for row in rows if key.items() <= row.items()]
        if not ours:
            raise SystemExit(f"{system} needs the CPU time of {OWN} on {name}: run that first")
        limit = float(ours[0]["cpu_seconds"])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        about = prepare(name, split, regressions, Path(folder))
        task = {"system": system, "metric": metric, "limit": limit}
        command = [str(python_of(system)), __file__, "--task", json.dumps(task)]
        with Path(folder, "log.txt").open("w+", encoding="utf-8") as log:
            cpu, wall, status = measured(command, Path(folder), log)
            log.seek(0)
            said = [line for line in log.read().splitlines() if line.strip()]
        result: dict[str, object] = {"failure": "", "version": "", "models": ""}
        if status < 0 or status >= 128:  # ended by a signal
            raise SystemExit(f"{system} on {name} was stopped; the same command continues")
        if status:
            sys.stderr.write("\n".join(["", *said[-40:], ""]))
            result["failure"] = said[-1][:200] if said else f"exit status {status}"
        else:
            result |= json.loads(Path(folder, "result.json").read_text(encoding="utf-8"))
            result |= losses(Path(folder), about["classes"])
        cpu -= float(result.pop("predicting", 0))
    where = {"commit": describe(ROOT), "date": datetime.date.today().isoformat()}
    about["classes"] = len(about["classes"]) or ""
    row: dict[str, object] = {
        "system": system, "dataset": name, "split": split, "metric": metric,
        **about, **result, **where,
        "limit_cpu_seconds": f"{limit:.1f}", "cpu_seconds": f"{cpu:.1f}",
        "wall_seconds": f"{wall:.0f}", "machine": machine(),
    }  # fmt: skip
    return {column: str(row.get(column, "")) for column in COLUMNS}


def prepare(name: str, split: int, regressions: Path | None, folder: Path) -> dict:
    """Write train.csv and test.csv; return the numbers of rows and features, and the classes."""
    from sklearn.model_selection import train_test_split

    from ensemble_search.data import sources

    source = dict(SETS[name])
    if "file" in source:
        source["file"] = str(regressions / source["file"])
    raw = sources.read(source)
    frame = raw.frame.rename(columns={raw.target: TARGET})
    classes: list[str] = []
    if "openml" in source:
        # As text, so that no system treats class codes as numbers.
        frame[TARGET] = "class " + frame[TARGET].astype(str)
        classes = sorted(frame[TARGET].unique())
    train, test = train_test_split(
        frame, test_size=TEST_SHARE, random_state=split, stratify=frame[TARGET] if classes else None
    )
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    counts = {"train_rows": len(train), "test_rows": len(test), "features": frame.shape[1] - 1}
    return {**counts, "classes": classes}


def measured(command: Sequence[str], folder: Path, log) -> tuple[float, float, int]:
    """Run a command on one thread; return CPU seconds, wall-clock seconds and exit status.

    CPU seconds include all descendants: orphans become children of this process, which waits for
    them, too.
    """
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # The peers' packages were compiled on installation; ours is compiled on first use.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, start = used(resource.RUSAGE_CHILDREN), time.perf_counter()
    status = subprocess.run(
        command, cwd=folder, env=environment | threads, stdout=log, stderr=subprocess.STDOUT,
        check=False,
    ).returncode  # fmt: skip
    with suppress(ChildProcessError):
        while True:
            os.wait()
    return used(resource.RUSAGE_CHILDREN) - before, time.perf_counter() - start, status


def used(who: int) -> float:
    """CPU seconds of this process, or of its ended children and their descendants."""
    found = resource.getrusage(who)
    return found.ru_utime + found.ru_stime


def cpu_seconds() -> float:
    """CPU seconds of this process and of its ended descendants."""
    return used(resource.RUSAGE_SELF) + used(resource.RUSAGE_CHILDREN)


def cpu_seconds_of_all() -> float:
    """CPU seconds of this process and of all descendants, including running ones."""
    spent, left = cpu_seconds(), _children("self")
    while left:
        pid = left.pop()
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2]
            # utime, stime, cutime, cstime; proc(5) counts them from 14: from 1, plus 2 cut fields
            spent += sum(map(int, fields.split()[11:15])) / os.sysconf("SC_CLK_TCK")
            left += _children(pid)
    return spent


def _children(pid: str) -> list[str]:
    """Return the children of a process without scanning all processes: the clock needs speed."""
    return [
        child
        for file in Path(f"/proc/{pid}/task").glob("*/children")
        for child in file.read_text(encoding="utf-8").split()
    ]


def own(task: dict) -> None:
    """Run as `make ensemble`, with minutes of CPU time, and predict."""
    name = "table"
    time.monotonic = never_back(cpu_seconds_of_all)
    sys.argv = [
        "automl.py", "--data", "train.csv", "--target", TARGET, "--name", name, "--cores", "1",
        "--minutes", str(task["limit"] / 60), "--metric", task["metric"],
    ]  # fmt: skip
    runpy.run_path(str(SCRIPTS / "automl.py"), run_name="__main__")
    before = cpu_seconds()
    model = Path("results", name, "delivered", name, "DivBO")
    predict = [sys.executable, SCRIPTS / "predict.py", "--model", model, "--input", "test.csv"]
    subprocess.run([*map(str, predict), "--output", "predictions.csv"], check=True)
    searched = json.loads(next(Path("results").rglob("search.json")).read_text(encoding="utf-8"))
    result = {"models": searched["evaluations"], "version": "this commit"}
    result["predicting"] = cpu_seconds() - before
    Path("result.json").write_text(json.dumps(result), encoding="utf-8")


def peer(task: dict) -> None:
    """Run as another system, with a limit of CPU time, and predict."""
    start = time.time()
    time.time = lambda: start + cpu_seconds()  # neither system starts processes
    import pandas as pd

    train, test = (pd.read_csv(f"{part}.csv") for part in ("train", "test"))
    X = test.drop(columns=TARGET)
    _, package, preset = PEERS[task["system"]]
    fitted, models = (autogluon if preset else flaml)(train, task["metric"], preset, task["limit"])
    before = cpu_seconds()
    found = pd.DataFrame({TARGET: fitted.predict(X)})
    if task["metric"] != METRICS["rmse"]:
        for label, column in probabilities(fitted, X):
            found[f"probability of {label}"] = column
    found.to_csv("predictions.csv", index=False)
    result = {"models": models(), "version": version(package)}
    result["predicting"] = cpu_seconds() - before
    Path("result.json").write_text(json.dumps(result), encoding="utf-8")


def autogluon(train, metric: str, preset: str, limit: float):
    """Fit AutoGluon; return it, and a function that counts its models."""
    from autogluon.tabular import TabularPredictor

    task = {"problem_type": "regression"} if metric == METRICS["rmse"] else {}
    predictor = TabularPredictor(TARGET, path="models", eval_metric=AUTOGLUON[metric], **task)
    left = limit - cpu_seconds()
    predictor.fit(train, time_limit=left, presets=preset, num_cpus=1, num_gpus=0)
    return predictor, lambda: len(predictor.model_names())


def flaml(train, metric: str, preset: str, limit: float):
    """Fit FLAML; return it, and a function that counts its models."""
    from flaml import AutoML

    automl = AutoML()
    automl.fit(
        train.drop(columns=TARGET), train[TARGET], n_jobs=1,
        log_file_name="flaml.log", log_type="all", time_budget=limit - cpu_seconds(),
        task="regression" if metric == METRICS["rmse"] else "classification",
        metric=FLAML[metric],
    )  # fmt: skip
    log = Path("flaml.log").read_text(encoding="utf-8").splitlines()
    return automl, lambda: sum("record_id" in line for line in log)


def probabilities(fitted, X):
    """Yield classes and their probabilities."""
    found = fitted.predict_proba(X)
    labels = found.columns if hasattr(found, "columns") else fitted.classes_
    yield from zip(labels, np.asarray(found).T, strict=True)


def never_back(clock: Callable[[], float]) -> Callable[[], float]:
    """Make a clock monotonic: an ended child's seconds are missing until its parent has waited."""
    latest = 0.0

    def read() -> float:
        nonlocal latest
        latest = max(latest, clock())
        return latest

    return read


def losses(folder: Path, classes: Sequence[str]) -> dict[str, str]:
    """Return the losses of predictions.csv on test.csv."""
    import pandas as pd
    from sklearn.metrics import log_loss, root_mean_squared_error

    true, found = (pd.read_csv(folder / f"{name}.csv") for name in ("test", "predictions"))
    if not classes:
        return {"rmse": f"{root_mean_squared_error(true[TARGET], found[TARGET]):.6g}"}
    p = found[[f"probability of {label}" for label in classes]].to_numpy(float)
    loss = log_loss(true[TARGET], p / p.sum(axis=1, keepdims=True), labels=classes)
    error = (true[TARGET] != found[TARGET]).mean()
    return {"error": f"{error:.6f}", "log_loss": f"{loss:.6f}"}


# Rows and page ------------------------------------------------------------------------------------


def read() -> list[dict[str, str]]:
    """Return the stored rows."""
    file = FOLDER / "runs.csv"
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(rows: Sequence[Mapping[str, str]]) -> None:
    """Write the rows and the page."""
    from ensemble_search.runtime.files import atomic

    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        atomic(FOLDER / "runs.csv") as temporary,
        temporary.open("w", encoding="utf-8", newline="") as stream,
    ):
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with atomic(FOLDER / "README.md") as temporary:
        temporary.write_text(page(rows), encoding="utf-8")


def page(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the page for the rows, in Markdown."""
    total = sum(len(metrics(name)) for name in SETS) * (len(PEERS) + 1) * SPLITS
    finished = [row for row in rows if not row["failure"]]
    sets = {row["dataset"] for row in rows}
    splits = {row["split"] for row in rows}
    lines = [
        "# `make ensemble` beside AutoGluon and FLAML",
        "",
        f"**{len(rows)} of {total} fits**, of {len(sets)} of {len(SETS)} data sets and "
        f"{len(splits)} of {SPLITS} splits, {len(rows) - len(finished)} failed. Written by `make "
        "bench-automl`; the rows are in `runs.csv`.",
        "",
        "Every system gets four fifths of the rows as a CSV file, one thread, a metric, and equal "
        "**CPU seconds**: user and system time of all its processes, from their start to the "
        "fitted model. All else is its default. Errors are of fits that minimise the error, log "
        "losses of other fits that minimise the log loss, RMSE of fits by the squared error.",
        "",
        "## In short",
        "",
        *(f"- {sentence}" for sentence in verdicts(rows)),
        "",
        "## CPU time",
        "",
        f"The search of `make ensemble` has {SEARCH:g} seconds; what it takes with all else, from "
        "reading the table to the card, is the limit of the others. All limits are of CPU time: "
        "the clock that a system reads counts the CPU seconds of its processes. The ratio is of "
        "CPU seconds to those of `make ensemble` on the same split by the same metric.",
        "",
        "| system | version | fits | CPU seconds, median (range) | ratio, median (range) "
        f"| within {EQUAL:.0%} | models, median |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for system in (OWN, *PEERS):
        if own_rows := [row for row in finished if row["system"] == system]:
            seconds = [float(row["cpu_seconds"]) for row in own_rows]
            ratios = cpu_ratios(rows, system)
            near = sum(abs(ratio - 1) <= EQUAL for ratio in ratios)
            which = "commit" if system == OWN else "version"
            versions = ", ".join(sorted({row[which] for row in own_rows}))
            models = np.median([float(row["models"]) for row in own_rows])
            cells = (
                f"{system} | {versions} | {len(own_rows)} | {spread(seconds, '.0f')} | "
                f"{spread(ratios, '.2f')} | {near} of {len(ratios)} | {models:.0f}"
            )
            lines.append(f"| {cells} |")
    lines += [
        "",
        "Models are pipelines evaluated, configurations tried (FLAML), or bagged models, stacked "
        "ones and ensembles included (AutoGluon, without neural networks: PyTorch is not "
        "installed, nor is Ray).",
        "",
        "## Differences",
        "",
        f"Mean over data sets of the paired differences (`make ensemble` minus the other; below 0 "
        f"is better), or, of the RMSE, geometric mean of the ratios (below 1 is better), with "
        f"{LEVEL:.0%} intervals of Student's t over data sets. Of several splits the mean is taken "
        "first. Better, equal and worse are counts of data sets. Intervals are not adjusted for "
        "their number: of twenty without a difference, one would leave out 0 by chance.",
        "",
        "| beside | measure | data sets | mean | interval | better / equal / worse |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for measure, title in MEASURES.items():
        for peer_name in PEERS:
            if found := differences(rows, peer_name, measure):
                mean, low, high = (shown(measure, value) for value in interval(found))
                between = f"[{low}, {high}]" if len(found) > 1 else "of one: none"
                signs = [int(np.sign(round(d, DIGITS))) for d in found.values()]
                counts = " / ".join(str(signs.count(sign)) for sign in (-1, 0, 1))
                lines.append(
                    f"| {peer_name} | {title} | {len(found)} | {mean} | {between} | {counts} |"
                )
    lines += [
        "",
        "## Data sets",
        "",
        f"Means over splits; in parentheses CPU seconds, and the number of splits if `{OWN}` has "
        "more.",
        "",
        f"| data set | rows | measure | {' | '.join((OWN, *PEERS))} |",
        f"| --- | --- | --- |{' --- |' * (1 + len(PEERS))}",
    ]
    for name in sorted(sets, key=list(SETS).index):
        for measure, title in MEASURES.items():
            means = {s: mean_of(finished, s, name, measure) for s in (OWN, *PEERS)}
            if any(means.values()):
                size = next(row for row in rows if row["dataset"] == name)
                count = int(size["train_rows"]) + int(size["test_rows"])
                cells = " | ".join(means.values())
                lines.append(f"| {name} | {count} | {title} | {cells} |")
    lines += [
        "",
        "## What this cannot show",
        "",
        "- Splits share rows, and one split is one draw: intervals are over data sets, of which "
        "there are few. The four regressions decide little by themselves, and on the smallest "
        "sets, with a hundred test rows, a point of the error is one row.",
        "- The data sets were chosen by a rule before any result (`benchmarks/automl_peers.py`): "
        "tables with 500 to 40,000 rows, at least eight features, hardly any categories or missing "
        "values. About others it says nothing.",
        "- A minute on one thread is short; presets of AutoGluon are made for an hour. With more "
        "time the order may be another.",
        "- AutoGluon has no neural networks here, for which it needs PyTorch, and fits folds one "
        "after the other.",
        "- The space of `make ensemble` was given networks, scaled features and a LightGBM with "
        "fewer leaves after a look at the first results on several of these data sets, the first "
        "of which was elevators. Results here are not independent of that choice.",
        "- `make ensemble` also tests, calibrates and describes its ensemble within its time. "
        "AutoGluon's refit, after its limit, is counted, too; predictions are not.",
        "- CPU seconds on a machine with other work are longer than on an idle one, for all "
        "systems alike.",
        "",
        "Where and when:",
        "",
    ]
    for where in sorted({(row["date"], row["commit"], row["machine"]) for row in rows}):
        lines.append(f"- `{where[1]}`, {where[0]}: {where[2]}")
    return "\n".join([*lines, ""])


def verdicts(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a sentence per other system and measure."""
    sentences = []
    for measure, title in MEASURES.items():
        for name in PEERS:
            found = differences(rows, name, measure)
            if len(found) < 2:
                continue
            mean, low, high = interval(found)
            verdict = "not significantly different from"
            if low > 0 or high < 0:
                verdict = "**worse** than" if low > 0 else "**better** than"
            side = f"{shown(measure, mean)} [{shown(measure, low)}, {shown(measure, high)}]"
            behind = [n for n in found if round(found[n], DIGITS) > 0]
            behind.sort(key=found.__getitem__, reverse=True)
            where = f"; behind on {', '.join(behind)}" if behind else ""
            sentences.append(
                f"{title}: `make ensemble` is {verdict} {name} on {len(found)} data sets, "
                f"{side}{where}."
            )
    return sentences or ["Too few data sets are finished to compare."]


def differences(rows: Sequence[Mapping[str, str]], system: str, measure: str) -> dict[str, float]:
    """Return mean differences by data set, `make ensemble` minus another (logarithms for RMSE)."""
    values = {
        (row["system"], row["dataset"], row["split"]): float(row[measure])
        for row in rows
        if row[measure] and row["metric"] == METRICS[measure]
    }
    found: dict[str, list[float]] = {}
    for (name, dataset, split), theirs in values.items():
        ours = values.get((OWN, dataset, split))
        if name == system and ours is not None:
            difference = np.log(ours / theirs) if measure == "rmse" else ours - theirs
            found.setdefault(dataset, []).append(float(difference))
    return {dataset: float(np.mean(each)) for dataset, each in found.items()}


def interval(found: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the mean over data sets and its Student's t interval; NaN for a single one."""
    from scipy.special import stdtrit

    values = np.array([*found.values()])
    n, half = len(values), np.nan
    if n > 1:
        half = stdtrit(n - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(n)
    return values.mean(), values.mean() - half, values.mean() + half


def shown(measure: str, difference: float) -> str:
    """Write a difference: points for the error, a ratio for RMSE, otherwise unchanged."""
    if measure == "rmse":
        return f"{np.exp(difference):.3f}"
    return f"{100 * difference:+.2f}" if measure == "error" else f"{difference:+.4f}"


def cpu_ratios(rows: Sequence[Mapping[str, str]], system: str) -> list[float]:
    """Return CPU seconds relative to those of `make ensemble`, per data set, split and metric."""
    spent = {
        (row["system"], row["dataset"], row["split"], row["metric"]): float(row["cpu_seconds"])
        for row in rows
        if not row["failure"]
    }
    return [
        seconds / spent[OWN, *fit]
        for (name, *fit), seconds in spent.items()
        if name == system and (OWN, *fit) in spent
    ]


def mean_of(rows: Sequence[Mapping[str, str]], system: str, name: str, measure: str) -> str:
    """Write a mean loss and the mean CPU seconds; empty if there are none."""
    key = {"dataset": name, "metric": METRICS[measure]}
    fits = [row for row in rows if key.items() <= row.items() and row[measure]]
    found = [row for row in fits if row["system"] == system]
    if not found:
        return ""
    loss = np.mean([float(row[measure]) for row in found])
    text = f"{100 * loss:.2f}" if measure == "error" else f"{loss:.4g}"
    lacks = len(found) < sum(row["system"] == OWN for row in fits)
    splits = f"; {len(found)} split{'s' * (len(found) > 1)}" * lacks
    return f"{text} ({np.mean([float(row['cpu_seconds']) for row in found]):.0f}{splits})"


def spread(values: Sequence[float], how: str) -> str:
    """Write the median and the range."""
    if not values:
        return ""
    return f"{np.median(values):{how}} ({min(values):{how}} to {max(values):{how}})"


if __name__ == "__main__":
    from ensemble_search.runtime import errors

    errors.run(main)
