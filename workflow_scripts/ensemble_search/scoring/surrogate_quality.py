"""How well a surrogate predicts what it has not seen (DivBO paper, Section 4.2 and Figure 2)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.evaluation.status import OK
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.problems.diversity import pairwise
from ensemble_search.results import readers
from ensemble_search.runtime.files import check
from ensemble_search.spaces.base import Space
from ensemble_search.surrogates.base import DiversitySurrogate, PerformanceSurrogate

#: What is predicted: an observed and a held-out configuration, two held-out ones, or the error.
PROTOCOLS = ("observed", "held-out", "error")


@dataclass(frozen=True)
class Evaluated:
    """Configurations that could be fitted, and what came of it.

    Attributes
    ----------
    vectors
        Encoded, float32, of shape (n, n_hyperparameters).
    categories
        Number of categories of each hyperparameter, 0 of a number.
    errors
        Validation errors, of shape (n,).
    diversities
        Of every pair, on the validation set (Eq. 3), of shape (n, n).
    """

    vectors: np.ndarray
    categories: np.ndarray
    errors: np.ndarray
    diversities: np.ndarray


def read(folder: Path, space: Space) -> Evaluated:
    """Read the successful evaluations of a search's folder, in their order.

    Raises
    ------
    UserError
        If a file is missing, damaged or not that of the search.
    """
    check(folder / "search.json")
    table = readers.observations(folder, ["status", "error"], others="config.")
    ok = np.flatnonzero([status == OK for status in table["status"].to_pylist()])
    names = [name for name in table.column_names if name.startswith("config.")]
    rows = table.select(names).take(ok).to_pylist()
    configurations = [
        space.configuration({n.removeprefix("config."): v for n, v in row.items() if v is not None})
        for row in rows
    ]
    predictions = readers.predictions(folder, "validation", table.num_rows)
    return Evaluated(
        space.encode(configurations).astype(np.float32),
        space.categories,
        table["error"].to_numpy()[ok],
        pairwise([CLASSIFICATION.expand(np.asarray(predictions[i])) for i in ok]),
    )


def assess(
    surrogate: PerformanceSurrogate | DiversitySurrogate,
    evaluated: Evaluated,
    sizes: Sequence[int],
    held_out: int,
    seed: Sequence[int],
) -> list[dict[str, Any]]:
    """Fit a surrogate on growing numbers of configurations, and compare it with the held-out ones.

    The configurations are shuffled by ``seed`` alone: every surrogate learns from the same first
    ``size`` and is asked for the same last ``held_out``, which no fit ever sees. A pair is never
    split: pairs of the held-out are apart from those that were learnt from, not only other pairs.

    Parameters
    ----------
    sizes
        Numbers of configurations to fit on.
    held_out
        Configurations to predict; ``max(sizes) + held_out`` must not exceed n.

    Returns
    -------
    rows
        One a size and protocol (:data:`PROTOCOLS`: ``error`` for a performance surrogate, the other
        two for one of diversity): ``observations``, ``protocol``, ``pairs`` (predictions made),
        ``tau`` (Kendall's tau-b of the predicted mean and the truth; NaN if either is constant),
        ``within_1`` and ``within_2`` (share of the truths within the mean plus or minus so many
        predicted standard deviations), ``absolute_error`` and ``spread`` (means of the absolute
        difference and of the predicted standard deviation), ``fit_cpu_seconds`` and
        ``predict_cpu_seconds``.
    """
    n = len(evaluated.errors)
    if max(sizes) + held_out > n:
        raise ValueError(f"{max(sizes)} + {held_out} configurations are more than {n}")
    order = np.random.default_rng(seed).permutation(n)
    new = order[n - held_out :]
    _fit(surrogate, evaluated, order[:2], np.random.default_rng(seed))  # so that imports are done
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
    """Compare predictions with the truth, each of shape (n,); :func:`assess` names the figures."""
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
    """Return the mean, the spread and the truth of what a protocol asks for."""
    if protocol == "error":
        return *model(evaluated.vectors[new]), evaluated.errors[new]
    known = old if protocol == "observed" else new
    chosen = np.ones((len(new), len(known)), dtype=bool)
    if protocol == "held-out":
        chosen = np.triu(chosen, 1)
    # The unseen one first, as DivBO asks: a model may treat the two of a pair differently.
    members = model(evaluated.vectors[new], evaluated.vectors[known])[:, chosen]
    truth = evaluated.diversities[np.ix_(new, known)][chosen]
    return members.mean(axis=0), members.std(axis=0), truth
