"""CPU seconds that optimizers need for a suggestion, by the length of the history.

    python benchmarks/suggest.py [--space divbo] [--samples 1000] [--classes 2] [name ...]

Names are those of files in optimizers/; ``divbo:lightgbm-pairs`` is DivBO with that surrogate.
The history is made up: predictions that depend on the encoded configuration, no model is fitted.
``--profile`` shows where the time of the longest history goes.
"""

import argparse
import cProfile
import pstats
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.optimizers.base import History, Observation
from ensemble_search.runtime import plugins

NAMES = [
    "random",
    "tpe",
    "boasf",
    "hyperband",
    "bohb",
    "bo",
    "rising-bandit",
    "ensemble-optimization",
    "neural-ensemble-search",
    "k-bo",
    "divbo",
    "divbo:lightgbm-single",
    "divbo:lightgbm-pairs",
]
SETTINGS = {"rising-bandit": {"budget": 250}, "boasf": {"budget": 250}}


def made_history(space, size: int, samples: int, classes: int) -> History:
    """Make a history of random configurations, one in ten of which has failed."""
    rng = np.random.default_rng(0)
    configurations = space.sample(size, rng)
    vectors = space.encode(configurations)
    hidden = np.tanh(vectors @ rng.normal(size=(vectors.shape[1], 6)) / 3)
    logits = (hidden @ rng.normal(size=(6, samples * classes))).reshape(size, samples, classes)
    labels = rng.integers(classes, size=samples)
    logits[:, np.arange(samples), labels] += 1
    predictions = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    observations = []
    for i, (configuration, p) in enumerate(zip(configurations, predictions, strict=True)):
        if i % 10 == 9:
            observations.append(Observation(configuration, "timeout", float("nan"), None))
        else:
            error = float((p.argmax(axis=1) != labels).mean())
            observations.append(Observation(configuration, "ok", error, p.astype(np.float32)))
    return History(space, labels, tuple(observations))


def main() -> None:
    """Measure, as in a search: the history of iteration t - 1 has been seen before t's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--space", default="divbo")
    parser.add_argument("--samples", type=int, default=1000, help="validation samples")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 60, 125, 250])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()

    space = plugins.load("spaces", args.space)()
    longest = made_history(space, max(args.sizes), args.samples, args.classes)
    print(f"{'seconds':24s}" + "".join(f"{n:>8d}" for n in args.sizes))
    for name in args.names:
        plugin, _, surrogate = name.partition(":")
        settings = {"diversity_surrogate": surrogate} if surrogate else SETTINGS.get(plugin, {})
        optimizer = plugins.load("optimizers", plugin)(**settings)
        medians = []
        for size in args.sizes:
            seconds = []
            for t in range(size - args.repeats, size + 1):
                history = History(space, longest.labels, longest.observations[:t])
                start = time.process_time()
                optimizer.suggest(history, np.random.default_rng([0, t]))
                seconds.append(time.process_time() - start)
            medians.append(float(np.median(seconds[1:])))  # the first fills caches
        print(f"{name:24s}" + "".join(f"{s:8.2f}" for s in medians), flush=True)
        if args.profile:
            with cProfile.Profile() as profile:
                optimizer.suggest(longest, np.random.default_rng(0))
            pstats.Stats(profile).sort_stats("tottime").print_stats(15)


if __name__ == "__main__":
    main()
