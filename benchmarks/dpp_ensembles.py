"""Compare ensembles by a determinantal point process with others on finished searches.

    python benchmarks/dpp_ensembles.py \\
        results/replay/searches/{cpu_small,diabetes,digits,wind}/{random,bo}/*

Each argument is the folder of a search, with its split beside it. Prints a Markdown table with one
line per ensemble: for every data set, validation error, test error (percent) and unique members of
the ensemble after the last evaluation, averaged over its searches, and over ``--seeds`` seeds for
random ensembles. The last columns are the difference of test errors from ``selection``, paired by
search (mean of the data sets' means), and the number of data sets on which it is negative.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from ties import split_of

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.runtime import errors, plugins
from ensemble_search.scoring import ensemble_scores

ENSEMBLES = {
    "best": {"type": "best"},
    "selection": {"type": "selection"},
    "slots (EO)": {"type": "slots"},
    "uniform": {"type": "dpp", "choice": "uniform"},
    "dpp, map": {"type": "dpp"},
    "dpp, map, correctness": {"type": "dpp", "similarity": "correctness"},
    "dpp, map, double-fault": {"type": "dpp", "similarity": "double-fault"},
    "dpp, map, mutual-information": {"type": "dpp", "similarity": "mutual-information"},
    "dpp, map, power 10": {"type": "dpp", "power": 10.0},
    "dpp, map, power 50": {"type": "dpp", "power": 50.0},
    "dpp, k-dpp": {"type": "dpp", "choice": "k-dpp"},
    "dpp, k-dpp, power 10": {"type": "dpp", "choice": "k-dpp", "power": 10.0},
    "dpp, k-dpp, power 50": {"type": "dpp", "choice": "k-dpp", "power": 50.0},
    "dpp, dpp": {"type": "dpp", "choice": "dpp"},
}


def measure(search: Path, seeds: int) -> np.ndarray:
    """Return validation error, test error and members of the ensembles, (n_ensembles, 3)."""
    found = np.zeros((len(ENSEMBLES), seeds, 3))
    for seed in range(seeds):
        pool, test, test_labels = ensemble_scores.load(search, split_of(search), seed)
        for place, settings in enumerate(ENSEMBLES.values()):
            if seed and settings.get("choice", "map") == "map" and settings["type"] != "selection":
                found[place, seed] = found[place, 0]  # not random
                continue
            members = plugins.make("ensembles", settings, "type", "ensemble").build(pool)
            parts = zip((pool.labels, test_labels), members.predict_both(pool.predictions, test),
                        strict=True)  # fmt: skip
            losses = [100 * pool.problem.metric.loss(labels, p) for labels, p in parts]
            found[place, seed] = *losses, len(members.indices)
    return found.mean(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("searches", type=Path, nargs="+", help="folders of finished searches")
    parser.add_argument("--seeds", type=int, default=5, help="of random ensembles (default 5)")
    options = parser.parse_args()
    by_dataset = defaultdict(list)
    for search in sorted(path.resolve() for path in options.searches):
        by_dataset[search.parts[-3]].append(measure(search, options.seeds))
    means = np.stack([np.mean(found, axis=0) for found in by_dataset.values()])
    print("| ensemble |", *(f"{name} |" for name in by_dataset), "test - selection | lower |")
    print("|---" * (len(by_dataset) + 3) + "|")
    gaps = means[:, :, 1] - means[:, [list(ENSEMBLES).index("selection")], 1]
    for place, name in enumerate(ENSEMBLES):
        line = [f"{v:.2f} / {t:.2f} / {m:.1f}" for v, t, m in means[:, place]]
        gap = gaps[:, place]
        line += [f"{gap.mean():+.2f}", f"{(gap < -1e-9).sum()} of {len(gap)}"]
        print(f"| {name} | " + " | ".join(line) + " |")


if __name__ == "__main__":
    errors.run(main)
