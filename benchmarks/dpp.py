"""Time the samplers of determinantal point processes, and DPPy's if it is installed.

    OMP_NUM_THREADS=1 python benchmarks/dpp.py

Times are CPU seconds of this process, the best of ``--repeats``. DPPy should have its own
environment, whose Python runs this script: besides DPPy, only NumPy and SciPy are needed. DPPy has
no chain on spaces and no points by posterior variance.

Before timing, it compares how often each of 200 items is in 3000 exact draws of 20 with the exact
probabilities: ``chi2`` is the mean squared difference divided by its expectation, within about 0.2
of 1 for a correct sampler.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.dpp.coverage import sample_by_variance, unit_grid
from ensemble_search.dpp.exact import LEnsemble
from ensemble_search.dpp.kernels import rbf
from ensemble_search.dpp.mcmc import swap_items, swap_points
from ensemble_search.runtime import errors

try:
    from dppy.finite_dpps import FiniteDPP
except ImportError:
    FiniteDPP = None


def seconds(call: Callable[[], object], repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def report(what: str, ours: float, theirs: float | None = None, note: str = "") -> None:
    line = f"{what:46s} {ours:10.4f}"
    line += " " * 22 if theirs is None else f" {theirs:10.4f} {theirs / ours:10.1f}"
    print(f"{line}  {note}".rstrip(), flush=True)


def check(rng: np.random.Generator, k: int = 20, draws: int = 3000) -> None:
    points = rng.random((200, 3))
    kernel = rbf(points, points, 0.3)
    ensemble = LEnsemble.from_similarity(kernel)
    samplers = {"this": lambda: ensemble.sample(rng, k)}
    if FiniteDPP:
        theirs = FiniteDPP("likelihood", L=kernel)
        state = np.random.RandomState(0)
        samplers["DPPy"] = lambda: theirs.sample_exact_k_dpp(size=k, random_state=state)
    expected = ensemble.inclusion(k)
    variance = expected * (1 - expected) / draws
    for name, sample in samplers.items():
        share = sum(np.bincount(sample(), minlength=200) for _ in range(draws)) / draws
        print(f"chi2 {name} {((share - expected) ** 2 / variance).mean():.2f}", flush=True)


def time_exact(rng: np.random.Generator, repeats: int, n: int, k: int) -> None:
    points = rng.random((n, 5))
    kernel = rbf(points, points, 0.2)
    theirs = [None, None, None]
    if FiniteDPP:
        theirs[0] = seconds(
            lambda: FiniteDPP("likelihood", L=kernel).sample_exact_k_dpp(size=k), repeats
        )
        dpp = FiniteDPP("likelihood", L=kernel)
        dpp.sample_exact_k_dpp(size=k)
        theirs[1] = seconds(lambda: dpp.sample_exact_k_dpp(size=k), repeats)
        theirs[2] = seconds(lambda: dpp.sample_mcmc_k_dpp(size=k, nb_iter=100 * k), repeats)
    name = f"k = {k} of {n}"
    report(
        f"exact, first draw, {name}",
        seconds(lambda: LEnsemble.from_similarity(kernel).sample(rng, k), repeats),
        theirs[0],
    )
    ensemble = LEnsemble.from_similarity(kernel)
    ensemble.sample(rng, k)
    report(
        f"exact, next draw, {name}", seconds(lambda: ensemble.sample(rng, k), repeats), theirs[1]
    )
    report(
        f"swaps, {100 * k} steps, {name}",
        seconds(lambda: swap_items(kernel, k, rng, steps=100 * k), repeats),
        theirs[2],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--items", type=int, default=3000)
    parser.add_argument("--size", type=int, default=100, help="of the exact draws")
    parser.add_argument("--steps", type=int, default=50_000, help="extrapolate longer chains")
    parser.add_argument("--points", type=int, default=500, help="by posterior variance")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    check(rng)
    print(f"{'CPU seconds':46s} {'this':>10s} {'DPPy':>10s} {'DPPy/this':>10s}")
    time_exact(rng, options.repeats, options.items, options.size)
    k, dimensions = 20, 104
    for steps in (100 * k, k**3 * dimensions):
        made = min(steps, options.steps)
        chain = partial(
            swap_points,
            lambda rng: rng.random((256, dimensions)),
            partial(rbf, sigma=4.0),
            k,
            rng,
            steps=made,
        )
        note = f"extrapolated from {made} steps" if made < steps else ""
        took = seconds(chain, options.repeats) * steps / made
        report(f"swaps, {steps} steps, k = {k}, {dimensions} dimensions", took, None, note)
    points = options.points
    by_variance = partial(
        sample_by_variance, unit_grid(1), points, partial(rbf, sigma=2**0.5 / points), rng
    )
    report(f"seq-PV, k = {points} of 10000", seconds(by_variance, options.repeats))


if __name__ == "__main__":
    errors.run(main)
