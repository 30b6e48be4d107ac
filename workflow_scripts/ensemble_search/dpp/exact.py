"""Exact sampling, inclusion probabilities and normalisers of DPPs and k-DPPs on finite sets.

An L-ensemble gives a set A of items a probability proportional to det(L_A), where
L_ij = q_i S_ij q_j has qualities q and similarities S. A k-DPP is the same given that A has k items
(Kulesza and Taskar, "k-DPPs: fixed-size determinantal point processes", 2011, and "Determinantal
point processes for machine learning", 2012).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ensemble_search.dpp.checks import (
    ROUNDING,
    check_quality,
    check_similarity,
    check_size,
    not_semidefinite,
    number,
    shown,
)
from ensemble_search.dpp.generator import check_generator
from ensemble_search.dpp.graded import graded
from ensemble_search.dpp.residuals import Residuals
from ensemble_search.runtime.errors import UserError

#: Qualities below this fraction of the largest need singular values with relative accuracy.
GRADED = 1e-3
#: So do features whose weighted singular values are less than this many times their rounding error.
SAFE = 1e6
#: Largest logarithm of item sizes that can be squared and summed.
LARGE = 300.0


@dataclass(frozen=True, eq=False)
class LEnsemble:
    """An L-ensemble, given by its eigenvalues and eigenvectors.

    In all methods, ``k=None`` means the DPP, whose sets have any size, and an integer means the
    k-DPP. If k is not from 1 to the rank, they raise ``UserError``.

    Parameters
    ----------
    log_values
        Logarithms of the positive eigenvalues of L, (rank,).
    vectors
        Orthonormal eigenvectors for these, (N, rank).
    """

    log_values: np.ndarray
    vectors: np.ndarray
    _of_size: dict[int, "Elementary"] = field(default_factory=dict, init=False, repr=False)

    def _elementary(self, k: int) -> "Elementary":
        """Polynomials of the last k, cached for repeated draws."""
        k = check_size(k, self.rank, "the rank of the kernel")
        if k not in self._of_size:
            self._of_size.clear()
            self._of_size[k] = Elementary(self.log_values, k)
        return self._of_size[k]

    @classmethod
    def from_similarity(
        cls, similarity: np.ndarray, quality: np.ndarray | None = None
    ) -> "LEnsemble":
        """Decompose L = diag(q) S diag(q); O(N^3).

        The rank is numerical: eigenvalues of S count as 0 unless they exceed both rounding (N times
        the machine precision times the largest) and the absolute value of the most negative one.
        Two items whose similarity equals the square root of the product of their variances, up to
        rounding, are duplicates: no set contains both. Items of quality 0 are left out; other
        qualities do not change the rank, however small they are.

        Parameters
        ----------
        similarity
            S, (N, N), symmetric and positive semidefinite.
        quality
            q, (N,), non-negative; default all 1.

        Raises
        ------
        UserError
            If S is not symmetric or positive semidefinite beyond rounding (1e-6 of the largest
            entry or eigenvalue), anything is not finite, or a quality is negative.
        """
        similarity = check_similarity(similarity)
        quality = check_quality(quality, len(similarity))
        items = np.flatnonzero(quality)
        if not len(items):
            return cls(np.empty(0), np.empty((len(quality), 0)))
        similarity = _with_equal_duplicates(similarity[np.ix_(items, items)])
        logs = np.log(quality[items])
        scales = _scales(np.sqrt(similarity.diagonal()), logs)
        values, vectors = np.linalg.eigh(similarity / scales[:, None] / scales)
        values, vectors = values[::-1], vectors[:, ::-1]
        if values[-1] < -ROUNDING * np.abs(values).max():
            raise not_semidefinite(values[-1])
        noise = len(values) * np.finfo(float).eps * max(values[0], 0)
        keep = values > max(noise, -values[-1])
        values, vectors = np.sqrt(values[keep]), vectors[:, keep]
        error = np.finfo(float).eps * values[:1] ** 2 / values[-1:]
        logs += np.log(scales)
        most = logs.max()
        weights = np.exp(logs - most)
        log_values = np.log(values)
        if not len(values) or weights.min() == 1:
            pass
        elif weights.min() > GRADED and weights.min() * values[-1] > SAFE * error[0]:
            vectors, values, _ = np.linalg.svd(
                weights[:, None] * (vectors * values), full_matrices=False
            )
            log_values = np.log(values)
        else:
            vectors, log_values = graded(vectors * values, logs - most, error[0])
        whole = np.zeros((len(quality), len(log_values)))
        whole[items] = vectors
        return cls(2 * (log_values + most), whole)

    @property
    def rank(self) -> int:
        """Number of positive eigenvalues, the maximum size of a set."""
        return len(self.log_values)

    def of_expected_size(self, size: float) -> "LEnsemble":
        """Scale L so that the DPP has this expected size; ``UserError`` unless 0 < size < rank."""
        scale = log_scale(self.log_values, size)
        return replace(self, log_values=self.log_values + scale)

    def inclusion(self, k: int | None = None) -> np.ndarray:
        """Compute the probability that each item is in a drawn set, (N,)."""
        weights = heads(self.log_values) if k is None else self._elementary(k).inclusion()
        return np.minimum(self.vectors**2 @ weights, 1)

    def sample(self, rng: np.random.Generator, k: int | None = None) -> np.ndarray:
        """Draw a set; O(N k^2) once decomposed.

        The same generator state gives the same items on the same machine. Eigenvectors of equal
        eigenvalues are arbitrary, so another LAPACK may draw a different set from the same
        distribution.

        Returns
        -------
        np.ndarray
            Distinct items, (k,), in random order. The first j are *not* a j-DPP.

        Raises
        ------
        UserError
            If k is out of range, or ``rng`` is not a generator.
        """
        check_generator(rng)
        if k is None:
            chosen = np.flatnonzero(rng.random(self.rank) < heads(self.log_values))
        else:
            chosen = self._elementary(k).draw(rng)
        vectors = self.vectors[:, chosen]
        variances = (vectors**2).sum(axis=1)
        # Subnormal numbers have few digits. Items with such probabilities are never drawn.
        variances[variances < np.finfo(float).tiny / np.finfo(float).eps] = 0
        residuals = Residuals(variances, lambda item: vectors @ vectors[item], len(chosen))
        items = []
        for _ in chosen:
            items.append(residuals.draw(rng))
            residuals.choose(items[-1])
        return np.array(items, dtype=int)


def _with_equal_duplicates(similarity: np.ndarray) -> np.ndarray:
    """Make rows of duplicates proportional: those of close points may differ by 1e-8 elsewhere."""
    roots = np.sqrt(similarity.diagonal())
    roots[roots == 0] = np.inf
    # Above 1, the matrix is not positive semidefinite; the decomposition reports that.
    correlations = np.abs(similarity / roots[:, None] / roots)
    alike = np.abs(correlations - 1) <= 4 * np.finfo(float).eps
    first = alike.argmax(axis=1)
    later = np.flatnonzero(alike.any(axis=1) & (first < np.arange(len(first))))
    if len(later):
        similarity = similarity.copy()
        for item, other in zip(later, first[later], strict=True):
            ratio = similarity[other, item] / similarity[other, other]
            similarity[item] = ratio * similarity[other]
            similarity[:, item] = ratio * similarity[:, other]
    return similarity


def _scales(sizes: np.ndarray, log_quality: np.ndarray) -> np.ndarray:
    """Return the divisors of items before decomposition: 1, or their sizes if these matter.

    Parameters
    ----------
    sizes
        Approximate square roots of the variances, (N,), non-negative.
    log_quality
        (N,).
    """
    logs = np.log(sizes[sizes > 0])
    safe = np.abs(logs).max(initial=0) < LARGE
    if safe and max(np.ptp(part) for part in (log_quality, logs) if len(part)) < -np.log(GRADED):
        return np.ones(len(sizes))
    return np.where(sizes > 0, sizes, 1)


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
        If size is not between 0 and r, both excluded.
    """
    rank = len(log_values)
    if not 0 < number(size) < rank:
        raise UserError(
            f"the expected size is {shown(size)}, must be between 0 and the rank, {rank}"
        )
    size = number(size)
    even = np.log(size) - np.log(rank - size)  # the solution if all eigenvalues were 1
    low, high = even - log_values.max(), even - log_values.min()
    for _ in range(64):
        middle = (low + high) / 2
        if heads(log_values + middle).sum() < size:
            low = middle
        else:
            high = middle
    return float(high)


