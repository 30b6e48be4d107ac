"""Failed evaluations by cause, and ensembles with missing refits."""

import re

import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.runtime.files import Missing
from ensemble_search.runtime.names import OK, STATUSES

FAILED = tuple(s for s in STATUSES if s != OK)
#: Addresses and numbers, with memory units; not digits at the end of a name, as in float64.
_NUMBER = re.compile(
    r"0x[0-9a-fA-F]+|(?<![A-Za-z\d])[-+]?(?:(?:\d[\d,]*)?\.?\d+\.?(?:[eE][-+]?\d+)?|nan\b|inf\b)"
    r"(?:\s?[KMGT]?i?B\b)?"
)
#: Any sequence of numbers, such as arrays and their shapes.
_NUMBERS = re.compile(r"(?:[\[(]+\s*)?#(?:[\s,;x×()\[\].…]*#)*(?:[\s,.…]*[\])]+)?")
#: Length to compare: stored messages are truncated at a point that depends on their digits.
_TOLD_APART = 150


def by(observations: pd.DataFrame, column: str) -> pd.DataFrame:
    """Count evaluations by status within each value of ``column`` (such as ``dataset``).

    Index: values of the column, in the order of the observations. Columns: ``evaluations``, one per
    failed status, ``failed``, and ``share``.
    """
    known = observations.dropna(subset=column)
    table = pd.crosstab(known[column], known["status"])
    table = table.reindex(index=known[column].unique())
    evaluations = table.sum(axis=1)
    table = table.reindex(columns=FAILED, fill_value=0)
    table.insert(0, "evaluations", evaluations)
    table["failed"] = table[list(FAILED)].sum(axis=1)
    table["share"] = table["failed"] / table["evaluations"]
    table.columns.name = None
    return table


def causes(observations: pd.DataFrame) -> pd.DataFrame:
    """Count failures by status, error type and :func:`cause`, with one message per cause.

    Columns: ``status``, ``error_type``, ``failures``, ``datasets``, ``algorithms`` (numbers of
    those affected), ``message`` (the most common of the cause); most failures first.
    """
    columns = ["status", "error_type", "failures", "datasets", "algorithms", "message"]
    failed = observations[observations["status"] != OK]
    if failed.empty:
        return pd.DataFrame(columns=columns)
    failed = failed.assign(
        error_type=failed["error_type"].fillna("").replace("", "–"),
        message=failed["message"].fillna(""),
    )
    failed["cause"] = failed["message"].map({m: cause(m) for m in failed["message"].unique()})
    groups = failed.groupby(["status", "error_type", "cause"])
    table = groups.agg(
        failures=("status", "size"),
        datasets=("dataset", "nunique"),
        algorithms=("algorithm", "nunique"),
        message=("message", _commonest),
    ).reset_index()
    order = ["failures", "status", "error_type", "cause"]
    ascending = [False, True, True, True]
    return table.sort_values(order, ascending=ascending, ignore_index=True)[columns]


def cause(message: str) -> str:
    """Reduce a message to the part shared by messages with the same cause.

    Numbers, addresses, arrays and their shapes become ``#``.
    """
    return _NUMBERS.sub("#", _NUMBER.sub("#", message))[:_TOLD_APART].rstrip()


def _commonest(messages: pd.Series) -> str:
    counts = messages.value_counts()
    return min(counts.index[counts == counts.max()])


def without_model(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that never had a model: ``method``, ``dataset``, ``repeat``."""
    keys = ["method", "dataset", "repeat"]
    last = scores[scores["iteration"] == scores["iteration"].max()]
    lost = last.loc[last["test_error"].isna() | last["validation_error"].isna(), keys]
    return lost.reset_index(drop=True)


def refits(results: Results) -> pd.DataFrame:
    """Count the runs whose ensembles lack pipelines that could not be refitted.

    Columns: ``method``, ``dataset``, ``runs`` (finished runs), ``failed`` (runs whose last ensemble
    lacks refits) and ``ever`` (runs where the ensemble of any iteration does); only rows with such
    runs.
    """
    keys = ["method", "dataset"]
    runs = results.scores[[*keys, "repeat"]].drop_duplicates()
    found = [_unfitted(results, *run) for run in runs.itertuples(index=False)]
    runs = runs.assign(failed=[last for last, _ in found], ever=[any_ for _, any_ in found])
    table = runs.groupby(keys, observed=True).agg(
        runs=("repeat", "size"), failed=("failed", "sum"), ever=("ever", "sum")
    )
    return table[table["ever"] > 0].reset_index()


def _unfitted(results: Results, method: str, dataset: str, repeat: int) -> tuple[bool, bool]:
    """Whether a run's last ensemble lacks refits, and whether that of any iteration does."""
    try:
        manifest = results.ensemble(method, dataset, repeat)
    except Missing:
        return False, False
    last = bool(manifest.get("failed_refits"))
    return last, last or manifest.get("iterations_with_failed_refits", 0) > 0
