"""What searches cost beside fitting pipelines, as ratios of CPU times: docs/performance.md.

    python benchmarks/suite.py
    python benchmarks/suite.py --against ../before

Each thing runs in a process of its own, on one thread; those of a ratio take turns, and their
medians are compared. ``--against`` measures another checkout too. What is not installed (`make
peers`, `make autogluon`) is left out.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr
from dataclasses import replace
from io import StringIO
from itertools import chain
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
OBSERVATIONS, CANDIDATES, MEMBERS, ROWS = 250, 5000, 25, 8000
SIZES = (50, 150, 250)
OPTIMIZERS = {
    "BO": "bo",
    "DivBO, forest-kernel": "divbo",
    "DivBO, lightgbm-pairs": "divbo:lightgbm-pairs",
}
PEERS = {"SMAC3": "smac", "Optuna": "optuna"}
AUTOGLUON = ROOT / ".venv-autogluon" / "bin" / "python"
TURNS = 16  # SMAC3 fits its forest at every eighth ask

# What is measured: each function prepares it, and returns what a turn does.


def suggestion(pool: Path, name: str, size: int) -> Callable:
    """Suggest, when the results of one evaluation more are known."""
    from suggest import made_history

    from ensemble_search.optimizers.base import History
    from ensemble_search.runtime import plugins

    plugin, _, surrogate = name.partition(":")
    settings = {"diversity_surrogate": surrogate} if surrogate else {}
    optimizer = plugins.load("optimizers", plugin)(interleave=0, **settings)
    longest = made_history(plugins.load("spaces", "divbo")(), size, 1000, 2)
    lengths = iter(range(size - TURNS, size + 1))

    def run() -> None:
        observations = longest.observations[: next(lengths)]
        history = History(longest.space, longest.labels, observations)
        optimizer.suggest(history, np.random.default_rng(len(history)))

    return run


def surrogate(pool: Path, name: str) -> Callable:
    """Fit, and predict the diversities of candidates and members."""
    from suggest import made_history

    from ensemble_search.problems.diversity import pairwise
    from ensemble_search.runtime import plugins

    space = plugins.load("spaces", "divbo")()
    history = made_history(space, OBSERVATIONS * 10 // 9, 1000, 2)  # one in ten has failed
    vectors = history.vectors[history.ok].astype(np.float32)
    diversities = pairwise(list(history.predictions))
    points = space.sample_points(CANDIDATES, np.random.default_rng(0))
    candidates = space.encode_points(points).astype(np.float32)
    made = plugins.load("surrogates", name)()

    def run() -> None:
        model = made.fit(vectors, diversities, space.categories, np.random.default_rng(0))
        model(candidates, vectors[:MEMBERS])

    return run


def selection(pool: Path) -> Callable:
    """Select from the whole pool, with AutoGluon's rule for ties."""
    from ensemble_search.ensembles.selection import select

    predictions, labels = read(pool)

    def run() -> list[int]:
        chosen = select(predictions, labels, MEMBERS, ties="selected-first", use_best=True)
        return chosen.indices.tolist()

    return run


def temporary_ensemble(pool: Path, metric: str) -> Callable:
    """Select from the predictions of a history, as DivBO does after every evaluation."""
    from ensemble_search.ensembles.selection import select
    from ensemble_search.problems.classification import CLASSIFICATION
    from ensemble_search.runtime import plugins

    predictions, labels = read(pool)
    predictions = CLASSIFICATION.expand(predictions)
    loss = plugins.load("metrics", metric)()

    def run() -> None:
        select(predictions, labels, MEMBERS, metric=loss)

    return run


def diversities(pool: Path) -> Callable:
    """Compute the diversities of a new model to all others, as DivBO does after its evaluation."""
    from ensemble_search.problems.classification import CLASSIFICATION
    from ensemble_search.problems.diversity import pairwise

    predictions = list(CLASSIFICATION.expand(read(pool)[0]))
    pairwise(predictions)

    def run() -> None:
        predictions[-1] = predictions[-1].copy()
        pairwise(predictions)

    return run


