"""The methods' final models: loss, size and prediction time."""

import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results


def deliverables(results: Results) -> pd.DataFrame:
    """Average over the repeats that all methods finished.

    One row per data set and method, in the study's order: ``dataset``, ``method``, ``test`` and
    ``std`` (test loss and its standard deviation over repeats, divisor n - 1), ``validation``
    (lowest observed), ``members`` (number of unique ones), ``milliseconds`` (to predict 1000 rows:
    the sum over the members, scaled from the validation and test rows; NaN if unknown), ``rows``
    (number of these; NaN if unknown) and ``seconds`` (to fit and predict all evaluations of a run).
    Runs without a model are treated as in ``Losses.with_failures``.
    """
    compared, keys = results.compared, ["dataset", "method"]
    table = ranks.spreads(ranks.final_errors(compared)).rename(columns={"mean": "test"})
    table = table.drop(columns="repeats").set_index(keys)
    lowest = ranks.spreads(ranks.final_errors(compared, "validation_error"))
    table["validation"] = lowest.set_index(keys)["mean"]
    last = compared.scores[compared.scores["iteration"] == compared.scores["iteration"].max()]
    means = last.astype({"dataset": str, "method": str}).groupby(keys)
    table["members"] = means["members"].mean()
    rows = results.datasets.set_index("dataset")[["validation", "test"]].sum(axis=1, skipna=False)
    table["rows"] = rows.reindex(table.index, level="dataset")
    table["milliseconds"] = 1e6 * means["predict_seconds"].mean() / table["rows"]
    runs = last[["dataset", "method", "repeat"]].astype({"dataset": str, "method": str})
    runs["search"] = runs["method"].map(
        {m: p["search"] for m, p in results.study["methods"].items()}
    )
    spent = results.observations.groupby(["dataset", "search", "repeat"])["fit_seconds"].sum()
    runs = runs.join(spent, on=["dataset", "search", "repeat"])
    table["seconds"] = runs.groupby(keys)["fit_seconds"].mean()
    return table.reset_index()


def measured_on(rows: pd.Series, recorded: str) -> str:
    """Describe on how many ``rows`` the milliseconds of :func:`deliverables` were measured.

    For ``recorded``, see ``origins.recorded``.
    """
    low, high = int(rows.min()), int(rows.max())
    size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    when = (
        "recorded when the table was made"
        if recorded == "recorded"
        else "measured once after each fit"
    )
    fixed = ". The fixed cost of a call is scaled, too, so 1000 rows may take less"
    return (
        f"on the {size} validation and test rows of a data set, {when}, and scaled to 1000 rows"
        f"{fixed if low < 1000 else ''}"
    )
