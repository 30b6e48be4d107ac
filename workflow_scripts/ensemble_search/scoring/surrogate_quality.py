"""Accuracy of surrogates on unseen configurations (DivBO paper, Section 4.2 and Figure 2)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.evaluation import table as tables
from ensemble_search.problems.diversity import pairwise
from ensemble_search.problems.tasks import PROBLEMS
from ensemble_search.results import readers
from ensemble_search.runtime.files import Unusable
from ensemble_search.runtime.names import CONFIGURATION, OK
from ensemble_search.spaces.base import Space
from ensemble_search.surrogates.base import DiversitySurrogate, PerformanceSurrogate

#: Targets: pairs of an observed and a held-out configuration, two held-out ones, or errors.
PROTOCOLS = ("observed", "held-out", "error")


@dataclass(frozen=True)
class Evaluated:
    """Successful evaluations of a search on all training rows."""

    vectors: np.ndarray  #: encoded configurations, float32, of shape (n, n_hyperparameters)
    categories: np.ndarray  #: number of categories of each hyperparameter, 0 if it is numerical
    errors: np.ndarray  #: validation errors, of shape (n,)
    diversities: np.ndarray  #: pairwise diversities on the validation set (Eq. 3), of shape (n, n)


def read(folder: Path, space: Space, most: int | None = None, data: str | None = None) -> Evaluated:
    """Read the first ``most`` successful evaluations on all training rows of a search or table.

    They must have the space's task and, if ``data`` is given, the split with this checksum. Raises
    UserError if a file is missing, damaged or does not belong to the search.
    """
    problem = PROBLEMS[space.task]
    if (folder / tables.MANIFEST).exists():
        made_on = tables.Table.read(folder).manifest["data"]
        if data not in (None, made_on):
            raise Unusable(folder / tables.MANIFEST, "it is of another split, or of other data")
    else:
        readers.checked_search(folder, data=data)
    names = ["status", "error", "fidelity"]
    table = readers.observations(folder, names, others=CONFIGURATION)
    outcomes = zip(*(table[name].to_pylist() for name in ("status", "fidelity")), strict=True)
    ok = np.flatnonzero([outcome == (OK, 1.0) for outcome in outcomes])[:most]
    configurations = space.configurations(tables.configurations(table.take(ok)))
    predictions = tables.mapped(folder, "validation", table.num_rows)
    return Evaluated(
        space.encode(configurations).astype(np.float32),
        space.categories,
        table["error"].to_numpy()[ok],
        pairwise([problem.expand(np.asarray(predictions[i])) for i in ok], problem),
    )


def assess(
    surrogate: PerformanceSurrogate | DiversitySurrogate,
    evaluated: Evaluated,
    sizes: Sequence[int],
    held_out: int,
    seed: Sequence[int],
) -> list[dict[str, Any]]:
    """Fit a surrogate on growing numbers of configurations and test it on held-out ones.

    Only ``seed`` determines the shuffling: every surrogate is fitted on the same first ``size``
    configurations and predicts the same last ``held_out``, which are in no pair that is fitted.
    ``max(sizes) + held_out`` must not exceed their number.

    One row per size and protocol (:data:`PROTOCOLS`: ``error`` for performance surrogates, the
    other two for diversity surrogates): ``observations``, ``protocol``, ``pairs`` (number of
    predictions), ``tau`` (Kendall's tau-b of predicted mean and truth; NaN if either is constant),
    ``within_1`` and ``within_2`` (share of truths within one and two predicted standard deviations
    of the mean), ``absolute_error`` and ``spread`` (mean absolute error and mean predicted standard
    deviation), ``fit_cpu_seconds`` and ``predict_cpu_seconds``.
    """
    n = len(evaluated.errors)
    if max(sizes) + held_out > n:
        raise ValueError(f"{max(sizes)} + {held_out} configurations are more than {n}")
    order = np.random.default_rng(seed).permutation(n)
    new = order[n - held_out :]
    _fit(surrogate, evaluated, order[:2], np.random.default_rng(seed))  # to load its imports
    rows = []
    for size in sizes:
        old = order[:size]
        start = time.process_time()
        model = _fit(surrogate, evaluated, old, np.random.default_rng([*seed, size]))
        fitted = {"observations": size, "fit_cpu_seconds": time.process_time() - start}
        for protocol in PROTOCOLS[:2] if isinstance(surrogate, DiversitySurrogate) else ["error"]:
            start = time.process_time()
            mean, spread, truth = _ask(model, protocol, evaluated, old, new)
            seconds = time.process_time() - start
            found = compare(mean, spread, truth)
            rows.append({**fitted, "protocol": protocol, **found, "predict_cpu_seconds": seconds})
    return rows


def compare(mean: np.ndarray, spread: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Compare predictions with the truth, each of shape (n,); see :func:`assess`."""
    from scipy.stats import kendalltau

    distance = np.abs(truth - mean)
    return {
        "pairs": len(truth),
        "tau": float(kendalltau(mean, truth).statistic),
        "within_1": float(np.mean(distance <= spread)),
        "within_2": float(np.mean(distance <= 2 * spread)),
        "absolute_error": float(distance.mean()),
        "spread": float(spread.mean()),
    }


def _fit(surrogate, evaluated: Evaluated, chosen: np.ndarray, rng: np.random.Generator):
    if isinstance(surrogate, DiversitySurrogate):
        known = evaluated.diversities[np.ix_(chosen, chosen)]
    else:
        known = evaluated.errors[chosen]
    return surrogate.fit(evaluated.vectors[chosen], known, evaluated.categories, rng)


def _ask(model, protocol: str, evaluated: Evaluated, old: np.ndarray, new: np.ndarray):
    """Return predicted mean, predicted spread and truth for a protocol."""
    if protocol == "error":
        return *model(evaluated.vectors[new]), evaluated.errors[new]
    known = old if protocol == "observed" else new
    chosen = np.ones((len(new), len(known)), dtype=bool)
    if protocol == "held-out":
        chosen = np.triu(chosen, 1)
    # The unseen configuration comes first, as in DivBO, because a model may be asymmetric.
    members = model(evaluated.vectors[new], evaluated.vectors[known])[:, chosen]
    truth = evaluated.diversities[np.ix_(new, known)][chosen]
    return members.mean(axis=0), members.std(axis=0), truth
