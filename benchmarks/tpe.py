"""Densities of TPE's Parzen estimators, compared with those of Optuna and hyperopt.

    python benchmarks/tpe.py [--evaluations 250] [python ...]

Each ``python`` belongs to an environment with Optuna or hyperopt; default: the one that `make
peers` makes. After made-up evaluations of a space, the densities l and g of every hyperparameter
are compared on a grid. Printed is the largest difference of log densities, in their own scale, by
kind of hyperparameter: to hyperopt, to Optuna's kernels with our bandwidths and weights, and to
Optuna with its own (``TPESampler.hyperopt_parameters``).
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.runtime import errors

ROOT = Path(__file__).parents[1]
GRID = 64
LENGTHS = range(1, 1001)


def densities(space, history) -> Iterator[dict[str, Any]]:
    """Describe every l and g as JSON: kind, bounds, observations, grid, and our log densities.

    The grid omits the bounds, where rounding decides whether Optuna's densities are 0.
    """
    from ensemble_search.optimizers._model_based import parzen
    from ensemble_search.optimizers.tpe import TreeParzenEstimator

    points = space.points([o.configuration for o in history.observations])
    good = TreeParzenEstimator().good(history.errors)
    for i, column in enumerate(space.columns):

        def numbers(entries: np.ndarray, column=column) -> list:
            """Return values; for choices, their positions."""
            values = column.values(entries)
            return [column.choices.index(v) for v in values] if column.choices else values

        active = ~np.isnan(points[:, i])
        uniform = (np.arange(GRID) + 0.5) / GRID
        for part in (good, ~good):
            entries, grid = points[active & part, i], np.unique(column.draw(uniform))
            made = parzen.estimate(column, entries)
            kind = "category" if column.categorical else "integer" if column.whole else "float"
            described = {
                "kind": f"log {kind}" if column.log else kind,
                "bounds": [column.lower, column.upper],
                "observed": numbers(entries),
                "grid": numbers(grid),
                "ours": made.log_likelihood(grid),
            }
            if not column.categorical:
                lower, upper = ends(described)
                described["weights"] = made.weights.tolist()
                described["means"] = (lower + (upper - lower) * made.means).tolist()
                described["deviations"] = ((upper - lower) * made.deviations).tolist()
                if not column.whole:  # convert the density on [0, 1] to that of the scale
                    described["ours"] -= math.log(upper - lower)
            yield {**described, "ours": described["ours"].tolist()}


def ends(d: dict) -> tuple[float, float]:
    """Return the interval of a number in its scale, with a margin for every integer."""
    margin = 0.5 if d["kind"].endswith("integer") else 0.0
    lower, upper = d["bounds"][0] - margin, d["bounds"][1] + margin
    return (math.log(lower), math.log(upper)) if d["kind"].startswith("log") else (lower, upper)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("python", nargs="*", default=[ROOT / ".venv-openbox/bin/python"])
    parser.add_argument("--space", default="divbo")
    parser.add_argument("--evaluations", type=int, default=250)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(inside(json.load(sys.stdin))))
        return

    from costs import made_history

    from ensemble_search.optimizers._model_based.parzen import recency
    from ensemble_search.optimizers.tpe import TreeParzenEstimator
    from ensemble_search.runtime import plugins

    space = plugins.load("spaces", options.space)()
    history = made_history(space, options.evaluations, 100, 2)
    made = list(densities(space, history))
    kinds = sorted({d["kind"] for d in made})
    print(" " * 28 + "".join(f"{kind:>14s}" for kind in kinds))
    print(f"{'densities':28s}" + "".join(f"{count(made, kind):14d}" for kind in kinds))
    for python in options.python:
        if not shutil.which(python):
            raise errors.UserError(f"there is no Python '{python}'; `make peers` makes the default")
        command = [str(python), "-W", "ignore", __file__, "--inside"]
        done = subprocess.run(
            command, input=json.dumps(made), stdout=subprocess.PIPE, text=True, check=True
        )
        found = json.loads(done.stdout)
        for name, theirs in found["densities"].items():
            print(f"{name:28s}" + "".join(f"{apart(made, theirs, k):>14s}" for k in kinds))
        for name, theirs in found["weights"].items():
            ours = [recency(n) for n in LENGTHS]
            worst = max(np.abs(a - b).max() for a, b in zip(ours, theirs, strict=True))
            print(f"{name}, weights of up to {max(LENGTHS)} observations: {worst:.1e}")
        for name, theirs in found["good"].items():
            own = [int(TreeParzenEstimator().good(np.zeros(n)).sum()) for n in LENGTHS]
            same = "the same" if own == theirs else "NOT the same"
            print(f"{name}, number of good ones of up to {max(LENGTHS)}: {same}")


def count(made: list[dict], kind: str) -> int:
    """Count densities of a kind."""
    return sum(d["kind"] == kind for d in made)


def apart(made: list[dict], theirs: list, kind: str) -> str:
    """Write the largest difference of log densities of a kind; a dash if there are none."""
    pairs = [(d["ours"], t) for d, t in zip(made, theirs, strict=True) if d["kind"] == kind]
    if any(t is None for _, t in pairs):
        return "-"
    return f"{max(np.abs(np.subtract(o, t)).max() for o, t in pairs):.1e}"


# The following runs in the environment of the other project.


def inside(made: list[dict]) -> dict[str, dict]:
    """Return log densities, weights and numbers of good evaluations for the installed libraries."""
    found: dict[str, dict] = {"densities": {}, "weights": {}, "good": {}}
    try:
        from optuna.samplers._tpe.sampler import default_weights, hyperopt_default_gamma
    except ImportError:
        pass
    else:
        found["densities"]["Optuna's kernels"] = [optuna_kernels(d) for d in made]
        found["densities"]["Optuna"] = [optuna_estimator(d) for d in made]
        found["weights"]["Optuna"] = [default_weights(n).tolist() for n in LENGTHS]
        found["good"]["Optuna"] = [hyperopt_default_gamma(n) for n in LENGTHS]
    try:
        from hyperopt.tpe import linear_forgetting_weights
    except ImportError:
        pass
    else:
        found["densities"]["hyperopt"] = [hyperopt_estimator(d) for d in made]
        weights = [linear_forgetting_weights(n, 25).tolist() for n in LENGTHS]
        found["weights"]["hyperopt"] = weights
    return found


def optuna_kernels(d: dict) -> list[float] | None:
    """Mix Optuna's kernels, each truncated separately, with our kernels' weights in the bounds."""
    from optuna.samplers._tpe import probability_distributions as kernels
    from scipy.special import ndtr

    if d["kind"] == "category":
        return None
    log, whole = d["kind"].startswith("log"), d["kind"].endswith("integer")
    means, deviations = np.array(d["means"]), np.array(d["deviations"])
    low, high = (ndtr((end - means) / deviations) for end in ends(d))
    weights = np.array(d["weights"]) * (high - low)
    name = f"_Batched{'Discrete' * whole}Trunc{'Log' * log}NormDistributions"
    step = [1] if whole else []
    kernel = getattr(kernels, name)(means, deviations, *d["bounds"], *step)
    mixture = kernels._MixtureOfProductDistribution(weights / weights.sum(), [kernel])
    return mixture.log_pdf(np.array(d["grid"])[:, None]).tolist()


def optuna_estimator(d: dict) -> list[float]:
    """Estimate with Optuna, with hyperopt's parameters."""
    import optuna
    from optuna.samplers._tpe import parzen_estimator as parzen

    given = optuna.samplers.TPESampler.hyperopt_parameters()
    names = set(parzen._ParzenEstimatorParameters._fields)
    chosen = {k: v for k, v in given.items() if k in names} | {"multivariate": False}
    lower, upper = d["bounds"]
    log = d["kind"].startswith("log")
    if d["kind"] == "category":
        distribution = optuna.distributions.CategoricalDistribution(range(int(upper) + 1))
    elif d["kind"].endswith("integer"):
        distribution = optuna.distributions.IntDistribution(int(lower), int(upper), log=log)
    else:
        distribution = optuna.distributions.FloatDistribution(lower, upper, log=log)
    made = parzen._ParzenEstimator(
        {"x": np.array(d["observed"])},
        {"x": distribution},
        parzen._ParzenEstimatorParameters(**chosen),
    )
    return made.log_pdf({"x": np.array(d["grid"])}).tolist()


