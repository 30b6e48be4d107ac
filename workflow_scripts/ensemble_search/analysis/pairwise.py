"""Pairwise comparison of methods over data sets, as in the ESMBO paper (Lacoste et al., 2014)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import binom

from ensemble_search.analysis import curves, poisson_binomial
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import DIGITS, Comparison, rank
from ensemble_search.runtime.files import Missing

#: Number of final iterations over which the paper averages; of full fits in budgets in these.
LAST = 15
#: Pairs of rows whose losses are compared at a time, to save memory.
CHUNK = 100


@dataclass(frozen=True)
class Pairwise:
    """Pairwise comparison of methods at equal budgets: iterations are ``curves.unit``s."""

    #: One row per ordered pair: ``method``, ``against``, ``winning_frequency``, ``probability``
    #: (that ``method`` is better than ``against``, by the Poisson binomial test; NaN if unknown)
    #: and ``p`` (of the two-sided sign test), averaged over the last :data:`LAST` iterations.
    pairs: pd.DataFrame
    ranks: pd.Series  #: expected rank by method, averaged over the same iterations
    iterations: tuple[int, int]  #: the first and the last of these iterations
    rank_curves: pd.DataFrame  #: columns ``iteration``, ``method``, ``rank``
    #: Columns ``iteration``, ``method``, ``probability`` that the reference is better than
    #: ``method``.
    probability_curves: pd.DataFrame
    reason: str  #: reason why the Poisson binomial test is missing; empty if it exists


def compare(results: Results, compared: Comparison, reference: str) -> Pairwise:
    """Compare all methods; ``probability_curves`` are those of the ``reference``.

    Raises Unusable if a file with the losses of individual test samples is damaged.
    """
    compared = curves.over_budget(results, compared)
    methods = compared.methods
    losses = mean_losses(compared)
    iterations = 1 + np.arange(len(losses))
    last = slice(-LAST, None)
    won = wins(losses[last])
    pairs = np.array(list(combinations(range(len(methods)), 2)))
    place = methods.index(reference)
    others = np.array([(place, i) for i in range(len(methods)) if i != place])
    found = chances(results, compared, [(iterations[last], pairs), (iterations, others)])
    probability = np.full((len(methods), len(methods)), np.nan)
    against = np.full((len(iterations), len(others)), np.nan)
    if not isinstance(found, str):
        probability[tuple(pairs.T)] = poisson_binomial.better(found[0]).mean(axis=0)
        probability[tuple(pairs.T[::-1])] = 1 - probability[tuple(pairs.T)]
        against = poisson_binomial.better(found[1])
    ranks = expected_ranks(losses)
    first, second = np.nonzero(~np.eye(len(methods), dtype=bool))
    table = {
        "method": np.array(methods)[first],
        "against": np.array(methods)[second],
        "winning_frequency": won.mean(axis=(0, 1))[first, second],
        "probability": probability[first, second],
        "p": sign_test(won).mean(axis=0)[first, second],
    }
    return Pairwise(
        pd.DataFrame(table),
        pd.Series(ranks[last].mean(axis=0), methods),
        (int(iterations[last][0]), int(iterations[-1])),
        _curves(ranks, methods, "rank"),
        _curves(against, [methods[i] for _, i in others], "probability"),
        found if isinstance(found, str) else "",
    )


def _curves(values: np.ndarray, methods: list[str], name: str) -> pd.DataFrame:
    """Reshape values of shape (iterations, methods) to one column."""
    index = pd.RangeIndex(1, len(values) + 1, name="iteration")
    wide = pd.DataFrame(values, index, methods).rename_axis(columns="method")
    return wide.stack().rename(name).reset_index()


def mean_losses(compared: Comparison) -> np.ndarray:
    """Mean test loss over the repeats of a data set, of shape (iterations, data sets, methods).

    An iteration without a model is treated as in ``Losses.with_failures``.
    """
    frame = compared.scores
    losses = compared.losses.with_failures(frame["test_error"], frame["dataset"])
    frame = frame.assign(test_error=losses)
    groups = frame.groupby(["iteration", "dataset", "method"], observed=True)["test_error"]
    wide = groups.mean().unstack("method")[compared.methods]
    return wide.to_numpy().reshape(-1, len(compared.datasets), len(compared.methods))


def wins(losses: np.ndarray) -> np.ndarray:
    """Whether the first method of a pair has the lower loss: 1, 0, or 1/2 for a tie.

    From losses of shape (..., methods) to wins of shape (..., methods, methods).
    """
    losses = losses.round(DIGITS)
    return (1 + np.sign(losses[..., None, :] - losses[..., :, None])) / 2


def expected_ranks(losses: np.ndarray) -> np.ndarray:
    """Mean over data sets of 1 + the number of methods that win against a method; ties count 1/2.

    ``losses`` come from :func:`mean_losses`. The result is of shape (iterations, methods); the
    ranks of k methods sum to k (k + 1) / 2.
    """
    return rank(losses).mean(axis=1)


def sign_test(wins: np.ndarray) -> np.ndarray:
    """Two-sided p-value of wins and losses as unequal as these if both methods are equally good.

    Ties are left out. From wins of shape (..., data sets, methods, methods) to p of shape (...,
    methods, methods), which is symmetric: winning frequencies show who is ahead. The paper does not
    say whether its test is one- or two-sided.
    """
    won, lost = ((wins == outcome).sum(axis=-3) for outcome in (1, 0))
    return np.minimum(1, 2 * binom.sf(np.maximum(won, lost) - 1, won + lost, 0.5))


def chances(
    results: Results, compared: Comparison, questions: Sequence[tuple[np.ndarray, np.ndarray]]
) -> list[np.ndarray] | str:
    """Probability that a method is better than another on each data set, from the test samples.

    It compares the models that the two deliver in a repeat, averaged over repeats. No model is
    worse than any model.

    ``compared`` comes from ``curves.over_budget``. A question has iterations, of shape (n,), and
    pairs of methods by position, of shape (n_pairs, 2). Its answer is of shape (n, n_pairs, data
    sets). If there are none, the reason is returned.
    Raises Unusable if a file is damaged.
    """
    found = [np.zeros((len(i), len(pairs), len(compared.datasets))) for i, pairs in questions]
    for place, dataset in enumerate(compared.datasets):
        runs = compared.scores[compared.scores["dataset"] == dataset]
        repeats = runs["repeat"].unique()
        for repeat in repeats:
            try:
                stored = [results.sample_losses(m, dataset, repeat) for m in compared.methods]
            except Missing:
                return (
                    "not all ensembles have the losses of single test samples, which older "
                    "versions of the project did not store; the next run of the study rebuilds "
                    "these ensembles"
                )
            sizes = {losses.shape[1] for _, losses in stored if len(losses)}
            if 0 in sizes:
                return "the metric is not a mean over test samples"
            if len(sizes) > 1:
                return f"the methods were tested on different rows of {dataset}"
            run = runs[runs["repeat"] == repeat]
            done = run.pivot(index="iteration", columns="method", values="evaluations")
            done = done[compared.methods].to_numpy()
            for array, (iterations, pairs) in zip(found, questions, strict=True):
                array[:, :, place] += of_run(stored, done[iterations - 1], pairs) / len(repeats)
    return found


def of_run(
    stored: list[tuple[np.ndarray, np.ndarray]], evaluations: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """Chances in one run, from the losses of every method; see :func:`chances`.

    ``stored`` has ``Results.sample_losses`` of every method; ``evaluations`` are of shape (n,
    methods), and ``pairs`` of methods by position of shape (n_pairs, 2). Returns shape (n,
    n_pairs).
    """
    kept = [losses for _, losses in stored if len(losses)]
    if not kept:
        return np.full((len(evaluations), len(pairs)), 0.5)
    losses = np.concatenate([np.zeros_like(kept[0][:1]), *kept])  # row 0 represents no model
    rows = np.zeros((len(evaluations), len(stored)), dtype=int)
    start = 0
    for method, (changes, own) in enumerate(stored):
        count = np.searchsorted(changes, evaluations[:, method], side="right")
        rows[:, method] = np.where(count, start + count, 0)
        start += len(own)
    # Compute each pair of rows once, because most ensembles persist for several iterations.
    codes, places = np.unique(rows[:, pairs] @ [len(losses), 1], return_inverse=True)
    first, second = np.divmod(codes, len(losses))
    compare = _labels if losses.dtype == bool else _losses
    better = np.where(
        (first > 0) & (second > 0),
        compare(losses, first, second),
        (1 + (first > 0) - (second > 0)) / 2,
    )
    return better[places].reshape(len(evaluations), len(pairs))


def _labels(wrong: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Chances for pairs of rows of wrong labels, counted in 64-bit words."""
    packed = np.packbits(wrong, axis=1)
    words = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
    counts = np.bitwise_count(words).sum(axis=1, dtype=int)
    both = np.bitwise_count(words[first] & words[second]).sum(axis=1, dtype=int)
    return poisson_binomial.of_labels(counts[second] - both, counts[first] - both)


def _losses(losses: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Chances for pairs of rows of losses."""
    parts = [slice(i, i + CHUNK) for i in range(0, len(first), CHUNK)]
    return np.concatenate(
        [poisson_binomial.of_losses(losses[first[p]], losses[second[p]]) for p in parts]
    )
