"""The Poisson binomial test of whether a method is better than another over data sets.

Lacoste, Laviolette and Marchand, Bayesian Comparison of Machine Learning Algorithms on Single and
Multiple Datasets (AISTATS 2012). On each data set, the losses of individual test samples give the
probability that one method is better than the other, so the number of data sets that each wins has
a distribution.
"""

import numpy as np
from scipy.special import betainc, stdtr

#: Decimals to which differences between losses of 1 are exact: losses are stored as float32.
DIGITS = 6


def of_labels(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Probability that a method errs less than another on a data set.

    ``first`` and ``second`` are numbers of samples that only the first, and only the second, gets
    right; of any shape. Their shares, and that of all other samples, have a uniform prior:
    Dirichlet(1, 1, 1).
    """
    return betainc(second + 1, first + 1, 0.5)  # Pr(Beta(first + 1, second + 1) > 1/2)


def of_losses(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Probability that a method's expected loss is lower than another's on a data set.

    ``first`` and ``second`` are their losses on the same samples, non-negative, of shape (..., n).
    The expected difference has a non-informative prior, which gives Student's t with n - 1 degrees
    of freedom. The result is 1/2 if all differences are 0, and 0 or 1 if they all equal the same
    other number.
    """
    larger = np.maximum(first, second).astype(float)
    largest = larger.max(axis=-1, keepdims=True)
    scale = np.maximum(larger, np.where(largest > 0, np.minimum(largest, 1), 1))
    differences = np.round((first.astype(float) - second) / scale, DIGITS) * scale
    n = differences.shape[-1]
    mean = differences.mean(axis=-1)
    spread = np.ptp(differences, axis=-1)
    error = np.where(spread > 0, differences.std(axis=-1, ddof=min(1, n - 1)) / np.sqrt(n), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.5, stdtr(max(1, n - 1), -mean / error))


def data_sets_won(chances: np.ndarray) -> np.ndarray:
    """Distribution of the number of data sets won.

    From the chances of winning each data set, of shape (..., n_datasets), to the probabilities of
    winning 0, 1, ... data sets, of shape (..., n_datasets + 1).
    """
    n = chances.shape[-1]
    found = np.zeros((*chances.shape[:-1], n + 1))
    found[..., 0] = 1
    for chance in np.moveaxis(chances, -1, 0)[..., None]:
        lost = found * (1 - chance)
        lost[..., 1:] += found[..., :-1] * chance
        found = lost
    return found


def better(chances: np.ndarray) -> np.ndarray:
    """Probability that a method wins more than half of all data sets like these: Pr(A > B).

    After winning k of n data sets, the share of data sets that it would win has the distribution
    Beta(k + 1, n - k + 1), from a uniform prior. For ``chances``, see :func:`data_sets_won`; the
    result is of shape (...).
    """
    n = chances.shape[-1]
    won = np.arange(n + 1)
    return data_sets_won(chances) @ betainc(n - won + 1, won + 1, 0.5)