def hyperopt_estimator(d: dict) -> list[float]:
    """Estimate with hyperopt."""
    from hyperopt import tpe

    observed, grid = np.array(d["observed"]), np.array(d["grid"])
    if d["kind"] == "category":
        weights = tpe.linear_forgetting_weights(len(observed), 25)
        size = int(d["bounds"][1]) + 1
        counts = np.bincount(observed.astype(int), weights, size)
        p = tpe.tpe_cat_pseudocounts(counts, 1.0, np.full(size, 1 / size), (1,))
        return tpe.categorical_lpdf(grid.astype(int), p).tolist()
    low, high = ends(d)
    log = d["kind"].startswith("log")
    observed = np.log(observed) if log else observed
    # It orders equal numbers arbitrarily; then it matters which of them are recent.
    with mock.patch("numpy.argsort", partial(np.argsort, kind="stable")):
        mixture = tpe.adaptive_parzen_normal(observed, 1.0, (low + high) / 2, high - low)
    if d["kind"].endswith("integer"):
        density = tpe.LGMM1_lpdf if log else tpe.GMM1_lpdf
        return density(grid, *mixture, low=low, high=high, q=1).tolist()
    grid = np.log(grid) if log else grid
    return tpe.GMM1_lpdf(grid, *mixture, low=low, high=high).tolist()


if __name__ == "__main__":
    errors.run(main)
