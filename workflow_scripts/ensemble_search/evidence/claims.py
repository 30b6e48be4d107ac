"""Decide published claims from the rows of evidence."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import effects, ranks, wilcoxon
from ensemble_search.analysis import losses as metric_losses
from ensemble_search.evidence import rows as evidence
from ensemble_search.papers.agreement import AGREES, DIFFERS
from ensemble_search.papers.claims import Decide

#: Verdicts besides ``agreement.AGREES`` and ``agreement.DIFFERS``.
SMALLER, OPEN, MISSING = "smaller", "undecided", "not attempted"
#: Ranks, and equal differences, of fewer units do not decide: if all differences are the same, the
#: interval has no width, but a two-sided sign test over five gives p = 0.06.
FEWEST = 6
#: Columns that are equal in rows of studies on the same data set, target and test rows; the
#: ``source`` is that of the study.
SAME = ("dataset", "source", "test_rows", "majority")
#: Names that stand for a paper's printed value, and for ``Decide.halfway``, in comparisons.
PRINTED, HALFWAY = "printed", "halfway between {} and {}"

Rows = Iterable[Mapping[str, str]]


def decide(rule: Decide, *studies: evidence.Evidence) -> tuple[str, pd.DataFrame]:
    """Compare methods as a claim specifies, with data sets (or repeats) as units.

    The ``studies`` are the contents of their ``study.json`` and ``runs.csv``. Stale rows and
    repeats without all methods are left out; runs without a model count (``rows.with_failures``).

    The verdict on one study is :data:`AGREES` if the 95 % interval of each pair of methods lies on
    the claimed side of 0, :data:`DIFFERS` if the interval of some pair lies on the other side, and
    :data:`SMALLER` if one that includes 0 lies below the claimed size; with ``within``,
    :data:`AGREES` if all intervals lie within it and :data:`DIFFERS` if one lies outside; with
    ``margin``, :data:`AGREES` if all intervals lie above minus the margin and :data:`DIFFERS` if
    one lies below. Otherwise, or with ranks or equal differences of fewer than :data:`FEWEST`
    units, it is :data:`OPEN`; with fewer than two units, :data:`MISSING`. Of several studies, it is
    their common verdict, else :data:`DIFFERS` if one differs, else :data:`OPEN`.

    The pairs have the columns ``study`` (its place among ``studies``), ``lower``, ``higher``
    (methods), ``units``, ``difference`` (mean over units of the second minus the first), ``low``
    and ``high`` (its interval, by Student's t; see ``effects.intervals``) and ``detectable`` (the
    smallest difference that this number of units can detect, NaN if none is possible). With
    ``tied`` and ``best``, ``difference`` is a share of units minus ``chance``, with the
    Clopper-Pearson interval, and ``detectable`` is NaN; with ``best``, there is one row per method
    of ``lower``.
    """
    runs = dict(enumerate(_compared(rule, *study) for study in studies))
    if rule.pooled:
        runs = {0: pd.concat(runs, names=["study"])}
    if rule.largest_in_first:
        first = runs.pop(0)
        runs = {place: (first - other).dropna() for place, other in runs.items()}
    found = {place: _decide(rule, own) for place, own in runs.items()}
    verdicts = {verdict for verdict, _ in found.values()}
    pairs = pd.concat([pairs.assign(study=place) for place, (_, pairs) in found.items()])
    if len(verdicts) == 1:
        return verdicts.pop(), pairs
    return DIFFERS if DIFFERS in verdicts else OPEN, pairs


def _decide(rule: Decide, runs: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    columns = ["lower", "higher", "units", "difference", "low", "high", "detectable", "chance"]
    if runs.index.unique("repeat" if rule.over == "repeats" else "dataset").size < 2:
        return MISSING, pd.DataFrame(columns=columns)
    if rule.printed or rule.halfway:
        name = PRINTED if rule.printed else HALFWAY.format(*rule.halfway)
        rule = rule.model_copy(update={"higher": [name]})
    if rule.by == "best":
        units = _units(runs, rule)
        pairs = [[method, "", *_share(units, method)] for method in rule.lower]
    elif rule.by == "tied":
        units = _units(runs, rule)
        pairs = [
            [*pair, *_share(units[[*pair]], pair[0])] for pair in product(rule.lower, rule.higher)
        ]
    else:
        pairs = [_pair(runs, rule, *pair) for pair in product(rule.lower, rule.higher)]
    found = pd.DataFrame(pairs, columns=columns)
    alike = np.isclose(found["low"], found["high"], atol=1e-12).any()
    if (rule.by == "rank" or alike) and found["units"].min() < FEWEST:
        return OPEN, found
    return _verdict(rule, found["low"], found["high"]), found


def _verdict(rule: Decide, low: pd.Series, high: pd.Series) -> str:
    if rule.within is not None:
        if (low > -rule.within).all() and (high < rule.within).all():
            return AGREES
        return DIFFERS if (low > rule.within).any() or (high < -rule.within).any() else OPEN
    if (low > -rule.margin).all():
        return AGREES
    if (high < -rule.margin).any():
        return DIFFERS
    return SMALLER if rule.size and ((low <= 0) & (high < rule.size)).any() else OPEN


def _compared(rule: Decide, study: Mapping[str, Any], rows: Rows) -> pd.DataFrame:
    """Of the runs that a rule is about: one row per data set and repeat, one column per method."""
    methods = [*rule.lower, *rule.higher, *rule.halfway]
    rows = evidence.with_failures(study, rows)
    table = pd.DataFrame([row for row in rows if not row["stale"] and row.get(rule.column) != ""])
    if rule.pooled and len(table):
        # Other targets and splits of a data set have other baselines.
        table["source"] = [str(study.get("sources", {}).get(name)) for name in table["dataset"]]
        table["dataset"] = table[[*SAME]].agg(" ".join, axis=1)
    if table.empty or not set(methods) <= set(table["method"]):
        index = pd.MultiIndex.from_tuples([], names=["dataset", "repeat"])
        return pd.DataFrame(index=index, columns=methods, dtype=float)
    runs = _runs(study, table, rule.column)[methods].dropna()
    if own := rule.datasets or list(rule.printed):
        runs = runs[runs.index.isin(own, level="dataset")]
    if rule.halfway:
        runs[HALFWAY.format(*rule.halfway)] = runs[rule.halfway].mean(axis=1)
    if rule.printed:
        runs[PRINTED] = runs.index.get_level_values("dataset").map(rule.printed)
    return runs


def _runs(study: Mapping[str, Any], table: pd.DataFrame, column: str) -> pd.DataFrame:
    """One row per data set and repeat, one column per method; curves for ``reached``."""
    if column == "validation_100":
        values = pd.Series([_at(curve, 100) for curve in table["validation_curve"]], table.index)
    elif column == "test_1":
        values = evidence.tenths(table)[0]
    elif column == "test_divisions":
        values = pd.Series([_mean(losses) for losses in table[column]], table.index)
    elif column == "seconds":
        parts = table[["cpu_seconds", "suggest_seconds"]].apply(pd.to_numeric)
        values = np.log2(parts.sum(axis=1))
    elif column == "reached":
        values = table["validation_curve"].where(table["validation_curve"] != "")
    else:
        values = pd.to_numeric(table[column])
    if column in ("validation_100", "test_1"):  # some runs had no model yet
        values = metric_losses.of(study).with_failures(values, table["dataset"])
    if column == "validation_100":  # older rows have no curve, although they had a model
        curve, tenths = table["validation_curve"], table["test_tenths"].str.strip()
        values = values.where((curve != "") | (tenths == ""))
    return table.assign(value=values).pivot(
        index=["dataset", "repeat"], columns="method", values="value"
    )


def _mean(losses: str) -> float:
    return float(np.mean([float(loss) for loss in losses.split()]))


def _units(runs: pd.DataFrame, rule: Decide) -> pd.DataFrame:
    """One row per unit: the mean of its repeats, or a value derived from these means."""
    unit = "repeat" if rule.over == "repeats" else "dataset"
    units = runs.groupby(level=["study", unit] if rule.pooled else unit).mean()
    if rule.by in ("rank", "tied", "best"):
        units = evidence.levelled(units)
    if rule.by == "rank":
        units = ranks.ranked(units)
    elif rule.by == "spread":
        units = (units - units.median()).abs()
    return units.groupby(level=unit).mean()


def _pair(runs: pd.DataFrame, rule: Decide, lower: str, higher: str) -> list[Any]:
    own = _reached(runs[[lower, higher]]) if rule.column == "reached" else runs
    units = _units(own, rule)
    most = len(units.columns) - 1 if rule.by == "rank" else np.inf
    line = effects.intervals(units[[lower, higher]], lower, most).loc[higher]
    values = line[["error", "error_low", "error_high", "detectable"]]
    return [lower, higher, len(units), *map(float, values), 0.0]


def _share(units: pd.DataFrame, method: str) -> list[Any]:
    """Compare the share of units in which a method is lowest with that of methods that are alike.

    Ties count for all, so that the latter is the mean share of all methods.
    """
    from scipy.stats import binomtest

    lowest, n = ranks.lowest(units), len(units)
    wins, chance = int(lowest[method]), float(lowest.mean()) / n
    ends = binomtest(wins, n).proportion_ci(1 - wilcoxon.ALPHA)
    return [n, *(x - chance for x in (wins / n, ends.low, ends.high)), np.nan, chance]


def impossible(pair: pd.Series) -> str:
    """Describe that a share cannot agree with so many units: not even if a method won on all."""
    from scipy.stats import binomtest

    n = int(pair["units"])
    least = binomtest(n, n).proportion_ci(1 - wilcoxon.ALPHA).low
    if least > pair["chance"]:
        return ""
    return f"; not even 100% of {n} would agree: its interval begins at {least:.0%}"


def _reached(curves: pd.DataFrame) -> pd.DataFrame:
    """Log2 of the iterations at which two methods reach the higher of their final losses."""
    made = []
    for pair in curves.to_numpy():
        both = [_points(curve) for curve in pair]
        target = max(losses[-1] for _, losses in both)
        made.append([np.log2(places[np.argmax(losses <= target)]) for places, losses in both])
    return pd.DataFrame(made, curves.index, curves.columns)


def _points(curve: str) -> tuple[np.ndarray, np.ndarray]:
    """Read the iterations at which the lowest loss so far falls, and its values."""
    points = np.array([point.split(":") for point in curve.split()], float).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def _at(curve: str, iteration: int) -> float:
    """Read the lowest loss up to an iteration; NaN before the first value or without a curve."""
    places, losses = _points(curve)
    return min(losses[places <= iteration], default=np.nan)
