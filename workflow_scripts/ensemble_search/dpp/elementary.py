"""Elementary symmetric polynomials of eigenvalues, as the law of a sum of coins.

The k eigenvectors behind a k-DPP are chosen with probability proportional to the product of their
eigenvalues. So are coins that show heads with probability p = c λ / (1 + c λ), given that k of them
do, for any c > 0. With the c for which k are expected, no probability that matters is small: the
sums below have positive terms only, and lose no digits, whatever the spectrum and its scale.
"""

import numpy as np

from ensemble_search.dpp.checks import check_size, is_number
from ensemble_search.runtime.errors import UserError


def log_scale(log_values: np.ndarray, size: float) -> float:
    """Find log c such that a DPP with the eigenvalues c λ has an expected size.

    Parameters
    ----------
    log_values
        Logarithms of the r positive eigenvalues λ, (r,).
    size
        Expected number of items.

    Raises
    ------
    UserError
        Unless 0 < size < r.
    """
    rank = len(log_values)
    if not (is_number(size) and 0 < size < rank):
        raise UserError(f"the expected size is {size!r}, must be between 0 and the rank, {rank}")
    even = np.log(size) - np.log(rank - size)  # were all eigenvalues 1
    low, high = even - log_values.max(), even - log_values.min()
    for _ in range(64):
        middle = (low + high) / 2
        if heads(log_values + middle).sum() < size:
            low = middle
        else:
            high = middle
    return float(high)


def heads(log_values: np.ndarray) -> np.ndarray:
    """Compute the probability λ / (1 + λ) of every coin, (r,)."""
    return np.exp(-np.logaddexp(0, -log_values))


class Elementary:
    """The k-th elementary symmetric polynomial e_k of eigenvalues, and what it normalises.

    Parameters
    ----------
    log_values
        Logarithms of the r positive eigenvalues λ, (r,).
    k
        From 1 to r (else ``UserError``). The costs are O(r k).
    """

    def __init__(self, log_values: np.ndarray, k: int):
        rank = len(log_values)
        k = check_size(k, rank, "the rank of the kernel")
        self._k = k
        self._scale = log_scale(log_values, min(k, rank - 0.5))
        self._tilted = log_values + self._scale
        self._heads = heads(self._tilted)
        self._counts = self._count(self._tilted)

    def _count(self, log_values: np.ndarray) -> np.ndarray:
        """Probability that of the first n coins j show heads, (r + 1, k + 1)."""
        counts = np.zeros((len(log_values) + 1, self._k + 1))
        counts[0, 0] = 1
        for n, (head, tail) in enumerate(zip(heads(log_values), heads(-log_values), strict=True)):
            counts[n + 1] = tail * counts[n]
            counts[n + 1, 1:] += head * counts[n, :-1]
        return counts

    def inclusion(self) -> np.ndarray:
        """Compute the probability that each eigenvector is one of the k, (r,)."""
        before, after = self._counts, self._count(self._tilted[::-1])
        # Of the others, j before it and k - 1 - j after it.
        others = (before[:-1, :-1] * after[-2::-1, -2::-1]).sum(axis=1)
        return self._heads * others / before[-1, -1]

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the k eigenvectors of a k-DPP; their numbers, (k,), descending."""
        counts, left, chosen = self._counts, self._k, []
        uniform = rng.random(len(self._heads))
        for n in range(len(uniform) - 1, -1, -1):
            if uniform[n] * counts[n + 1, left] < self._heads[n] * counts[n, left - 1]:
                chosen.append(n)
                left -= 1
                if not left:
                    break
        return np.array(chosen)
