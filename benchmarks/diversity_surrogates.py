"""How well diversity surrogates rank unseen pairs: Kendall's tau, and CPU seconds.

    python benchmarks/diversity_surrogates.py [--search FOLDER ...] [name ...]

The configurations come from finished searches (``results/<study>/searches/...``, preferably random
ones), each shuffled ``--shuffles`` times; without ``--search``, 250 random pipelines are fitted on
a made-up data set. A surrogate learns from the first n and predicts for the last 50:

* ``held-out``: tau for pairs of two held-out configurations,
* ``observed``: tau for a held-out and an observed one, which is what DivBO predicts,
* ``within``: share of the latter within one standard deviation of the members' predictions from
  their mean (0.68 if these are distributed like normal errors).

Then again without the configurations of three algorithms, of which it predicts for 50:

* ``never tried``: tau for one of them and an observed one,
* ``predicted / true``: mean diversity of these pairs, and
* ``spread``: mean standard deviation of the members' predictions for these pairs / for the pairs of
  ``observed``.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.problems.diversity import pairwise
from ensemble_search.runtime import errors, plugins
from ensemble_search.scoring.surrogate_quality import Evaluated, read

HELD_OUT = 50
DIVERSITY = ["lightgbm-pairs", "xgboost-pairs", "random-forest-pairs", "forest-kernel"]


def fitted(space, size: int, classes: int) -> Evaluated:
    """Fit random configurations on a made-up data set, those that can be fitted."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        600, 8, n_informative=4, n_classes=classes, flip_y=0.2, class_sep=0.7, random_state=0
    )
    rng, kept, predictions = np.random.default_rng(0), [], []
    while len(kept) < size:
        configuration = space.sample(1, rng)[0]
        try:
            pipeline = space.pipeline(configuration, np.zeros(8, dtype=bool), 1)
            p = pipeline.fit(X[:300], y[:300]).predict_proba(X[300:])
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):
            continue  # a configuration unsuitable for the data; a search would record a failure
        if np.isfinite(p).all():
            kept.append(configuration)
            predictions.append(p.astype(np.float32))
    vectors = space.encode(kept).astype(np.float32)
    return Evaluated(vectors, space.categories, np.zeros(size), pairwise(predictions))


def measure(name: str, evaluated: Evaluated, n: int, algorithm: np.ndarray, seed: int) -> list:
    """Return the figures of one fit on n configurations, and of one without three algorithms."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(algorithm))
    old, new = order[:n], order[-HELD_OUT:]
    start = time.process_time()
    model = fit(name, evaluated, old, seed)
    across, truth = ask(model, evaluated, new, old)
    seconds = time.process_time() - start
    among, true_among = ask(model, evaluated, new, new)
    upper = np.triu_indices(HELD_OUT, 1)
    found = [tau(among.mean(axis=0)[upper], true_among[upper]), tau(across.mean(axis=0), truth)]
    spread = across.std(axis=0)
    found.append(np.mean(np.abs(truth - across.mean(axis=0)) <= spread))

    gone = np.isin(algorithm[order], rng.choice(np.unique(algorithm), 3, replace=False))
    old, new = order[~gone][:n], order[gone][-HELD_OUT:]
    across, truth = ask(fit(name, evaluated, old, seed), evaluated, new, old)
    found += [tau(across.mean(axis=0), truth), across.mean(), truth.mean()]
    return [*found, across.std(axis=0).mean(), spread.mean(), seconds]


def fit(name: str, evaluated: Evaluated, old: np.ndarray, seed: int):
    """Fit a surrogate on some of the configurations."""
    known = evaluated.diversities[np.ix_(old, old)]
    rng = np.random.default_rng(seed)
    surrogate = plugins.load("surrogates", name)()
    return surrogate.fit(evaluated.vectors[old], known, evaluated.categories, rng)


def ask(model, evaluated: Evaluated, a: np.ndarray, b: np.ndarray) -> tuple:
    """Return the members' predictions for all pairs, and the true diversities."""
    return model(evaluated.vectors[a], evaluated.vectors[b]), evaluated.diversities[np.ix_(a, b)]


def tau(predicted: np.ndarray, truth: np.ndarray) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(predicted.ravel(), truth.ravel()).statistic)


def main() -> None:
    """Fit every surrogate on increasing numbers of configurations."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=DIVERSITY)
    parser.add_argument("--space", default="divbo")
    parser.add_argument("--search", type=Path, nargs="+", default=[], help="folders of searches")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 25, 50, 100, 200])
    parser.add_argument("--configurations", type=int, default=250)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--shuffles", type=int, default=3)
    args = parser.parse_args()

    warnings.simplefilter("ignore")
    space = plugins.load("spaces", args.space)()
    if args.search:
        sets = [read(folder, space) for folder in args.search]
    else:
        sets = [fitted(space, args.configurations, args.classes)]
    column = space.index["algorithm"]
    heads = ["tau held-out", "observed", "within", "never tried", "predicted / true", "spread"]
    print(f"{'surrogate':20s} {'n':>4s}  " + "  ".join([*heads, "seconds"]))
    for n in (n for n in args.sizes if all(n + HELD_OUT <= len(s.vectors) for s in sets)):
        for name in args.names:
            rows = [
                measure(name, evaluated, n, evaluated.vectors[:, column], shuffle)
                for evaluated in sets
                for shuffle in range(args.shuffles)
            ]
            held, seen, within, new, predicted, true, wide, narrow, seconds = np.mean(rows, axis=0)
            line = (
                f"{held:12.3f} {seen:9.3f} {within:7.2f} {new:12.3f} {predicted:10.3f} / {true:.3f}"
            )
            line += f"  {wide:.3f} / {narrow:.3f}  {seconds:7.2f}"
            print(f"{name:20s} {n:4d} {line}", flush=True)


if __name__ == "__main__":
    errors.run(main)
