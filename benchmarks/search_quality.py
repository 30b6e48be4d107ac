"""Quality of searches without fitting models: on made-up problems and on stored evaluations.

    python benchmarks/search_quality.py --synthetic ordinary alike --seeds 24 --jobs 2
    python benchmarks/search_quality.py --tables results/search-tables/tables/*/fixed
    python benchmarks/search_quality.py --search random bo "bo interleave=0.1" --reference bo

A search is an optimizer's name, optionally with settings. ``spread=0.05`` beside them sets the step
of neighbours, and with ``climbs=combined``, DivBO climbs on the sum of both ranks. ``smac``,
``openbox`` and ``optuna`` are other projects' searches, in environments that `make peers` installs.
Synthetic problems assign an error, and predictions with this error, to every configuration of the
space ``divbo``: in ``ordinary`` instances a tuned second-best algorithm comes close to the best
one, in ``alike`` instances algorithms hardly differ (benchmarks/objectives.py).
Run k of a synthetic problem has the k-th instance and seed k; on a table, it has seed k. Finished
runs are appended to a CSV file and not repeated, unless the code of the search has changed. The
printed tables come from this file.
"""

import argparse
import csv
import math
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "benchmarks")]

import peers  # noqa: E402
from objectives import ALGORITHM, KINDS, VERSION, Outcome, Synthetic, Table  # noqa: E402

from ensemble_search.ensembles.selection import select  # noqa: E402
from ensemble_search.metrics.error import ERROR  # noqa: E402
from ensemble_search.optimizers import bo, divbo  # noqa: E402
from ensemble_search.optimizers._model_based import acquisition  # noqa: E402
from ensemble_search.optimizers.base import History, Suggestion  # noqa: E402
from ensemble_search.problems.diversity import pairwise  # noqa: E402
from ensemble_search.runtime import plugins, signals  # noqa: E402
from ensemble_search.runtime.code_version import code_version  # noqa: E402
from ensemble_search.runtime.errors import UserError, run  # noqa: E402
from ensemble_search.runtime.names import OK  # noqa: E402
from ensemble_search.search.observe import generator, observation  # noqa: E402
from ensemble_search.spaces import _encoding  # noqa: E402

POINTS = (25, 50, 100, 250)
SEARCHES = ["random", "bo", "bo surrogate=one-hot-forest", "rising-bandit"]
WITH_TABLES = [
    *SEARCHES,
    "divbo",
    "divbo surrogate=one-hot-forest",
    "ensemble-optimization",
    "neural-ensemble-search",
]
MEASURES = ("error", "ensemble", "ensemble_test")
KEY = ("problem", "search", "run")
COLUMNS = (
    *KEY,
    "evaluations",
    "version",
    "lowest",
    *(f"{measure}_{point}" for measure in MEASURES for point in POINTS),
    "best_algorithm_at",  # its first evaluation; empty: none
    "algorithms",
    "suggest_cpu_seconds",
)


class Own:
    """An optimizer of this repository, created for a budget.

    Attributes
    ----------
    name
        Its name and settings, with the budget if they depend on it.
    version
        Changes with the code that decides what it finds.
    """

    def __init__(self, text: str, evaluations: int):
        import yaml

        name, *pairs = text.split()
        if wrong := [pair for pair in pairs if "=" not in pair]:
            raise UserError(f"--search '{text}': '{wrong[0]}' must look like interleave=0.1")
        settings = {k: yaml.safe_load(v) for k, v in (pair.split("=", 1) for pair in pairs)}
        self.spread = float(settings.pop("spread", _encoding.SPREAD))
        self.combined = settings.pop("climbs", None) == "combined"
        asked = plugins.make("optimizers", {"optimizer": name, **settings}, "optimizer", "--search")
        self.optimizer = asked.planned(evaluations)
        self.name = " ".join([name, *sorted(pairs)])
        if self.optimizer != asked:
            self.name += f" evaluations={evaluations}"
        modules = [type(asked).__module__, *asked.modules, "ensemble_search.search.observe"]
        self.version = f"{VERSION}-{code_version(*modules)}"
        if self.combined:
            self.optimizer = CombinedClimbs(**self.optimizer.model_dump())

    @contextmanager
    def suggester(self, problem, number: int) -> Iterator:
        """Yield the function from a history to a configuration and the CPU seconds it took."""

        plan: Iterator[Suggestion] = iter(())

        def suggest(history: History):
            nonlocal plan
            start = time.process_time()
            if (suggestion := next(plan, None)) is None:
                generators = (generator([number, 0], t) for t in count(len(history)))
                plan = iter(self.optimizer.plan(history, generators))
                suggestion = next(plan)
            if suggestion.fidelity < 1:
                raise UserError(
                    f"--search {self.name}: it asks for a part of the training rows, which these "
                    "objectives do not have"
                )
            return suggestion.configuration, time.process_time() - start

        with set_spread(self.spread):
            yield suggest


