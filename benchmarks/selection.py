"""Time the ensemble selection of all prefixes of a pool against selecting anew for each of them.

    OMP_NUM_THREADS=1 python benchmarks/selection.py

The pool has 250 synthetic models that share most of their mistakes, so that errors tie as in a
search. Times are CPU seconds of this process. ``select`` is called on every prefix and must give
the same members; ``plain`` is one argmax over whole arrays per round, with nothing remembered and
nothing left out, run on every tenth prefix and scaled.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.ensembles.selection import Selection, Ties, log_losses, select
from ensemble_search.metrics.error import ERROR
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.problems.combination import rounded


def make_pool(n: int, n_samples: int, n_classes: int) -> Pool:
    rng = np.random.default_rng([n_samples, n_classes])
    labels = rng.integers(0, n_classes, n_samples)
    common = rng.normal(size=(n_samples, n_classes)) + 1.2 * np.eye(n_classes)[labels]
    predictions = np.empty((n, n_samples, n_classes), dtype=np.float32)
    for i in range(n):
        noise = rng.choice([0.3, 1, 2]) * rng.normal(size=common.shape)
        odds = np.exp((common + noise) * rng.choice([0.5, 2, 4]))
        predictions[i] = odds / odds.sum(axis=1, keepdims=True)
    if n_classes == 2:
        predictions = predictions[:, :, 1:].copy()
    errors = np.array([ERROR.loss(labels, rounded(p)) for p in predictions])
    return Pool(predictions, labels, errors, 0)


def plain(predictions: np.ndarray, pool: Pool, size: int, ties: Ties) -> list[int]:
    n = len(predictions)
    right = np.arange(len(pool.labels)), pool.labels
    total, path, second = np.zeros(predictions.shape[1:]), [], np.zeros(n)
    for number in range(1, size + 1):
        sums = total + predictions
        wrong = (sums.argmax(axis=2) != pool.labels).sum(axis=1)
        if ties == "selected-first":
            second = [i not in path for i in range(n)]
        elif ties == "log-loss":
            second = log_losses(sums[:, *right] / number)
        draws = np.random.default_rng([pool.seed, number]).random(n)
        path.append(int(np.lexsort((draws, second, wrong))[0]))
        total += predictions[path[-1]]
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--models", type=int, default=250)
    parser.add_argument("--samples", type=int, nargs="+", default=[436, 4000])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 6])
    parser.add_argument("--sizes", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--ties", choices=get_args(Ties), default="random")
    parser.add_argument("--plain", action="store_true", help="time plain loops too (minutes)")
    options = parser.parse_args()
    ties = options.ties
    print("samples classes size changes  trace s  select/trace" + "  plain/trace" * options.plain)
    for n_samples in options.samples:
        for n_classes in options.classes:
            pool = make_pool(options.models, n_samples, n_classes)
            for size in options.sizes:
                start = time.process_time()
                trace = Selection(size=size, ties=ties).build_prefixes(pool)
                traced = time.process_time() - start
                start = time.process_time()
                for t, members in enumerate(trace, 1):
                    arguments = pool.predictions[:t], pool.labels, size, pool.seed
                    expected = select(*arguments, ties=ties)
                    assert np.array_equal(members.indices, expected.indices)
                    assert np.array_equal(members.weights, expected.weights)
                selecting = time.process_time() - start
                line = f"{n_samples:7d} {n_classes:7d} {size:4d} {len(set(map(id, trace))):7d}"
                line += f" {traced:8.3f} {selecting / traced:13.1f}"
                if options.plain:
                    line += f" {time_plain(pool, trace, size, ties) / traced:12.1f}"
                print(line, flush=True)


def time_plain(pool: Pool, trace: list[Members], size: int, ties: Ties, step: int = 10) -> float:
    probabilities = CLASSIFICATION.expand(rounded(pool.predictions).astype(float))
    start = time.process_time()
    for t in range(step, len(trace) + 1, step):
        path = plain(probabilities[:t], pool, size, ties)
        assert trace[t - 1].indices.tolist() == sorted(set(path))
    return (time.process_time() - start) * step


if __name__ == "__main__":
    main()