def prefixes(pool: Path) -> Callable:
    """Select anew after every evaluation of a finished search."""
    from ensemble_search.ensembles.selection import paths

    predictions, labels = read(pool)

    def run() -> None:
        list(paths(predictions, labels, MEMBERS, 0))

    return run


def autogluon(pool: Path, scorer: str) -> Callable:
    """Select with AutoGluon; models that its rule leaves tied get the draws of :func:`select`."""
    from autogluon.core.metrics import accuracy, make_scorer
    from autogluon.core.models.greedy_ensemble.ensemble_selection import EnsembleSelection

    predictions, labels = read(pool)
    metric = accuracy
    if scorer == "free":
        metric = make_scorer("free", lambda labels, predictions: 0.5, needs_proba=True)

    class Draws:
        rounds = 0

        def choice(self, tied) -> int:
            self.rounds += 1
            return min(
                tied, key=np.random.default_rng([0, self.rounds]).random(len(predictions)).item
            )

    def run() -> list[int]:
        made = EnsembleSelection(MEMBERS, "binary", metric, random_state=Draws())
        made.fit(list(predictions[:, :, 0]), labels)
        return sorted({int(i) for i in made.indices_})

    return run


def start(pool: Path) -> Callable:
    """Start a search in a new process, which ends at its first suggestion."""
    from random_configurations import make_inputs

    split = pool.parent / "split"
    if not split.exists():
        make_inputs("sklearn=wine", split)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2])}

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", FIRST_SUGGESTION, split, folder]
            subprocess.run([str(part) for part in command], env=environment, check=True)

    return run


def dry_run(pool: Path) -> Callable:
    """Start a dry run of the paper's study in an empty folder."""
    snakefile = Path(sys.path[0]).parent / "Snakefile"
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "--cores", "2"]

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [*command, "--snakefile", str(snakefile)],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    return run


FIRST_SUGGESTION = """
import os, sys
from pathlib import Path
from search import run_job

class Evaluator:
    __init__ = __exit__ = lambda *arguments: None
    __enter__ = lambda self: self
    evaluate = lambda *arguments: os._exit(0)

run_job(
    {
        "dataset": "wine", "search": "divbo", "repeat": 0, "seed": 0, "space": "divbo",
        "metric": "error", "limits": {"seconds": 60, "memory_mb": 4096},
        "budget": {"evaluations": 10}, "optimizer": {"optimizer": "divbo"},
    },
    Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[2]), make_evaluator=Evaluator,
)
"""


def storage(pool: Path) -> Callable:
    """Run a search with made-up predictions, one in ten fails; return the bytes that it stores."""
    from random_configurations import make_inputs

    from ensemble_search.data.split import load_inputs
    from ensemble_search.evaluation.base import Evaluation
    from ensemble_search.search.run import run_job

    split = pool.parent / "digits"
    if not split.exists():
        make_inputs("sklearn=digits", split)
    inputs = load_inputs(split / "inputs.npz")
    rng = np.random.default_rng(0)

    class Evaluator:
        def __init__(self, *arguments):
            self.made = 0

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            pass

        def evaluate(self, values, fidelity=1.0) -> Evaluation:
            self.made += 1
            if self.made % 10 == 0:
                return Evaluation("crash", None, None, 1.0, 1.0, None, 1.0, "ValueError", "")
            sizes = len(inputs.y_validation), len(inputs.X_test)
            parts = (rng.dirichlet(np.ones(10), size).astype(np.float32) for size in sizes)
            return Evaluation("ok", *parts, 1.0, 1.0, 0.1, 1.0, None, None)

    def run() -> int:
        job = {
            **{"dataset": "digits", "search": "random", "repeat": 0, "seed": 0, "space": "divbo"},
            **{"metric": "error", "limits": {"seconds": 60, "memory_mb": 4096}},
            "budget": {"evaluations": OBSERVATIONS},
            "optimizer": {"optimizer": "random"},
        }
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(StringIO()):
            output = Path(folder, "output")
            run_job(job, split, Path(folder, "journals"), output, make_evaluator=Evaluator)
            found = {f.stat().st_ino: f.stat().st_blocks for f in Path(folder).rglob("*")}
            return 512 * sum(found.values())

    return run