def heads(log_values: np.ndarray) -> np.ndarray:
    """Compute each coin's probability of heads, λ / (1 + λ), (r,)."""
    return np.exp(-np.logaddexp(0, -log_values))


class Elementary:
    """The k-th elementary symmetric polynomial e_k of eigenvalues, and the k-DPP it normalises.

    Parameters
    ----------
    log_values
        Logarithms of the r positive eigenvalues λ, (r,).
    k
        From 1 to r (else ``UserError``). The cost is O(r k).
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
        """Probability of j heads among the first n coins, (r + 1, k + 1)."""
        counts = np.zeros((len(log_values) + 1, self._k + 1))
        counts[0, 0] = 1
        for n, (head, tail) in enumerate(zip(heads(log_values), heads(-log_values), strict=True)):
            counts[n + 1] = tail * counts[n]
            counts[n + 1, 1:] += head * counts[n, :-1]
        return counts

    def inclusion(self) -> np.ndarray:
        """Compute the probability that each eigenvector is among the k, (r,)."""
        before, after = self._counts, self._count(self._tilted[::-1])
        # Among the others, j heads before it and k - 1 - j after it.
        others = (before[:-1, :-1] * after[-2::-1, -2::-1]).sum(axis=1)
        return self._heads * others / before[-1, -1]

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the k eigenvectors of a k-DPP; return their indices, (k,), descending."""
        counts, left, chosen = self._counts, self._k, []
        uniform = rng.random(len(self._heads))
        for n in range(len(uniform) - 1, -1, -1):
            if uniform[n] * counts[n + 1, left] < self._heads[n] * counts[n, left - 1]:
                chosen.append(n)
                left -= 1
                if not left:
                    break
        return np.array(chosen)
