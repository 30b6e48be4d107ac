"""How often forests choose an algorithm that was never tried.

    python benchmarks/unseen_algorithms.py
    python benchmarks/unseen_algorithms.py --table results/search-tables/tables/quake/fixed

A forest learns from n random configurations of 5 of the 11 algorithms. Among 5000 uniform
candidates, how many of the 50 with the largest expected improvement have an algorithm that is not
among the 5? Errors come from made-up problems (a new one each time), or from stored evaluations.
``pyrfr`` is OpenBox's forest, in its own environment (`make peers`).
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "benchmarks")]

from objectives import ALGORITHM, Synthetic, Table  # noqa: E402

from ensemble_search.optimizers._model_based.acquisition import expected_improvement  # noqa: E402
from ensemble_search.optimizers.base import History  # noqa: E402
from ensemble_search.runtime import plugins  # noqa: E402
from ensemble_search.runtime.errors import run  # noqa: E402
from ensemble_search.search.observe import observation  # noqa: E402

FORESTS = ("one-hot-forest", "random-forest", "pyrfr")
PYTHON = ROOT / ".venv-openbox" / "bin" / "python"
CANDIDATES, LARGEST, TRIED = 5000, 50, 5


def make_history(problem, size: int, rng: np.random.Generator) -> History:
    """Draw configurations of a few algorithms, and evaluate them."""
    algorithms = problem.space.columns[problem.space.index[ALGORITHM]].choices
    tried = set(rng.choice(algorithms, TRIED, replace=False))
    rows = []
    while len(rows) < size:
        for configuration in problem.space.sample(CANDIDATES, rng):
            if configuration[ALGORITHM] in tried and len(rows) < size:
                outcome = problem.evaluate(configuration)
                found = outcome.status, outcome.error, outcome.validation
                rows.append(observation(configuration, *found))
    return History(problem.space, problem.labels, tuple(rows))


def share(forest: str, history: History, candidates: np.ndarray, seed: int) -> tuple[float, float]:
    """Return the share of untried algorithms among the best candidates, and among all."""
    mean, std = predict(forest, history, candidates, seed)
    improvement = expected_improvement(mean, std, history.errors.min())
    ties = np.random.default_rng(seed).random(len(improvement))
    column = history.space.index[ALGORITHM]
    new = ~np.isin(candidates[:, column], history.vectors[:, column])
    return new[np.lexsort((ties, -improvement))[:LARGEST]].mean(), new.mean()


def predict(forest: str, history: History, candidates: np.ndarray, seed: int):
    """Fit a forest, and predict mean and standard deviation of candidates, each of shape (m,)."""
    categories = history.space.categories
    if forest != "pyrfr":
        surrogate = plugins.load("surrogates", forest)()
        rng = np.random.default_rng(seed)
        return surrogate.fit(history.vectors, history.errors, categories, rng)(candidates)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(
            given,
            vectors=history.vectors,
            errors=history.errors,
            categories=categories,
            candidates=candidates,
            seed=seed,
        )
        script = ROOT / "benchmarks" / "pyrfr_forest.py"
        subprocess.run([PYTHON, script, given, found], check=True)
        with np.load(found, allow_pickle=False) as arrays:
            return arrays["mean"], arrays["std"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 40], help="observations")
    parser.add_argument("--histories", type=int, default=20, help="histories of each size")
    parser.add_argument("--table", type=Path, help="folder of a table")
    options = parser.parse_args()
    forests = [name for name in FORESTS if name != "pyrfr" or PYTHON.exists()]
    if len(forests) < len(FORESTS):
        print("without pyrfr: there is no .venv-openbox (make peers)")
    table = Table(options.table) if options.table else None
    whole = plugins.load("spaces", "divbo")()
    print(f"share of never-tried algorithms, {table.name if table else 'made-up errors'}")
    print(f"{'observations':16s}" + "".join(f"{size:>14d}" for size in options.sizes))
    shares = np.empty((len(options.sizes), options.histories, len(forests), 2))
    for i, size in enumerate(options.sizes):
        for number in range(options.histories):
            rng = np.random.default_rng([size, number])
            problem = table or Synthetic("ordinary", number, whole)
            history = make_history(problem, size, rng)
            candidates = whole.encode_points(whole.sample_points(CANDIDATES, rng))
            for j, forest in enumerate(forests):
                shares[i, number, j] = share(forest, history, candidates, number)
    errors = shares[..., 0].std(axis=1, ddof=1) / np.sqrt(options.histories)
    for j, forest in enumerate(forests):
        cells = zip(shares[:, :, j, 0].mean(axis=1), errors[:, j], strict=True)
        print(f"{forest:16s}" + "".join(f"{mean:8.2f} ±{error:4.2f}" for mean, error in cells))
    print(
        f"{'candidates':16s}" + "".join(f"{m:8.2f}      " for m in shares[:, :, 0, 1].mean(axis=1))
    )


if __name__ == "__main__":
    run(main)