def read(pool: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions, of shape (n, n_samples, 1), and labels."""
    with np.load(pool, allow_pickle=False) as arrays:
        return arrays["predictions"], arrays["labels"]


WORK = {
    f.__name__: f
    for f in (
        *(suggestion, surrogate, selection, temporary_ensemble, diversities, prefixes),
        *(autogluon, start, dry_run, storage),
    )
}


def work(root: str, pool: str, name: str, arguments: str) -> None:
    """Do a turn for every line of the standard input; be the process of a :class:`Worker`."""
    sys.path[:0] = [f"{root}/workflow_scripts", f"{root}/benchmarks"]
    run = WORK[name](Path(pool), *json.loads(arguments))
    for _ in sys.stdin:
        before = cpu_seconds()
        result = run()
        print(json.dumps([cpu_seconds() - before, result]), flush=True)


def cpu_seconds() -> float:
    """CPU seconds of this process and of those that it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Worker:
    """A process that does a piece of :data:`WORK` at every turn; the first one is not counted."""

    def __init__(self, root: Path, pool: Path, name: str, *arguments, python=sys.executable):
        command = [python, __file__, "--work", root, pool, name, json.dumps(arguments)]
        self.seconds: list[float] = []
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
            text=True,
        )
        self.turn()
        self.seconds.clear()

    def turn(self) -> None:
        """Let it work, and note the CPU seconds."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, self.result = json.loads(self.process.stdout.readline())
        self.seconds.append(seconds)

    def stop(self) -> float:
        """End the process; return the median of its CPU seconds."""
        self.process.communicate()
        return float(np.median(self.seconds))


class Peer:
    """A search of another project, asked at every turn, with an environment of its own."""

    def __init__(self, name: str, problem, opened: ExitStack):
        import peers

        from ensemble_search.optimizers.base import History

        self.problem, self.history = problem, History(problem.space, problem.labels)
        search = peers.Peer(name, ROOT, max(SIZES))
        self.suggest = opened.enter_context(search.suggester(problem, 0))
        self.seconds: list[float] = []

    def turn(self) -> None:
        """Ask, note the CPU seconds, and evaluate."""
        from ensemble_search.search.observe import observation

        configuration, seconds = self.suggest(self.history)
        outcome = self.problem.evaluate(configuration)
        new = observation(configuration, outcome.status, outcome.error, outcome.validation)
        self.history = replace(self.history, observations=(*self.history.observations, new))
        self.seconds.append(seconds)


def compare_suggestions(pool: Path, checkouts: dict[str, Path]) -> None:
    """Print what suggestions cost, as multiples of BO's."""
    import peers
    from objectives import Synthetic

    problem = Synthetic("ordinary", 0)
    table: dict[str, list[float]] = {}
    with ExitStack() as opened:
        others = {
            title: Peer(name, problem, opened)
            for title, name in PEERS.items()
            if (ROOT / f".venv-{peers.NAMES[name]}").exists()
        }
        for size in SIZES:
            for peer in others.values():
                while len(peer.history) < size - TURNS:
                    peer.turn()
                peer.seconds.clear()
            own = {
                f"{title}{when}": Worker(root, pool, "suggestion", name, size)
                for title, name in OPTIMIZERS.items()
                for when, root in checkouts.items()
            }
            for turn in range(TURNS):
                for title, one in {**own, **others}.items():
                    if turn % 4 == 0 or "lightgbm" not in title:  # which takes seconds
                        one.turn()
            seconds = {title: worker.stop() for title, worker in own.items()}
            seconds |= {title: float(np.mean(peer.seconds)) for title, peer in others.items()}
            for title, value in seconds.items():
                table.setdefault(title, []).append(value / seconds["BO"])
            table.setdefault("(BO: CPU seconds)", []).append(seconds["BO"])
    print(f"{'suggestion / BO':44}" + "".join(f"{f'n = {size}':>10}" for size in SIZES))
    for title, ratios in table.items():
        print(f"{title:44}" + "".join(f"{ratio:10.2f}" for ratio in ratios))


