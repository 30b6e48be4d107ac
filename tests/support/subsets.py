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
    """Total variation of the frequencies of sets from a law, over what sampling explains.

    With probability 0.999 it is below 1 if the law is right: the mean is at most the sum of the
    standard errors / 2, and McDiarmid's inequality bounds the rest. Sets of other sizes, or with
    an item twice, are outside the law.
    """
    counts = Counter(tuple(sorted(sample().tolist())) for _ in range(draws))
    frequencies = {items: count / draws for items, count in counts.items()}
    gaps = [abs(frequencies.get(a, 0) - law.get(a, 0)) for a in law.keys() | frequencies.keys()]
    p = np.array(list(law.values()))
    expected = np.sqrt(p * (1 - p) / draws).sum() / 2
    return sum(gaps) / 2 / (expected + np.sqrt(np.log(1e3) / 2 / draws))
