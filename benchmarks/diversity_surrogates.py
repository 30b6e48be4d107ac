"""How well diversity surrogates rank pairs they have not seen: Kendall's tau, and CPU seconds.

    python benchmarks/diversity_surrogates.py [--space divbo] [--configurations 250] [name ...]

Random pipelines of the space are fitted on a made-up data set. A surrogate learns from the first n
and is tested on the last 50, with the order shuffled ``--shuffles`` times: pairs of two held-out
configurations, and of a held-out and an observed one (which is what DivBO asks for).
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from divbo import plugins
from divbo.diversity import pairwise

HELD_OUT = 50
DIVERSITY = ["lightgbm-pairs", "xgboost-pairs", "random-forest-pairs", "forest-kernel"]


def fitted(space, size: int, classes: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Encode random configurations that can be fitted, with their class probabilities."""
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
            continue  # a configuration that does not suit the data; a search records its failure
        if np.isfinite(p).all():
            kept.append(configuration)
            predictions.append(p.astype(np.float32))
    return space.encode(kept).astype(np.float32), predictions


def main() -> None:
    """Fit the pipelines, then every surrogate on growing numbers of them."""
    from scipy.stats import kendalltau

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=DIVERSITY)
    parser.add_argument("--space", default="divbo")
    parser.add_argument("--configurations", type=int, default=250)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--shuffles", type=int, default=3)
    args = parser.parse_args()

    warnings.simplefilter("ignore")
    space = plugins.load("space", args.space)()
    vectors, predictions = fitted(space, args.configurations, args.classes)
    matrix = pairwise(predictions)
    upper = np.triu_indices(HELD_OUT, 1)
    print(f"{'surrogate':20s} observations  tau held-out  tau observed  CPU seconds")
    for n in (n for n in (10, 25, 50, 100, 200) if n + HELD_OUT <= len(vectors)):
        for name in args.names:
            rows = []
            for shuffle in range(args.shuffles):
                rng = np.random.default_rng(shuffle)
                order = rng.permutation(len(vectors))
                old, new = order[:n], order[-HELD_OUT:]
                start = time.process_time()
                surrogate = plugins.load("surrogates", name)()
                model = surrogate.fit(vectors[old], matrix[np.ix_(old, old)], rng)
                among = model(vectors[new], vectors[new]).mean(axis=0)
                across = model(vectors[new], vectors[old]).mean(axis=0)
                seconds = time.process_time() - start
                taus = [
                    kendalltau(among[upper], matrix[np.ix_(new, new)][upper])[0],
                    kendalltau(across.ravel(), matrix[np.ix_(new, old)].ravel())[0],
                ]
                rows.append([*taus, seconds])
            a, b, seconds = np.mean(rows, axis=0)
            print(f"{name:20s} {n:12d}  {a:12.3f}  {b:12.3f}  {seconds:11.2f}", flush=True)


if __name__ == "__main__":
    main()
