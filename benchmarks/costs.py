"""Work measured by benchmarks/suite.py: each function prepares a piece of work, returns a turn.

The first parameter is the checkout to measure, the second a folder for files that works share. A
turn may return figures of its own by name; the suite measures CPU seconds. Turns that start
processes profile these, too, if :data:`PROFILES` names a folder.
"""

import heapq
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

ROOT = Path(__file__).parents[1]
EVALUATIONS, MEMBERS, TURNS = 250, 25, 16
#: Configurations of the table that is replayed, and evaluations of the search.
TABLED, REPLAYED = 1000, 200
#: Folders for profiles of the processes that turns start.
PROFILES: list[Path] = []
#: Words of a dry run of the paper's study; tests ask for fewer repeats.
DRY_RUN: list[Any] = ["-m", "snakemake", "-n", "--quiet", "--cores", 2]


def started(root: Path, *words: Any, cwd: Path | None = None) -> str:
    """Run Python in its own process; return its output."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{root}/workflow_scripts"}
    profiles = [f"{folder}/{time.perf_counter_ns()}" for folder in PROFILES]
    profiled = [word for name in profiles for word in ("-m", "cProfile", "-o", name)]
    command = [sys.executable, *profiled, *map(str, words)]
    done = subprocess.run(
        command, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stdout[-3000:]}")
    return done.stdout


def made_history(space, size: int, rows: int, classes: int):
    """Make a history of random configurations, one in ten of which failed.

    Predictions depend on the encoded configuration; no model is fitted.
    """
    from ensemble_search.optimizers.base import History, Observation

    rng = np.random.default_rng(0)
    configurations = space.sample(size, rng)
    vectors = space.encode(configurations)
    hidden = np.tanh(vectors @ rng.normal(size=(vectors.shape[1], 6)) / 3)
    weights = rng.normal(size=(6, rows * classes))
    labels = rng.integers(classes, size=rows)
    observations = []
    for i, configuration in enumerate(configurations):
        if i % 10 == 9:
            observations.append(Observation(configuration, "timeout", float("nan"), None))
            continue
        logits = (hidden[i] @ weights).reshape(rows, classes)
        logits[np.arange(rows), labels] += 1
        odds = np.exp(logits)
        p = odds / odds.sum(axis=1, keepdims=True)
        error = float((p.argmax(axis=1) != labels).mean())
        observations.append(Observation(configuration, "ok", error, p.astype(np.float32)))
    return History(space, labels, tuple(observations))


def suggestion(
    root: Path,
    folder: Path,
    name: str,
    size: int,
    settings: dict[str, Any],
    space: str = "divbo",
    rows: int = 1000,
    classes: int = 2,
    resumed: bool = False,
) -> Callable:
    """Suggest when the last evaluation is new, or, as after a resume, when all are."""
    from ensemble_search.optimizers.base import History
    from ensemble_search.runtime import plugins

    made = plugins.load("optimizers", name)
    if "diversity_surrogate" not in made.model_fields and "diversity_surrogate" in settings:
        settings = {**settings, "surrogate": settings["diversity_surrogate"]}  # an older name
        del settings["diversity_surrogate"]
    optimizer = made(**settings)
    history = made_history(plugins.load("spaces", space)(), size, rows, classes)

    def turn() -> None:
        observations = list(history.observations)
        for i in history.ok if resumed else history.ok[-1:]:  # new arrays are not cached
            old = observations[i]
            observations[i] = replace(old, prediction=old.prediction.view())
        found = History(history.space, history.labels, tuple(observations))
        optimizer.suggest(found, np.random.default_rng(size))

    return turn


def peer(root: Path, folder: Path, name: str, size: int) -> Callable:
    """Request a suggestion from another project's search, which has its own environment."""
    import peers
    from objectives import Synthetic

    from ensemble_search.optimizers.base import History
    from ensemble_search.search.observe import observation

    problem = Synthetic("ordinary", 0)
    history = History(problem.space, problem.labels)

    def turn() -> float:
        nonlocal history
        configuration, seconds = suggest(history)
        outcome = problem.evaluate(configuration)
        new = observation(configuration, outcome.status, outcome.error, outcome.validation)
        history = replace(history, observations=(*history.observations, new))
        return seconds

    with peers.Peer(name, ROOT, EVALUATIONS).suggester(problem, 0) as suggest:
        seconds = [turn() for _ in range(size)]
    # SMAC3 fits its forest on every eighth ask.
    return lambda: {"asked": float(np.mean(seconds[-TURNS:]))}


