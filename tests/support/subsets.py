"""The law of a DPP by the determinants of all subsets, and distances of samples from a law."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np

Law = dict[tuple[int, ...], float]


def determinants(kernel: np.ndarray, sizes: Iterable[int]) -> Law:
    """det(L_A) of all subsets of these sizes, 0 for those negative by rounding."""
    sets = (items for k in sizes for items in combinations(range(len(kernel)), k))
    return {items: max(np.linalg.det(kernel[np.ix_(items, items)]), 0.0) for items in sets}


def law(kernel: np.ndarray, k: int | None = None) -> Law:
    """The k-DPP, or the DPP."""
    weights = determinants(kernel, range(len(kernel) + 1) if k is None else [k])
    total = sum(weights.values())
    return {items: weight / total for items, weight in weights.items()}


def inclusion(law: Law, n_items: int) -> np.ndarray:
    """The probability of each item to be in the set, (n_items,)."""
    result = np.zeros(n_items)
    for items, probability in law.items():
        result[list(items)] += probability
    return result


def distance(sample: Callable[[], np.ndarray], law: Law, draws: int) -> float:
    """Total variation of the frequencies of sets from a law, over its 0.999 quantile under the law.

    So it is below 1 with probability 0.999 if the law is right; draws of the law itself give the
    quantile. Sets of other sizes, or with an item twice, are outside the law.
    """
    counts = Counter(tuple(sorted(sample().tolist())) for _ in range(draws))
    found, p = np.array([counts[items] for items in law]), np.array([*law.values()])
    by_chance = np.random.default_rng(0).multinomial(draws, p, 10_000)
    expected = np.quantile(abs(by_chance / draws - p).sum(axis=1), 0.999)
    outside = 1 - found.sum() / draws
    return (abs(found / draws - p).sum() + outside) / max(expected, 1 / draws)
