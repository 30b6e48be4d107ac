"""Compare the tie-breaking rules of ensemble selection on finished searches.

    python benchmarks/ties.py results/ties/searches/*/*/*

Each argument is the folder of a search, with its split beside it. Errors are those of ensembles of
``--sizes`` after the last evaluation, in percent, averaged over ``--seeds`` random tie-breaks.

First table: the three rules on the same searches, averaged over the searches of a data set. ``sd``
is the standard deviation of the test error over the draws, ``members`` counts unique ones. Below
it: the difference of test errors from the rule ``random``, paired by search, as the mean over all
searches and its standard error.

Second table, for DivBO's searches: mean number of members of the temporary ensemble, share of
suggestions at which it had a single member, and the errors with ``random`` and with the search's
own rule.
"""

import argparse
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.ensembles.selection import Ties, select
from ensemble_search.metrics.error import ERROR
from ensemble_search.results import readers
from ensemble_search.runtime import errors
from ensemble_search.scoring import ensemble_scores

RULES = get_args(Ties)


def split_of(search: Path) -> Path:
    splits = search.parents[3] / "splits" / search.parts[-3]
    # Several repeats may share a split.
    several = len(list(splits.glob("repeat-*")))
    return splits / (f"repeat-{int(search.name) % several}" if several else "fixed")


@cache
def measure(search: Path, ties: Ties, size: int, seeds: int) -> np.ndarray:
    """Return validation error, test error and unique members, of shape (seeds, 3)."""
    pool, test, test_labels = ensemble_scores.load(search, split_of(search), 0)
    ok = ~np.isnan(pool.errors)
    predictions, test = pool.predictions[ok], test[ok]
    found = []
    for seed in range(seeds):
        members = select(predictions, pool.labels, size, seed, ties=ties)
        both = members.predict_both(predictions, test)
        wrong = ERROR.loss(pool.labels, both[0]), ERROR.loss(test_labels, both[1])
        found.append([100 * wrong[0], 100 * wrong[1], len(members.indices)])
    return np.array(found)


def print_rules(by_dataset: dict[str, list[Path]], size: int, seeds: int) -> None:
    print(f"\n{'data set':15} searches {'ties':14} validation   test   sd members   (size {size})")
    tests = {ties: [] for ties in RULES}
    for dataset, searches in by_dataset.items():
        for ties in RULES:
            rows = np.stack([measure(search, ties, size, seeds) for search in searches])
            validation, test, members = rows.mean(axis=(0, 1))
            sd = rows[:, :, 1].std(axis=1).mean()
            line = f"{dataset:15} {len(searches):8d} {ties:14} {validation:10.2f} {test:6.2f}"
            print(f"{line} {sd:4.2f} {members:7.1f}")
            tests[ties].extend(rows[:, :, 1].mean(axis=1))
    for ties in RULES[1:]:
        values = np.subtract(tests[ties], tests["random"])
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        print(f"test error, {ties} - random: {values.mean():+.2f} +- {error:.2f}")


def print_temporary(by_dataset: dict[str, list[Path]], size: int, seeds: int) -> None:
    both = f"{'random: val.':>12} {'test':>6} {'own: val.':>10} {'test':>6}"
    print(f"\n{'data set':15} {'search':22} searches members single {both}   (size {size})")
    for dataset, searches in by_dataset.items():
        for name in sorted({search.parts[-2] for search in searches}):
            runs = [search for search in searches if search.parts[-2] == name]
            members = np.concatenate([temporary_sizes(run) for run in runs])
            own = readers.search(runs[0])["settings"].get("ties")
            if not len(members) or own is None:
                continue
            line = f"{dataset:15} {name:22} {len(runs):8d} {members.mean():7.1f}"
            line += f" {np.mean(members == 1):6.2f}"
            for ties, width in (("random", 12), (own, 10)):
                rows = [measure(run, ties, size, seeds) for run in runs]
                validation, test, _ = np.mean(rows, axis=(0, 1))
                line += f" {validation:{width}.2f} {test:6.2f}"
            print(line)


def temporary_sizes(search: Path) -> np.ndarray:
    whys = readers.observations(search, ["why"])["why"].to_pylist()
    found = [json.loads(why).get("pool") for why in whys]
    return np.array([size for size in found if size is not None], dtype=int)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("searches", type=Path, nargs="+", help="folders of finished searches")
    parser.add_argument("--sizes", type=int, nargs="+", default=[25])
    parser.add_argument("--seeds", type=int, default=20, help="draws of ties (default 20)")
    options = parser.parse_args()
    by_dataset = defaultdict(list)
    for search in sorted(path.resolve() for path in options.searches):
        by_dataset[search.parts[-3]].append(search)
    for size in options.sizes:
        print_rules(by_dataset, size, options.seeds)
        print_temporary(by_dataset, size, options.seeds)


if __name__ == "__main__":
    errors.run(main)
