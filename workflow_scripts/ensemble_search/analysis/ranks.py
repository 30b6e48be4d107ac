"""The runs that can be compared fairly, and the methods' ranks on them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ensemble_search.analysis.losses import ERROR, Losses

#: Decimals to which losses are compared; smaller differences are rounding errors and count as ties.
DIGITS = 12


@dataclass(frozen=True)
class Comparison:
    """The runs on which methods are compared: those that all methods finished."""

    scores: pd.DataFrame  #: rows of :attr:`Results.scores` for these runs and methods
    methods: list[str]  #: compared methods, in the order of the study
    left_out: list[str]  #: methods without any result, or without one on the runs of the others
    datasets: list[str]  #: data sets with at least one run, in the order of the study
    runs: int  #: number of (data set, repeat) pairs
    #: Format of losses by the study's metric. Default: error.
    losses: Losses = ERROR


def comparison(scores: pd.DataFrame, methods: list[str], losses: Losses = ERROR) -> Comparison:
    """Keep the (data set, repeat) pairs that all compared methods have.

    A method without any result is left out. If the others have no pair in common, those with the
    fewest runs are left out, one by one, until they have one.
    """
    runs = {
        m: set(zip(g["dataset"], g["repeat"], strict=True))
        for m, g in scores.loc[
            ~scores.duplicated(["method", "dataset", "repeat"]), ["method", "dataset", "repeat"]
        ].groupby("method", observed=True, sort=False)
    }
    compared = [m for m in methods if runs.get(m)]
    while compared:
        common = set.intersection(*(runs[m] for m in compared))
        if common:
            break
        fewest = min(len(runs[m]) for m in compared)
        compared.remove([m for m in compared if len(runs[m]) == fewest][-1])
    left_out = [m for m in methods if m not in compared]
    if not compared:
        return Comparison(scores.iloc[:0], [], left_out, [], 0, losses)
    pairs = pd.MultiIndex.from_frame(scores[["dataset", "repeat"]].astype({"dataset": str}))
    keep = pairs.isin(common) & scores["method"].isin(compared)
    present = {d for d, _ in common}
    datasets = [d for d in scores["dataset"].cat.categories if d in present]
    return Comparison(scores[keep], compared, left_out, datasets, len(common), losses)


def final_errors(compared: Comparison, column: str = "test_error") -> pd.DataFrame:
    """Errors at the last iteration, shape (runs, methods), index (dataset, repeat).

    ``validation_error`` is the best observed so far. A run that never had a model is treated as in
    ``Losses.with_failures``.
    """
    frame = compared.scores
    if frame.empty:
        index = pd.MultiIndex.from_arrays([[], []], names=["dataset", "repeat"])
        return pd.DataFrame(index=index, columns=compared.methods, dtype=float)
    keys = ["dataset", "repeat", "method"]
    groups = frame.groupby(keys, observed=True, sort=False)[column]
    values = groups.min() if column == "validation_error" else groups.last(skipna=False)
    values = compared.losses.with_failures(values, values.index.get_level_values("dataset"))
    wide = values.unstack("method")[compared.methods].reset_index()
    wide["dataset"] = pd.Categorical(wide["dataset"].astype(str), compared.datasets)
    wide = wide.sort_values(["dataset", "repeat"]).astype({"dataset": str})
    wide.columns.name = None
    return wide.set_index(["dataset", "repeat"])


def spreads(final: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over repeats of :func:`final_errors`.

    The columns are ``dataset``, ``method``, ``mean``, ``std`` (divisor n - 1; NaN for one repeat)
    and ``repeats``; in the order of the study.
    """
    groups = final.groupby(level="dataset", sort=False)
    frame = pd.concat({"mean": groups.mean(), "std": groups.std()}, axis=1)
    frame = frame.stack(level=1, future_stack=True).rename_axis(["dataset", "method"]).reset_index()
    return frame.assign(repeats=frame["dataset"].map(groups.size()))


def means(final: pd.DataFrame) -> pd.DataFrame:
    """Mean error over repeats, shape (data sets, methods)."""
    return final.groupby(level="dataset", sort=False).mean()


def rank(errors: np.ndarray) -> np.ndarray:
    """Rank along the last axis, 1 = lowest error; ties share the mean rank, NaN ranks last."""
    errors = np.asarray(errors, dtype=float)
    return rankdata(np.where(np.isnan(errors), np.inf, errors.round(DIGITS)), axis=-1)


def mean_error_ranks(final: pd.DataFrame) -> pd.DataFrame:
    """Ranks of the mean errors on each data set, as in Table 1; shape (data sets, methods)."""
    return ranked(means(final))


def ranked(errors: pd.DataFrame) -> pd.DataFrame:
    """Rank the columns in each row; see :func:`rank`."""
    return pd.DataFrame(rank(errors.to_numpy()), errors.index, errors.columns)


def lowest(errors: pd.DataFrame) -> pd.Series:
    """Count, per method, the data sets on which its mean error is lowest; ties count for all.

    ``errors`` are mean errors, shape (data sets, methods).
    """
    rounded = errors.round(DIGITS)
    return rounded.eq(rounded.min(axis=1), axis=0).sum()


def rank_curves(compared: Comparison, column: str) -> pd.DataFrame:
    """Average rank at every iteration, ranked within each repeat (Figures 3 and 4c).

    The columns are ``iteration``, ``method`` and ``rank``; at every iteration the ranks of k
    methods sum to k (k + 1) / 2.
    """
    from ensemble_search.analysis.curves import deliverable

    frame = deliverable(compared.scores, column)
    wide = frame.pivot(index=["dataset", "repeat", "iteration"], columns="method", values="value")
    wide = wide[compared.methods]
    mean = ranked(wide).groupby(level="iteration").mean()
    return mean.rename_axis(columns="method").stack().rename("rank").reset_index()


def rank_intervals(final: pd.DataFrame) -> pd.DataFrame:
    """95 % intervals of average ranks of :func:`final_errors` by Student's t over the data sets.

    One row per method: ``low`` and ``high``, clipped to 1 and the number of methods; NaN if they
    cannot be estimated, with fewer than two data sets or equal ranks on all.
    """
    from scipy.special import stdtrit

    placed = mean_error_ranks(final)
    n = len(placed)
    error = placed.sem()
    half = stdtrit(n - 1, 0.975) * error.where(error > 0) if n > 1 else error * np.nan
    ends = {"low": placed.mean() - half, "high": placed.mean() + half}
    return pd.DataFrame(ends).clip(1, placed.shape[1]).round(DIGITS)
