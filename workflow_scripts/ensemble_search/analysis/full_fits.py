"""Losses over full fits, for studies with a budget in full fits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.search.budget import TOLERANCE


def unit(study: Mapping[str, Any]) -> str:
    """Return the unit of curves: ``iteration`` or ``full fit``."""
    return "full fit" if study["budget"].get("fits") else "iteration"


def over_budget(results: Results, compared: Comparison) -> Comparison:
    """Return scores after every :func:`unit` of the budget.

    With a budget in full fits, ``iteration`` then counts full fits: row n is that of the last
    evaluation at which the sum of fidelities is at most n, or has no model (NaN) before the first
    one. The last row also includes the evaluation that exceeds the budget. With any other budget,
    nothing changes.
    """
    fits = results.study["budget"].get("fits")
    if not fits or compared.scores.empty:
        return compared
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
        rows["iteration"] = np.arange(1, fits + 1)
        rows.loc[done == 0, ["validation_error", "test_error"]] = np.nan
        parts.append(rows)
    return replace(compared, scores=pd.concat(parts, ignore_index=True))
