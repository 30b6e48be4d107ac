"""Consequences of the numbers that the BOASF paper prints."""

import math
from itertools import product
from typing import Any

import pandas as pd

from ensemble_search.papers import printed

TABLES = ("models", "logistic-regression", "random-forest")
HOURS = (2, 4)


def accuracies(table: str, hours: int) -> pd.DataFrame:
    """Return one half of a table, data sets × methods."""
    found = printed.table("boasf", table).filter(regex=f" {hours} h$")
    return found.rename(columns=lambda name: name.removesuffix(f" {hours} h"))


def outcomes(table: str, hours: int, other: str) -> dict[str, int]:
    """Count the data sets on which BOASF is better than, equal to, and worse than another."""
    half = accuracies(table, hours)
    return count(half["BOASF"] - half[other])


def count(gain: pd.Series) -> dict[str, int]:
    """Count gains in accuracy by their sign."""
    signs = {"better": gain > 0, "equal": gain == 0, "worse": gain < 0}
    return {name: int(where.sum()) for name, where in signs.items()}


def sign_test(counts: dict[str, int]) -> float:
    """P-value of a two-sided sign test of these :func:`count`, without ties; 1 if all are ties."""
    from scipy.stats import binomtest

    n = counts["better"] + counts["worse"]
    return float(binomtest(counts["better"], n).pvalue) if n else 1.0


def outcomes_of_tuning(other: str) -> dict[str, dict[int, dict[str, int]]]:
    """Count these :func:`outcomes` for both tuned learners and both budgets (Tables 2 and 3)."""
    return {t: {h: outcomes(t, h, other) for h in HOURS} for t in TABLES[1:]}


def sign_tests_of_tuning() -> dict[str, dict[str, dict[int, float]]]:
    """Sign tests of BOASF's tuning against others'."""
    return {
        other: {
            table: {hours: round(sign_test(n), 3) for hours, n in halves.items()}
            for table, halves in outcomes_of_tuning(other).items()
        }
        for other in ("Hyperopt-full", "BOHB")
    }


def lower_with_more_time() -> dict[str, dict[str, int]]:
    """Count the data sets on which a method's accuracy is lower after 4 hours than after 2."""
    found = {}
    for table in TABLES:
        short, long = (accuracies(table, hours) for hours in HOURS)
        found[table] = {str(m): int((long[m] < short[m]).sum()) for m in short}
    return found


def jumps(least: float) -> list[list[Any]]:
    """List the cells that differ by more than ``least`` between 2 and 4 hours.

    Table, data set, method, accuracy after 2 and after 4 hours, and the range of the other four
    cells of the row, without zeros.
    """
    found = []
    for table in TABLES:
        short, long = (accuracies(table, hours) for hours in HOURS)
        for dataset, method in product(short.index, short.columns):
            pair = [float(half.loc[dataset, method]) for half in (short, long)]
            if abs(pair[1] - pair[0]) > least:
                rest = [float(h.loc[dataset, m]) for h in (short, long) for m in h if m != method]
                rest = [value for value in rest if value]
                found.append([table, dataset, str(method), *pair, min(rest), max(rest)])
    return found


def cells_of(table: str, dataset: str) -> list[float]:
    """Return the cells of a row."""
    return [float(value) for value in printed.table("boasf", table).loc[dataset]]


def zeros() -> list[list[str]]:
    """List the cells with an accuracy of 0, by table, data set and column."""
    found = []
    for table in TABLES:
        frame = printed.table("boasf", table)
        found += [[table, d, m] for d, m in product(frame.index, frame) if frame.loc[d, m] == 0]
    return found


def equal_to_table_1() -> dict[str, int]:
    """Count the cells of Table 3 that equal those of Table 1's random forest on the data set.

    Both tune a random forest with TPE or BOASF. Table 1 has one column per budget; equality with
    either counts.
    """
    forests = printed.table("boasf", "models").filter(like="RandomForest")
    tuned = printed.table("boasf", "random-forest")
    return {str(c): int(forests.eq(tuned[c], axis=0).any(axis=1).sum()) for c in tuned}


def below_table_1(least: float) -> dict[str, int]:
    """Count the cells of Table 3 that are lower than both of Table 1's forests by ``least``."""
    forests = printed.table("boasf", "models").filter(like="RandomForest").min(axis=1)
    tuned = printed.table("boasf", "random-forest")
    return {str(c): int((forests - tuned[c] > least).sum()) for c in tuned}


def ratios_of_resources(leads: list[float]) -> list[float]:
    """Ratios of the resources of two arms whose scores differ by each lead (Section 3.3)."""
    return [round(math.exp(lead), 3) for lead in leads]
