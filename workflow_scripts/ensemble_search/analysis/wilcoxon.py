"""Paired tests over the repeats of a data set (Table 2), and over data sets."""

import numpy as np
import pandas as pd
from scipy import stats

from ensemble_search.analysis.ranks import DIGITS

ALPHA = 0.05
#: Columns of the tests over repeats.
COLUMNS = ["dataset", "method", "pairs", "difference", "p", "outcome"]
#: Most pairs for which the signed-rank test is exact: floats can count all sign patterns exactly.
MOST_EXACT = 50


def smallest_p(pairs: int) -> float:
    """Smallest two-sided p-value that the signed-rank test can give with ``pairs`` pairs."""
    return min(1.0, 2.0 ** (1 - pairs))


def signed_rank(x: np.ndarray, y: np.ndarray) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test of paired errors.

    Zero differences are dropped; the p-value is 1 if all are zero. The distribution is exact,
    including ties, up to :data:`MOST_EXACT` remaining pairs, and normal beyond that.
    """
    difference = np.round(np.asarray(x, float) - np.asarray(y, float), DIGITS)
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    if len(difference) <= MOST_EXACT:
        return _exact(difference)
    return float(stats.wilcoxon(difference, method="asymptotic").pvalue)


def rank_biserial(x: np.ndarray, y: np.ndarray) -> float:
    """Matched-pairs rank-biserial correlation of paired errors (Kerby, 2014).

    It is the rank sum of pairs in which x is larger, minus that of pairs in which y is, over the
    sum of both; equal pairs are dropped, as in the signed-rank test. It is 1 if x is larger in
    every pair, -1 if smaller, and 0 if balanced or all pairs are equal.
    """
    difference = np.round(np.asarray(x, float) - np.asarray(y, float), DIGITS)
    difference = difference[difference != 0]
    if not len(difference):
        return 0.0
    weight = stats.rankdata(np.abs(difference))
    return float((weight * np.sign(difference)).sum() / weight.sum())


def _exact(difference: np.ndarray) -> float:
    """Exact p-value over all signs, including ties: SciPy's, without its slow enumeration.

    Doubled ranks, with ties averaged, are integers, so the distribution of their signed sum is a
    product of polynomials.
    """
    ranks = np.rint(2 * stats.rankdata(np.abs(difference))).astype(int)
    ways = np.ones(1)
    for r in ranks:
        longer = np.append(ways, np.zeros(r))
        longer[r:] += ways
        ways = longer
    positive = ranks[difference > 0].sum()
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return float(min(1.0, 2 * tail / 2.0 ** len(ranks)))


def compare(final: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Test every method against the reference on each data set, over paired repeats.

    ``final`` are errors, index (dataset, repeat), one column per method. The columns of the result
    are ``dataset``, ``method``, ``pairs``, ``difference`` (mean error of the method minus that of
    the reference), ``p`` and ``outcome``, from the reference's point of view: ``better`` (the
    reference has the lower mean and rank sum, and p <= ALPHA), ``same`` or ``worse``.
    """
    rows = []
    for dataset, group in final.groupby(level="dataset", sort=False):
        for method in final.columns.drop(reference):
            theirs, ours = group[method], group[reference]
            p, outcome = _tested(theirs, ours)
            rows.append((dataset, method, len(group), (theirs - ours).mean(), p, outcome))
    return pd.DataFrame(rows, columns=COLUMNS)


def one_sample(final: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """Test every method's repeats against one number per data set, the error of a single run.

    The number is treated as exact: the test ignores how another run of that system would differ.
    The one-sample signed-rank test also assumes that the errors of the repeats are symmetric about
    their median, which holds for paired differences but not for a comparison with a constant.

    ``final`` are errors, index (dataset, repeat), one column per method; ``values`` are the errors
    of the single runs, by data set. Data sets without one are left out. The result is that of
    :func:`compare`, but ``difference`` is the method's mean error minus the number, and ``outcome``
    is from the method's point of view: ``better`` if its mean and rank sum are lower and p <=
    ALPHA.
    """
    rows = []
    for dataset, group in final.groupby(level="dataset", sort=False):
        value = values.get(dataset, np.nan)
        for method in final.columns if np.isfinite(value) else ():
            p, outcome = _tested(np.full(len(group), value), group[method])
            difference = (group[method] - value).mean()
            rows.append((dataset, method, len(group), difference, p, outcome))
    return pd.DataFrame(rows, columns=COLUMNS)


def _tested(x: np.ndarray, y: np.ndarray) -> tuple[float, str]:
    """Return p, and whether y is ``better``, the ``same`` or ``worse`` than x.

    If mean and tested ranks disagree, as after a single failure, the outcome is ``same``.
    """
    p, means = signed_rank(x, y), np.sign(np.mean(np.asarray(x) - np.asarray(y)))
    sums = np.sign(rank_biserial(x, y))
    return p, "same" if p > ALPHA or means != sums else "better" if sums > 0 else "worse"


def counts(tests: pd.DataFrame) -> pd.DataFrame:
    """Count the data sets on which the reference is better, same or worse; one row per method."""
    outcomes = ["better", "same", "worse"]
    table = tests.groupby(["method", "outcome"], sort=False).size().unstack(fill_value=0)
    return table.reindex(index=tests["method"].unique(), columns=outcomes, fill_value=0)


def over_datasets(errors: pd.DataFrame, method: str) -> pd.DataFrame:
    """Compare ``method`` with every other one, paired over data sets.

    ``errors`` are mean errors, shape (data sets, methods). One row per other method: ``difference``
    (its mean minus that of ``method``); ``lower``, ``equal`` and ``higher`` (numbers of data sets
    on which the error of ``method`` is so); ``p`` (of the signed-rank test over data sets);
    ``p_holm`` (adjusted for all comparisons by Holm's method).
    """
    others = errors.columns.drop(method)
    difference = errors[others].sub(errors[method], axis=0).round(DIGITS)
    p = [signed_rank(errors[m], errors[method]) for m in others]
    table = {
        "difference": difference.mean(),
        "lower": (difference > 0).sum(),
        "equal": (difference == 0).sum(),
        "higher": (difference < 0).sum(),
        "p": pd.Series(p, others, dtype=float),
        "p_holm": pd.Series(holm(p), others, dtype=float),
    }
    return pd.DataFrame(table, index=others)


def holm(p: list[float]) -> np.ndarray:
    """Adjust p-values for multiple comparisons by Holm's step-down method."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
