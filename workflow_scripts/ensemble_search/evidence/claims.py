"""Decide published claims by the rows of evidence."""

from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from ensemble_search.analysis import effects, ranks
from ensemble_search.papers.claims import Decide

AGREES, SMALLER, DIFFERS = "agrees", "smaller", "differs"
OPEN, MISSING = "could not be seen", "not attempted"
#: Fewer data sets do not decide by ranks: where all have the same sign, the interval has no width,
#: but by a two-sided sign test over five p is 0.06.
FEWEST = 6


def decide(rule: Decide, rows: Iterable[Mapping[str, str]]) -> tuple[str, pd.DataFrame]:
    """Compare methods as a claim says, with data sets as the units.

    Parameters
    ----------
    rule
        How; see :class:`ensemble_search.papers.claims.Decide`.
    rows
        Content of a study's ``runs.csv``. Stale rows and those of runs that lack one of the methods
        are left out.

    Returns
    -------
    verdict
        :data:`AGREES` if the 95 % interval of each pair of methods lies on the claimed side of 0,
        :data:`DIFFERS` if that of some pair lies on the other side, :data:`SMALLER` if it lies
        below the claimed size; else, or by ranks of fewer than :data:`FEWEST` data sets,
        :data:`OPEN`; :data:`MISSING` with fewer than two data sets.
    pairs
        Columns ``lower``, ``higher`` (methods), ``datasets``, ``difference`` (mean over data sets
        of the second minus the first), ``low`` and ``high`` (its interval, by Student's t),
        ``detectable`` (the smallest difference that as many data sets would find, see
        ``effects.detectable``).
    """
    methods = [*rule.lower, *rule.higher]
    table = pd.DataFrame([row for row in rows if not row["stale"]])
    columns = ["lower", "higher", "datasets", "difference", "low", "high", "detectable"]
    if table.empty or not set(methods) <= set(table["method"]):
        return MISSING, pd.DataFrame(columns=columns)
    if rule.column == "validation_100":
        table[rule.column] = [_at(curve, 100) for curve in table["validation_curve"]]
    table[rule.column] = pd.to_numeric(table[rule.column])
    runs = table.pivot(index=["dataset", "repeat"], columns="method", values=rule.column)
    means = runs[methods].dropna().groupby(level="dataset").mean()
    if len(means) < 2:
        return MISSING, pd.DataFrame(columns=columns)
    if rule.by == "rank":
        means = pd.DataFrame(ranks.rank(means.to_numpy()), means.index, means.columns)
    pairs = []
    for lower, higher in product(rule.lower, rule.higher):
        line = effects.intervals(means[[lower, higher]], lower).loc[higher]
        values = line[["error", "error_low", "error_high", "detectable"]]
        pairs.append([lower, higher, len(means), *map(float, values)])
    found = pd.DataFrame(pairs, columns=columns)
    if rule.by == "rank" and len(means) < FEWEST:
        return OPEN, found
    if (found["low"] > 0).all():
        return AGREES, found
    if (found["high"] < 0).any():
        return DIFFERS, found
    return (SMALLER if (found["high"] < (rule.size or 0)).any() else OPEN), found


def _at(curve: str, iteration: int) -> float:
    """Read the lowest loss up to an iteration; NaN before the first, or without a curve."""
    points = (point.split(":") for point in curve.split())
    return min((float(loss) for place, loss in points if int(place) <= iteration), default=np.nan)