def compare_others(pool: Path, checkouts: dict[str, Path]) -> None:
    """Print the other costs, of every checkout."""

    def medians(turns: int, *names: tuple, **others: Worker) -> list[list[float]]:
        """Measure works in turns; return the seconds of each, a list by checkout."""
        rows = [[Worker(root, pool, *name) for root in checkouts.values()] for name in names]
        rows += [[worker] for worker in others.values()]
        for _ in range(turns):
            for worker in chain.from_iterable(rows):
                worker.turn()
                while worker.seconds[-1] < 0.1 and len(worker.seconds) % 9:
                    worker.turn()  # short work is measured nine times a turn
        return [[worker.stop() for worker in row] for row in rows]

    def show(title: str, values) -> None:
        print(f"{title:44}" + "".join(f"{value:10.3g}" for value in values), flush=True)

    print(f"\n{'':44}" + "".join(f"{when.strip(', ') or 'now':>10}" for when in checkouts))
    pairs, kernel = medians(3, ("surrogate", "lightgbm-pairs"), ("surrogate", "forest-kernel"))
    show("lightgbm-pairs / forest-kernel", np.divide(pairs, kernel))
    if AUTOGLUON.exists():
        theirs = {
            scorer: Worker(ROOT, pool, "autogluon", scorer, python=AUTOGLUON)
            for scorer in ("accuracy", "free")
        }
        found = selection(pool)()
        if found != theirs["accuracy"].result:
            raise RuntimeError(f"{found} are selected, {theirs['accuracy'].result} by AutoGluon")
        ours, (whole,), (loop,) = medians(3, ("selection",), **theirs)
        show("AutoGluon's selection / selection", np.divide(whole, ours))
        show("the same with a scorer that costs nothing", np.divide(loop, ours))
    metrics = "error", "log-loss", "brier"
    *temporary, new, all_prefixes = medians(
        3, *(("temporary_ensemble", name) for name in metrics), ("diversities",), ("prefixes",)
    )
    for name, values in zip(metrics, temporary, strict=True):
        show(f"selection for a suggestion by {name}, CPU ms", np.multiply(values, 1000))
    show("diversities of a new model, CPU ms", np.multiply(new, 1000))
    show(
        "selection of a growing pool, CPU ms a model",
        np.multiply(all_prefixes, 1000 / OBSERVATIONS),
    )
    (first,) = medians(5, ("start",))
    show("start to first suggestion, CPU s", first)
    (dry,) = medians(3, ("dry_run",))
    show("dry run of the paper's study, CPU s", dry)
    stored = [Worker(root, pool, "storage") for root in checkouts.values()]
    show("what a search stores, MB", [worker.result / 1e6 for worker in stored])
    for worker in stored:
        worker.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--against", type=Path, help="another checkout, to be measured too")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return
    sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "benchmarks")]
    from selection import make_pool

    checkouts = {"": ROOT}
    if options.against:
        checkouts[", before"] = options.against.resolve()
    with tempfile.TemporaryDirectory() as folder:
        pool = Path(folder, "pool.npz")
        made = make_pool(OBSERVATIONS, ROWS, 2)
        np.savez(pool, predictions=made.predictions, labels=made.labels)
        compare_suggestions(pool, checkouts)
        compare_others(pool, checkouts)


if __name__ == "__main__":
    main()
