"""Exact k-DPPs that depend only on the items' strata, for any number of items."""

import numpy as np

from ensemble_search.dpp.checks import check_quality, check_size, number
from ensemble_search.dpp.generator import check_generator
from ensemble_search.runtime.errors import UserError


def sample_strata(
    strata: np.ndarray,
    k: int,
    alpha: float,
    rng: np.random.Generator,
    quality: np.ndarray | None = None,
) -> np.ndarray:
    """Draw k items by the kernel L = diag(q) ((1 - alpha) I + alpha S) diag(q).

    S is 1 for two items in the same stratum and 0 otherwise, and q is constant within a stratum.
    With alpha 0, the draw is uniform (if q is); with alpha 1, no stratum has two items, so that as
    many items as strata are a stratified sample. The determinant of a set depends only on the
    numbers m_c of items in the strata c. These are drawn first, then the items uniformly:

    P(m) ~ prod over m_c > 0 of binom(N_c, m_c) q_c^(2 m_c) (1-alpha)^(m_c-1) (1-alpha+alpha m_c)

    Parameters
    ----------
    strata
        Stratum of every item, (N,): integers from 0 without gaps.
    k
        Number of items; the cost is O(k N).
    alpha
        From 0 to 1.
    rng
        Generator.
    quality
        q of every stratum, positive; default all 1.

    Returns
    -------
    np.ndarray
        Items, (k,), in random order.

    Raises
    ------
    UserError
        If k is not from 1 to N (with alpha 1, to the number of strata), alpha is outside [0, 1], a
        quality is not positive, or strata or the generator are invalid.
    """
    check_generator(rng)
    alpha = check_alpha(alpha)
    strata = check_strata(strata, len(integers(strata, "strata")), "strata")
    sizes = np.bincount(strata)
    if not sizes.all():
        raise UserError(f"strata must be without gaps; none is {sizes.argmin()}")
    k = check_size(k, len(strata), "the number of items")
    if alpha == 1:
        check_size(k, len(sizes), "the number of strata")
    quality = check_quality(quality, len(sizes))
    if not quality.all():
        raise UserError("qualities must be positive")
    counts = _draw_counts(sizes, k, alpha, 2 * np.log(quality), rng)
    members = (rng.permutation(np.flatnonzero(strata == c)) for c in range(len(sizes)))
    return rng.permutation(
        np.concatenate([rows[:count] for rows, count in zip(members, counts, strict=True)])
    )


def check_alpha(alpha: float) -> float:
    """Return alpha as a float; UserError unless it is a number from 0 to 1."""
    if not 0 <= number(alpha) <= 1:
        raise UserError(f"alpha is {alpha!r}, must be a number from 0 to 1")
    return number(alpha)


def integers(values: np.ndarray, what: str) -> np.ndarray:
    """Return ``values``, called ``what``, as an array; UserError unless they are integers, (n,)."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty(())
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise UserError(f"{what} must be a list of integers")
    return array.astype(int, copy=False)


def check_strata(strata: np.ndarray, n_items: int, what: str) -> np.ndarray:
    """Return ``strata``, called ``what``; UserError unless they are integers from 0, (n_items,)."""
    strata = integers(strata, what)
    if strata.shape != (n_items,):
        raise UserError(f"{what} must be {n_items} integers")
    if not 0 <= strata.min(initial=0) <= strata.max(initial=0) < n_items:
        raise UserError(f"{what} must be numbered from 0, below the number of items, {n_items}")
    return strata


def _draw_counts(
    sizes: np.ndarray, k: int, alpha: float, log_weights: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw the number of items in every stratum, (n_strata,), given that they sum to k.

    Like coins, the counts are independent given their sum; ``tilt`` makes k their expected sum, so
    that no relevant probability is small.
    """
    # Strata of equal size and weight, possibly thousands, have the same distribution.
    alike, kinds, numbers = np.unique(
        np.column_stack([sizes, log_weights]), axis=0, return_inverse=True, return_counts=True
    )
    logs = [
        _log_terms(int(size), alpha) + weight * np.arange(int(size) + 1) for size, weight in alike
    ]
    tilt = _tilt(logs, numbers, k)
    tilted = [_normalised(terms, tilt)[: k + 1] for terms in logs]
    laws = [tilted[kind] for kind in kinds.ravel()]
    # P(sum of the first c counts is j)
    sums = [np.eye(1, k + 1)[0]]
    for law in laws:
        sums.append(np.convolve(sums[-1], law)[: k + 1])
    left, counts = k, []
    for law, before in zip(laws[::-1], sums[-2::-1], strict=True):
        own = law[: left + 1] * before[left::-1][: len(law)]
        cumulated = np.cumsum(own)
        counts.append(int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")))
        left -= counts[-1]
    return np.array(counts[::-1])


def _log_terms(size: int, alpha: float) -> np.ndarray:
    """Log of (number of sets of m items times their determinant), (size + 1,) for m from 0."""
    from scipy.special import gammaln, xlog1py

    m = np.arange(1, size + 1)
    binomial = gammaln(size + 1) - gammaln(m + 1) - gammaln(size - m + 1)
    determinant = xlog1py(m - 1, -alpha) + np.log1p(alpha * (m - 1))
    return np.concatenate([[0.0], binomial + determinant])


def _normalised(log_terms: np.ndarray, tilt: float) -> np.ndarray:
    tilted = log_terms + tilt * np.arange(len(log_terms))
    law = np.exp(tilted - tilted.max())
    return law / law.sum()


def _tilt(logs: list[np.ndarray], numbers: np.ndarray, k: int) -> float:
    """Find the tilt that makes the counts' expected sum k, or nearly the largest possible.

    ``numbers`` is the number of strata with each distribution.
    """
    most = numbers @ [int(np.isfinite(terms).sum()) - 1 for terms in logs]
    wanted = min(k, most - 0.5)
    # Beyond the factor that a further item adds to any term, all strata are empty or full.
    steps = np.concatenate([np.diff(terms[np.isfinite(terms)]) for terms in logs])
    low, high = -700.0 - steps.max(), 700.0 - steps.min()
    for _ in range(64):
        middle = (low + high) / 2
        laws = (_normalised(terms, middle) for terms in logs)
        if numbers @ [law @ np.arange(len(law)) for law in laws] < wanted:
            low = middle
        else:
            high = middle
    return high