def read_pool(folder: Path, rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions of models, of shape (n, rows, classes), and labels; computed once.

    The models share most of their mistakes, so errors tie.
    """
    from ensemble_search.problems.classification import CLASSIFICATION

    file = folder / f"pool-{rows}-{classes}.npy"
    rng = np.random.default_rng([rows, classes])
    labels = rng.integers(0, classes, rows)
    if not file.exists():
        common = rng.standard_normal((rows, classes), np.float32)
        common[np.arange(rows), labels] += 1.2
        predictions = np.empty((EVALUATIONS, rows, classes - (classes == 2)), np.float32)
        for model in predictions:
            noise = rng.choice(np.float32([0.3, 1, 2])) * rng.standard_normal(common.shape, "f4")
            odds = np.exp((common + noise) * rng.choice(np.float32([0.5, 2, 4])))
            model[:] = (odds / odds.sum(axis=1, keepdims=True))[:, -model.shape[1] :]
        np.save(file, predictions)
    return CLASSIFICATION.expand(np.load(file)), labels


def selection(root: Path, folder: Path, rows: int, classes: int, metric: str) -> Callable:
    """Select from the predictions of a history, as DivBO does after every evaluation."""
    from ensemble_search.ensembles.selection import select
    from ensemble_search.runtime import plugins

    predictions, labels = read_pool(folder, rows, classes)
    loss = plugins.load("metrics", metric)()

    def turn() -> dict[str, Any]:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # reset the peak
        before = memory("VmRSS")
        chosen = select(predictions, labels, MEMBERS, metric=loss)
        peak = 1 + (memory("VmHWM") - before) / predictions.nbytes
        return {"members": chosen.indices.tolist(), "memory": peak}

    return turn


def memory(key: str) -> int:
    """Read a line of this process's status in bytes: VmRSS, or VmHWM, its peak."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(rf"{key}:\s+(\d+) kB", status)[1])


def plain(root: Path, folder: Path, rows: int, metric: str) -> Callable:
    """Select for two classes in plain NumPy: all models in every round, over whole arrays."""
    from ensemble_search.problems.combination import rounded

    predictions, labels = read_pool(folder, rows, 2)
    ones = rounded(predictions)[:, :, 1].astype(float)
    truths = np.where(labels, ones, 1 - ones)
    losses = {
        "error": lambda p: ((p > 0.5) != labels).mean(axis=1),
        "log-loss": lambda p: -np.log(np.maximum(p, 2.0**-23)).mean(axis=1),
        "brier": lambda p: np.square(1 - p).mean(axis=1),
    }
    used = ones if metric == "error" else truths

    def turn() -> dict[str, Any]:
        total, path = np.zeros(rows), []
        for number in range(1, MEMBERS + 1):
            found = losses[metric]((total + used) / number)
            draws = np.random.default_rng([0, number]).random(len(used))
            path.append(int(np.lexsort((draws, found))[0]))
            total += used[path[-1]]
        return {"members": sorted(set(path))}

    return turn


def autogluon(root: Path, folder: Path, rows: int) -> Callable:
    """Select with AutoGluon; this runs in its environment."""
    from autogluon.core.metrics import accuracy
    from autogluon.core.models.greedy_ensemble.ensemble_selection import EnsembleSelection

    predictions = np.load(folder / f"pool-{rows}-2.npy")
    labels = np.random.default_rng([rows, 2]).integers(0, 2, rows)  # the same as in read_pool

    def turn() -> None:
        made = EnsembleSelection(MEMBERS, "binary", accuracy, random_state=np.random)
        made.fit(list(predictions[:, :, 0]), labels)

    return turn


@dataclass
class MadeUp:
    """An evaluator with made-up predictions better than chance; it fits nothing."""

    labels: Sequence[np.ndarray]
    classes: int
    failing: int
    made = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def evaluate(self, values, fidelity=1.0):
        """Predict, or fail at every evaluation of that number."""
        from ensemble_search.evaluation.base import Evaluation

        self.made += 1
        if self.failing and self.made % self.failing == 0:
            return Evaluation("crash", None, None, 1.0, 1.0, None, 1.0, "ValueError", "")
        parts, rng = [], np.random.default_rng(self.made)
        for own in self.labels:
            p = rng.random((len(own), self.classes), dtype=np.float32)
            p[np.arange(len(own)), own] += 0.5
            parts.append(p / p.sum(axis=1, keepdims=True))
        return Evaluation("ok", *parts, 1.0, 1.0, 0.1, 1.0, None, None)


JOB = {
    **{"dataset": "made", "search": "random", "repeat": 0, "seed": 0, "space": "divbo"},
    **{"metric": "error", "limits": {"seconds": 60, "memory_mb": 4096}},
    "optimizer": {"optimizer": "random"},
}


def made_split(folder: Path, rows: int, classes: int) -> Path:
    """Write a split of a made-up table, once; a fifth each for validation and test."""
    import pandas as pd
    from random_configurations import make_inputs

    split = folder / f"split-{rows}-{classes}"
    if not split.exists():
        rng = np.random.default_rng(0)
        table = pd.DataFrame(rng.normal(size=(rows, 10)), columns=list("abcdefghij"))
        table["y"] = [f"c{code}" for code in rng.integers(classes, size=rows)]
        table.to_csv(folder / "made.csv", index=False)
        make_inputs(f"file={folder / 'made.csv'},target=y", split)
    return split


def made_search(split: Path, output: Path, evaluations: int, failing: int = 0) -> None:
    """Write a search of made-up evaluations to ``output/search``, with its journals."""
    from ensemble_search.data.split import load_inputs
    from ensemble_search.search.run import run_job

    inputs = load_inputs(split / "inputs.npz")
    labels = inputs.y_validation, np.load(split / "test_labels.npy")
    evaluator = MadeUp(labels, len(inputs.classes), failing)
    job = {**JOB, "budget": {"evaluations": evaluations}}
    places = split, output / "journals", output / "search"
    with redirect_stderr(StringIO()):
        run_job(job, *places, make_evaluator=lambda *arguments: evaluator)


def storage(root: Path, folder: Path) -> Callable:
    """Run a search in which one evaluation in ten fails, and measure what it stores."""
    split = made_split(folder, 1800, 10)

    def turn() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as name:
            made_search(split, Path(name), EVALUATIONS, failing=10)
            found = {f.stat().st_ino: f.stat().st_blocks for f in Path(name).rglob("*")}
            return {"bytes": 512 * sum(found.values())}

    return turn


def ensemble_job(root: Path, folder: Path, rows: int, classes: int) -> Callable:
    """Build ensembles in jobs; return their largest peak, and what rules/ensemble.smk requests."""
    split, search = made_split(folder, rows, classes), folder / f"made-{rows}-{classes}"
    made_search(split, search, EVALUATIONS)
    files = [*(search / "search").glob("*.*"), *split.glob("*.*")]
    asked = 1000 + 2 * sum(f.stat().st_size for f in files) / 1e6
    # `wait4` would return the peak of the parent.
    run = (
        "import re, runpy, sys; sys.argv[:1] = []; runpy.run_path(sys.argv[0], run_name='__main__')"
        "; print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )

    def turn() -> dict[str, float]:
        peaks = []
        for metric in ("error", "log-loss", "brier"):
            settings = json.dumps({"type": "selection", "size": MEMBERS, "metric": metric})
            words = ["-c", run, root / "workflow_scripts/ensemble.py", "--settings", settings]
            words += ["--search", search / "search", "--split", split]
            said = started(root, *words, "--output", search / "ensemble")
            peaks.append(int(said.split()[-1]) / 1000)
        return {"peak": max(peaks), "asked": asked}

    return turn


def replay(root: Path, folder: Path) -> Callable:
    """Replay a BO search on a table of configurations, in its own process."""
    from ensemble_search.results import tables

    split = made_split(folder, 3600, 2)
    made_search(split, folder / "tabled", TABLED)
    tables.build([folder / "tabled/search"], folder / "table")
    job = {
        **JOB,
        "search": "bo",
        "budget": {"evaluations": REPLAYED},
        "optimizer": {"optimizer": "bo"},
    }

    def turn() -> None:
        with tempfile.TemporaryDirectory() as name:
            words = [root / "workflow_scripts/search.py", "--job", json.dumps(job)]
            words += ["--split", split, "--table", folder / "table"]
            started(root, *words, "--checkpoints", f"{name}/c", "--output", f"{name}/o")

    return turn


FIRST_SUGGESTION = """
import json, sys
from pathlib import Path
from search import run_job

class Evaluator:
    __init__ = __exit__ = lambda *arguments: None
    __enter__ = lambda self: self
    evaluate = lambda *arguments: sys.exit()

job, *folders = sys.argv[1:]
run_job(json.loads(job), *map(Path, folders), make_evaluator=Evaluator)
"""


def start(root: Path, folder: Path) -> Callable:
    """Start a search in a new process, which ends at its first suggestion."""
    split = made_split(folder, 300, 3)
    job = json.dumps({**JOB, "budget": {"evaluations": 9}, "optimizer": {"optimizer": "divbo"}})
    (folder / "first.py").write_text(FIRST_SUGGESTION, encoding="utf-8")

    def turn() -> None:
        with tempfile.TemporaryDirectory() as name:
            started(root, folder / "first.py", job, split, name, name)

    return turn


def dry_run(root: Path, folder: Path) -> Callable:
    """Start a dry run of the paper's study in an empty folder."""

    def turn() -> None:
        with tempfile.TemporaryDirectory() as name:
            started(root, *DRY_RUN, "--snakefile", root / "Snakefile", cwd=Path(name))

    return turn


def errors(method: str, dataset: str, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    """Make up validation and test errors of 250 iterations; one in ten evaluations fails."""
    rng = np.random.default_rng([*f"{method} on {dataset}".encode(), repeat])
    validation = 0.2 + 0.01 * rng.random() + rng.exponential(0.1, size=EVALUATIONS)
    validation[rng.random(EVALUATIONS) < 0.1] = np.nan
    noise = rng.normal(scale=0.003, size=EVALUATIONS)[np.cumsum(rng.random(EVALUATIONS) < 0.2)]
    return validation.round(3), (np.fmin.accumulate(validation) + 0.02 + noise).round(3)


def report(root: Path, folder: Path) -> Callable:
    """Write the report of a study of the paper's size, with made-up results."""
    from ensemble_search.jobs import Jobs

    study = Jobs.load(str(ROOT / "config.yaml")).report()
    results = folder / "results"
    if not results.exists():
        sys.path.append(str(ROOT / "tests"))
        from support import made_results

        made_results.write(results, json.loads(study), errors)

    def turn() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as name:
            words = [root / "workflow_scripts/report.py", "--study", study, "--results", results]
            started(root, *words, "--output", f"{name}/report")
            size = sum(f.stat().st_size for f in Path(name).rglob("*") if f.is_file())
        return {"bytes": size}

    return turn


def large_table(file: Path, rows: int, columns: int = 50) -> None:
    """Write a made-up table with two classes."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), np.float32).round(4)
    signal = X[:, :8] @ rng.normal(size=8) + 2 * X[:, 8] * X[:, 9] + 2 * np.sin(3 * X[:, 10])
    y = np.where(signal + rng.normal(size=rows) > 0, "yes", "no")
    csv.write_csv(pa.table({**{f"x{i}": x for i, x in enumerate(X.T)}, "y": y}), file)


def predict(root: Path, folder: Path, rows: int) -> Callable:
    """Predict a CSV file with a delivered ensemble of one logistic regression."""
    from random_configurations import make_inputs

    from ensemble_search.delivery import build
    from ensemble_search.search.run import run_job

    large_table(folder / "small.csv", 2000)
    large_table(folder / "large.csv", rows)
    split = folder / "delivered-split"
    make_inputs(f"file={folder / 'small.csv'},target=y", split)
    job = {**JOB, "space": "logistic-regression-hpo", "budget": {"evaluations": 3}}
    settings = {"repeat": 0, "iteration": None, "rows": "train", "limits": {}}
    settings |= {"calibrate": False, "onnx": False}
    about = {"study": "made", "dataset": "made", "method": "RS", "metric": "error"}
    with redirect_stderr(StringIO()):
        run_job(job, split, folder / "journals", folder / "searched")
        of = {"dataset": "made", "search": "random", "repeat": 0}
        source = build.Source(
            folder / "searched", split, of, {"type": "best"}, 0, job["space"], job["limits"], 1
        )
        build.deliver(source, settings, {**about, "command": "make bench"}, folder / "delivered")

    def turn() -> None:
        words = [root / "workflow_scripts/predict.py", "--model", folder / "delivered"]
        started(root, *words, "--input", folder / "large.csv", "--output", folder / "out.csv")

    return turn


def pandas_reads(root: Path, folder: Path) -> Callable:
    """Read the same file with pandas only, in its own process."""
    read = "import sys, pandas; pandas.read_csv(sys.argv[1])"
    return lambda: started(root, "-c", read, folder / "large.csv")


def large_data(root: Path, folder: Path, rows: int, minutes: float) -> Callable:
    """Run `make ensemble` on a large table; count evaluations, and successful ones."""

    def turn() -> dict[str, float]:
        import pandas as pd

        with tempfile.TemporaryDirectory() as name:
            file = Path(name, "large.csv")
            large_table(file, rows)
            words = [root / "workflow_scripts/automl.py", "--data", file, "--target", "y"]
            started(root, *words, "--minutes", minutes, "--cores", 2, cwd=Path(name))
            (found,) = Path(name).glob("results/*/searches/*/*/*/observations.parquet")
            table = pd.read_parquet(found)
        useful = int((table["status"] == "ok").sum())
        return {"useful": useful, "all": len(table), "fitting": table["cpu_seconds"].sum()}

    return turn


def demo(root: Path, folder: Path) -> Callable:
    """Run what `make demo` runs after the installation, in an empty folder."""

    def turn() -> dict[str, float]:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            for study in ("quickstart", "quickstart-replay"):
                words = ["-m", "snakemake", "--cores", 2, "--quiet", "rules"]
                words += ["--snakefile", root / "Snakefile"]
                words += ["--configfile", root / f"studies/{study}.yaml"]
                started(root, *words, cwd=Path(name))
        return {"wall": time.monotonic() - begun}

    return turn


@dataclass(frozen=True, eq=False)
class Job:
    """A search as the scheduler sees it, and its duration."""

    seconds: float
    input: Sequence = ()
    priority: float = 0
    scheduler_resources: ClassVar = {"_cores": 1}


class File(str):
    """A file that is not temporary."""

    is_flagged = staticmethod(lambda flag: False)


def end(jobs: list[Job], cores: int, settings, sizes: dict[str, int]) -> float:
    """Return the time when the last job ends."""
    from snakemake.scheduling.greedy import Scheduler

    scheduler = Scheduler(dag=None, settings=settings, logger=None)
    ready, running, now = list(jobs), [], 0.0
    while ready or running:
        if ready and (free := cores - len(running)):
            chosen = scheduler.select_jobs(ready, ready, {"_cores": free}, sizes)
            taken = set(chosen)
            ready = [job for job in ready if job not in taken]
            for job in chosen:
                heapq.heappush(running, (now + job.seconds, id(job)))
        now = heapq.heappop(running)[0]
    return now


def schedule(root: Path, folder: Path) -> Callable:
    """Simulate the searches of the paper's study, started by Snakemake's scheduler.

    An evaluation takes 0.1 s plus time in proportion to rows x columns; searches vary around that
    (log-normal, sigma 0.5). Figures are the time to the end of the last search, divided by the
    minimum possible one, averaged over three draws: in the order of the study (``file``), with the
    largest input first (``size``, profiles/default), and with true times, which are unknown in
    practice (``known``).
    """
    from snakemake.scheduling.greedy import SchedulerSettings

    from ensemble_search.data.paper_sets import TABLE_5
    from ensemble_search.jobs import Jobs

    study = Jobs.load(str(root / "config.yaml")).study
    sized, plain = (SchedulerSettings(omit_prioritize_by_temp_and_input=o) for o in (False, True))

    def turn() -> dict[str, float]:
        ratios: dict[str, list[float]] = {}
        for draw in range(3):
            rng = np.random.default_rng(draw)
            jobs, sizes = [], {}
            for name, data in study.datasets.items():
                cells = TABLE_5[data.openml].rows * TABLE_5[data.openml].features
                file = File(name)
                sizes[file] = 8 * cells
                for _ in range(len(study.used("search")) * study.repeats):
                    seconds = EVALUATIONS * (0.1 + 2e-6 * cells * rng.lognormal(0, 0.5))
                    jobs.append(Job(seconds, [file]))
            whole = [j.seconds for j in jobs]
            known = [Job(j.seconds, j.input, j.seconds) for j in jobs]  # priority before size
            orders = (jobs, "file", plain), (jobs, "size", sized), (known, "known", sized)
            for cores in (64, 256):
                for given, order, settings in orders:
                    least = max(*whole, sum(whole) / cores)
                    found = end(given, cores, settings, sizes) / least
                    ratios.setdefault(f"{order} {cores}", []).append(found)
        return {name: float(np.mean(values)) for name, values in ratios.items()}

    return turn