class CombinedClimbs(divbo.DivBO):
    """DivBO that climbs on the sum of both ranks instead of the expected improvement.

    A configuration's ranks are computed among 1000 random ones.
    """

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest as DivBO does, but from candidates of these climbs."""

        def propose(space, starts, improvement, draws, **settings):
            seed = int(draws.integers(2**31))
            members = select(
                history.predictions, history.labels, self.pool, seed, ties=self.ties
            ).indices
            vectors = history.vectors[history.ok].astype(np.float32)
            models = [history.observations[i].prediction for i in history.ok]
            model = plugins.load("surrogates", self.diversity_surrogate)().fit(
                vectors, pairwise(models, history.problem), history.space.categories, draws
            )
            weight = divbo.diversity_weight(len(history), self.beta, self.tau)

            def values(some: np.ndarray) -> list[np.ndarray]:
                some = np.asarray(some, dtype=np.float32)
                return [improvement(some), divbo.nearest(model(some, vectors[members]))]

            ordered = list(
                map(np.sort, values(space.encode_points(space.sample_points(1000, draws))))
            )

            def score(some: np.ndarray) -> np.ndarray:
                by_gain, by_diversity = map(np.searchsorted, ordered, values(some))
                return by_gain + weight * by_diversity

            return acquisition.propose(space, starts, score, draws, **settings)

        with mock.patch.object(bo, "propose", propose):
            return super().suggest(history, rng)


@contextmanager
def set_spread(spread: float) -> Iterator[None]:
    """Set the distance of neighbours of numbers, in unit scale."""
    usual, _encoding.SPREAD = _encoding.SPREAD, spread
    try:
        yield
    finally:
        _encoding.SPREAD = usual


def make_search(text: str, evaluations: int) -> "Own | peers.Peer":
    """Create the search described by a text on the command line."""
    if text in peers.NAMES:
        return peers.Peer(text, ROOT, evaluations)
    return Own(text, evaluations)


@lru_cache(maxsize=4)  # a process reads a table once
def make_problem(name: str, number: int, table: Path | None) -> Synthetic | Table:
    """Create the problem of a run: a table if a folder is given."""
    if table:
        return Table(table)
    return Synthetic(name.removeprefix("synthetic:"), number)


def start_run(name: str, table: Path | None, search, number: int, evaluations: int) -> dict:
    """Create the problem, and do a run."""
    problem = make_problem(name, 0 if table else number, table)
    return do_run(name, problem, search, number, evaluations)


def do_run(name: str, problem, search, number: int, evaluations: int) -> dict[str, Any]:
    """Run one search; return its row for the file."""
    outcomes: list[Outcome] = []
    history = History(problem.space, problem.labels)
    seconds = 0.0
    with search.suggester(problem, number) as suggest:
        for _ in range(evaluations):
            configuration, spent = suggest(history)
            outcome = problem.evaluate(configuration)
            new = observation(configuration, outcome.status, outcome.error, outcome.validation)
            history = History(problem.space, problem.labels, (*history.observations, new))
            outcomes.append(outcome)
            seconds += spent
    tried = [o.configuration[ALGORITHM] for o in history.observations]
    first = [t for t, name in enumerate(tried, 1) if name in problem.best_algorithms]
    return {
        "problem": name,
        "search": search.name,
        "run": number,
        "evaluations": evaluations,
        "version": search.version,
        "lowest": problem.lowest,
        **scores(problem, outcomes, number),
        "best_algorithm_at": first[0] if first else "",
        "algorithms": len(set(tried)),
        "suggest_cpu_seconds": round(seconds, 2),
    }


def scores(problem, outcomes: list[Outcome], seed: int) -> dict[str, float]:
    """Score the best pipeline and the ensemble of 25 after several numbers of evaluations."""
    result = {}
    for point in POINTS:
        ok = [o for o in outcomes[:point] if o.status == OK]
        if point > len(outcomes) or not ok:
            continue
        errors = np.array([o.error for o in ok])
        result[f"error_{point}"] = errors.min()
        validation, test = (np.stack([getattr(o, p) for o in ok]) for p in ("validation", "test"))
        members = select(validation, problem.labels, size=25, seed=seed)
        truths = problem.labels, problem.test_labels
        both = zip(truths, members.predict_both(validation, test), strict=True)
        wrong = [ERROR.loss(truth, predictions) for truth, predictions in both]
        result[f"ensemble_{point}"], result[f"ensemble_test_{point}"] = wrong
    return {name: round(value, 6) for name, value in result.items()}


class Results:
    """The CSV file of finished runs."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: dict[tuple, dict[str, str]] = {}
        if path.exists():
            self._read()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]  # ignore an incomplete last line
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")
        reader = csv.DictReader(whole.splitlines())
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise UserError(f"'{self.path}': its columns are others; move it away")
        for row in reader:
            self._keep(row)

    def _keep(self, row: dict[str, Any]) -> None:
        self.rows[tuple(str(row[name]) for name in KEY)] = row

    def has(self, problem: str, search, number: int, evaluations: int) -> bool:
        """Whether there is a run of at least this many evaluations by the same code."""
        row = self.rows.get((problem, search.name, str(number)))
        return (
            row is not None
            and row["version"] == search.version
            and int(row["evaluations"]) >= evaluations
        )

    def append(self, row: dict[str, Any]) -> None:
        """Add a finished run to the file."""
        row = {name: str(row.get(name, "")) for name in COLUMNS}
        with self.path.open("a", encoding="utf-8", newline="") as stream:
            csv.DictWriter(stream, COLUMNS, lineterminator="\n").writerow(row)
        self._keep(row)

    def column(self, problem: str, search: str, name: str, numbers: Iterable[int]) -> np.ndarray:
        """Return a column by number of the run; NaN for missing runs."""
        rows = (self.rows.get((problem, search, str(number)), {}) for number in numbers)
        return np.array([float(row.get(name) or "nan") for row in rows])


