"""Error over iterations or full fits, and the speed-up of the reference (Figure 4; F.11)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.runtime.shares import TOLERANCE


def deliverable(scores: pd.DataFrame, column: str) -> pd.DataFrame:
    """Error of the model that a method would deliver at each iteration, in column ``value``.

    For ``validation_error``, the best observed so far (running minimum, as in Figure 3 of the DivBO
    paper); for ``test_error``, that of the current ensemble. NaN before the first success.
    """
    keys = ["method", "dataset", "repeat"]
    frame = scores[[*keys, "iteration", column]].rename(columns={column: "value"})
    if column == "validation_error":
        frame = frame.sort_values([*keys, "iteration"])
        frame["value"] = frame.groupby(keys, observed=True)["value"].cummin()
        frame["value"] = frame.groupby(keys, observed=True)["value"].ffill()
    return frame


def error_curves(scores: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean and standard deviation over repeats at every iteration.

    The columns are ``dataset``, ``method``, ``iteration``, ``mean``, ``std`` (divisor n - 1; NaN
    for one repeat) and ``repeats``. The mean is NaN as long as some repeat has no model.
    """
    frame = deliverable(scores, column)
    groups = frame.groupby(["dataset", "method", "iteration"], observed=True)["value"]
    curves = groups.agg(["mean", "std", "count", "size"]).reset_index()
    incomplete = curves["count"] < curves["size"]
    curves.loc[incomplete, ["mean", "std"]] = np.nan
    return curves.drop(columns="count").rename(columns={"size": "repeats"})


def speed_up(curves: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Factor by which the reference needs fewer iterations for a method's final validation error.

    Speed-up = T / first iteration at which the reference's mean best-observed validation error is
    at most the method's at the last iteration T. If a method has no model at T in some repeat, the
    reference reaches it with its first models.

    ``curves`` come from :func:`error_curves` for ``validation_error``. The columns of the result
    are ``dataset``, ``method``, ``iteration`` and ``speed_up``; the last two are NaN if the
    reference never reaches that error.
    """
    rows = []
    for dataset, group in curves.groupby("dataset", observed=True, sort=False):
        wide = group.pivot(index="iteration", columns="method", values="mean")
        if reference not in wide:
            continue
        mine = wide[reference].round(12)
        for method in wide.columns.drop(reference):
            target = wide[method].round(12).fillna(np.inf).iloc[-1]
            reached = mine.index[mine <= target]
            first = float(reached[0]) if len(reached) else np.nan
            rows.append((dataset, method, first, wide.index[-1] / first))
    return pd.DataFrame(rows, columns=["dataset", "method", "iteration", "speed_up"])


def unit(study: Mapping[str, Any]) -> str:
    """Return the unit of curves: ``iteration`` or ``full fit``."""
    return "full fit" if study["budget"].get("fits") else "iteration"


def over_budget(results: Results, compared: Comparison) -> Comparison:
    """Return scores after every :func:`unit` of the budget.

    With a budget in full fits, ``iteration`` then counts full fits: row n is that of the last
    evaluation at which the sum of fidelities is at most n, or has no model (NaN) before the first
    one. The last row also includes the evaluation that exceeds the budget. With any other budget,
    it is the iteration. The column ``evaluations`` has the number of evaluations until then.
    """
    fits = results.study["budget"].get("fits")
    if not fits or compared.scores.empty:
        scores = compared.scores.assign(evaluations=compared.scores["iteration"])
        return replace(compared, scores=scores)
    ordered = results.observations.sort_values("iteration")
    spent = {
        key: run["fidelity"].fillna(1).to_numpy().cumsum()
        for key, run in ordered.groupby(["dataset", "search", "repeat"])
    }
    parts = []
    keys = ["method", "dataset", "repeat"]
    for (method, dataset, repeat), run in compared.scores.groupby(keys, observed=True, sort=False):
        sums = spent[dataset, results.study["methods"][method]["search"], repeat]
        done = np.searchsorted(sums, np.arange(1, fits + 1) + TOLERANCE, side="right")
        done[-1] = len(sums)
        rows = run.sort_values("iteration").iloc[np.maximum(done - 1, 0)].copy()
        rows["iteration"], rows["evaluations"] = np.arange(1, fits + 1), done
        rows.loc[done == 0, ["validation_error", "test_error"]] = np.nan
        parts.append(rows)
    return replace(compared, scores=pd.concat(parts, ignore_index=True))
