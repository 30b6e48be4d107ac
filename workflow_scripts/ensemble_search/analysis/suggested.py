"""How good the single learners are that a search suggests (DivBO paper, Table 3)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd


def errors(observations: pd.DataFrame) -> pd.DataFrame:
    """Mean and deviation of the validation errors of all learners that a search suggested.

    Those that were fitted on a share of the training rows do not count.

    Parameters
    ----------
    observations
        Columns ``dataset``, ``search``, ``repeat``, ``error`` (NaN: failed), ``fidelity``.

    Returns
    -------
    errors
        One row per data set and search: ``mean``, ``std`` (over all learners of all repeats,
        divisor n - 1), ``learners`` (that could be fitted), ``between`` (deviation of the means
        of the repeats) and ``repeats``.
    """
    fitted = observations[observations["fidelity"] == 1].dropna(subset="error")
    groups = fitted.groupby(["dataset", "search"], sort=False)
    table = groups["error"].agg(mean="mean", std="std", learners="size")
    means = fitted.groupby(["dataset", "search", "repeat"], sort=False)["error"].mean()
    runs = means.groupby(level=["dataset", "search"], sort=False)
    table["between"], table["repeats"] = runs.std(), runs.size()
    return table.reset_index()


def beaten(table: pd.DataFrame, random: Mapping[str, np.ndarray]) -> pd.Series:
    """Share of random configurations with a higher error than the mean of the suggested learners.

    Parameters
    ----------
    table
        Of :func:`errors`.
    random
        Validation errors of random configurations that could be fitted, by data set.

    Returns
    -------
    beaten
        In [0, 1], one a row of the table; NaN for data sets without random configurations.
    """
    shares = []
    for dataset, mean in zip(table["dataset"], table["mean"], strict=True):
        theirs = np.asarray(random.get(dataset, ()), dtype=float)
        shares.append((theirs > mean).mean() if len(theirs) else np.nan)
    return pd.Series(shares, table.index, dtype=float)
