"""How much better ensembles look on the validation set, by which they are chosen, than they are."""

import numpy as np
import pandas as pd


def gaps(scores: pd.DataFrame) -> pd.DataFrame:
    """Test minus validation error of the ensemble of each iteration, mean over the runs.

    The validation error is that of the very ensemble whose test error is taken, not the best
    observed so far.

    Parameters
    ----------
    scores
        ``method``, ``dataset``, ``repeat``, ``iteration``, ``validation_error``, ``test_error``,
        ``members``.

    Returns
    -------
    gaps
        Columns ``method``, ``iteration``, ``validation_error``, ``test_error``, ``gap``,
        ``members`` (unique ones): means over data sets and repeats; NaN while some run has no
        model. ``runs``: their number.
    """
    keys = ["method", "iteration"]
    columns = ["validation_error", "test_error", "gap", "members"]
    frame = scores.assign(gap=scores["test_error"] - scores["validation_error"])
    groups = frame.groupby(keys, observed=True)
    table = groups[columns].mean()
    incomplete = groups["gap"].count() < groups.size()
    table.loc[incomplete, columns] = np.nan
    return table.assign(runs=groups.size()).reset_index()


def resolution(final: pd.DataFrame, rows: pd.Series) -> pd.DataFrame:
    """Spread of test errors over repeats beside the one that the test part's size causes.

    A test error e on n samples has the standard error sqrt(e (1 - e) / n) as an estimate of the
    error on new data. Repeats that share one split do not show it.

    Parameters
    ----------
    final
        Test errors of one method, index (dataset, repeat), one column.
    rows
        Test samples by data set.

    Returns
    -------
    table
        Index: data sets; ``error`` (mean), ``over_repeats`` (standard deviation, divisor n - 1;
        NaN for one repeat), ``rows``, ``of_the_test_part`` (standard error).
    """
    groups = final.iloc[:, 0].groupby(level="dataset", sort=False)
    table = pd.DataFrame({"error": groups.mean(), "over_repeats": groups.std()})
    table["rows"] = rows.reindex(table.index)
    variance = table["error"] * (1 - table["error"])  # negative only for losses that are no shares
    table["of_the_test_part"] = np.sqrt(variance.where(variance >= 0) / table["rows"])
    return table