def mean_and_error(values: np.ndarray) -> tuple[float, float, int]:
    """Return mean, standard error and number of the values, ignoring NaN."""
    values = values[~np.isnan(values)]
    n = len(values)
    spread = values.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
    return (values.mean() if n else math.nan), spread, n


def interval(difference: np.ndarray) -> str:
    """Write the mean of paired differences in points, its standard error and 95 % interval (t)."""
    from scipy.stats import t

    mean, error, n = mean_and_error(100 * difference)
    if n < 2:
        return f"{'':26s}"
    half = t.ppf(0.975, n - 1) * error
    return f"{mean:+6.2f} ±{error:5.2f} [{mean - half:+5.2f},{mean + half:+5.2f}]"


def show(
    results: Results, problem: str, names: list[str], reference: str, numbers: range, limit: int
) -> None:
    """Print the tables of a problem, in points (hundredths of the error)."""
    points = [point for point in POINTS if point <= limit]
    width = max(map(len, names))
    lowest = results.column(problem, names[0], "lowest", numbers)
    print(f"\n# {problem} (lowest error: {100 * np.nanmean(lowest):.1f} on average)")
    for measure in MEASURES:
        title = {"error": "best error above the lowest", "ensemble": "ensemble, validation error"}
        print(f"\n{title.get(measure, 'ensemble, test error')}, mean and standard error")
        head = "".join(f"{point:>16d}" for point in points)
        more = "   best algorithm tried  CPU s" if measure == "error" else ""
        print(f"{'':{width}s} runs{head}{more}")
        for name in names:
            base_line = lowest if measure == "error" else 0
            cells = [
                mean_and_error(
                    100 * (results.column(problem, name, f"{measure}_{p}", numbers) - base_line)
                )
                for p in points
            ]
            line = f"{name:{width}s} {cells[0][2]:4d}"
            line += "".join(f"{mean:10.2f} ±{error:4.2f}" for mean, error, _ in cells)
            if measure == "error":
                at = results.column(problem, name, "best_algorithm_at", numbers)
                there = ~np.isnan(results.column(problem, name, "evaluations", numbers))
                line += f"   {100 * np.mean(at[there] <= limit):18.0f} %" if there.any() else ""
                cpu = results.column(problem, name, "suggest_cpu_seconds", numbers)
                line += f"  {mean_and_error(cpu)[0]:5.1f}"
            print(line)
        print(f"less that of '{reference}', paired, with 95 % interval")
        print(f"{'':{width}s} runs" + "".join(f"{point:>29d}" for point in points))
        for name in names:
            if name == reference:
                continue
            differences = [
                results.column(problem, name, f"{measure}_{p}", numbers)
                - results.column(problem, reference, f"{measure}_{p}", numbers)
                for p in points
            ]
            n = mean_and_error(differences[0])[2]
            print(f"{name:{width}s} {n:4d}" + "".join(f"   {interval(d)}" for d in differences))
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--synthetic", nargs="*", default=[], help=f"kinds: {', '.join(KINDS)}")
    parser.add_argument("--tables", nargs="*", type=Path, default=[], help="folders of tables")
    parser.add_argument("--search", nargs="*", help="names, with settings if any")
    parser.add_argument("--reference", default="bo", help="what the others are compared with")
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=24, help="runs of each search")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=Path("results/search-quality.csv"))
    parser.add_argument("--show", action="store_true", help="print what is there, and run nothing")
    options = parser.parse_args()

    problems: dict[str, Path | None] = {f"synthetic:{kind}": None for kind in options.synthetic}
    problems |= {folder.resolve().parent.name: folder.resolve() for folder in options.tables}
    if not problems:
        raise UserError("name problems: --synthetic ordinary, or --tables with folders of tables")
    texts = options.search or (WITH_TABLES if options.tables else SEARCHES)
    searches = [make_search(text, options.evaluations) for text in texts]
    reference = make_search(options.reference, options.evaluations).name
    results = Results(options.output)
    numbers = range(options.seeds)
    todo = [
        (name, table, search, number, options.evaluations)
        for number in numbers
        for name, table in problems.items()
        for search in searches
        if not results.has(name, search, number, options.evaluations)
    ]
    if not options.show:
        do_all(todo, results, options.jobs)
    for name in problems:
        show(results, name, [s.name for s in searches], reference, numbers, options.evaluations)


def do_all(todo: list[tuple], results: Results, jobs: int) -> None:
    """Do runs, and store each one when it is finished."""
    if not todo:
        return
    with ProcessPoolExecutor(jobs, initializer=work_for, initargs=(os.getpid(),)) as executor:
        running = [executor.submit(start_run, *arguments) for arguments in todo]
        try:
            for done, future in enumerate(as_completed(running), 1):
                results.append(future.result())
                print(f"\r{done} of {len(todo)} runs", end="", file=sys.stderr, flush=True)
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
    print(file=sys.stderr)


def work_for(parent: int) -> None:
    """Let a process of the executor end with the process that started it, and not before."""
    signal.set_wakeup_fd(-1)
    for number in signals.SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signals.with_parent(parent, signal.SIGKILL)


if __name__ == "__main__":
    run(main)
