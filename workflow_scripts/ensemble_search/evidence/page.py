"""The page of a study's evidence, ``evidence/<study>/README.md``: a function of its rows."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import effects, losses
from ensemble_search.evidence import rows as evidence

#: Power at which the smallest difference is given.
POWER = 0.8


def page(study: Mapping[str, Any], rows: Iterable[Mapping[str, str]]) -> str:
    """Write the page.

    Parameters
    ----------
    study
        Content of ``study.json``.
    rows
        Content of ``runs.csv``.

    Returns
    -------
    text
        Markdown. Stale rows are counted in its first line, and enter nothing else; runs count only
        if all methods have a row.
    """
    rows = list(rows)
    current = [row for row in rows if not row["stale"]]
    lacking = set(evidence.missing(study, rows))
    whole = [row for row in current if (int(row["repeat"]), row["dataset"]) not in lacking]
    total = study["repeats"] * len(study["datasets"])
    stale = len(rows) - len(current)
    lines = [
        f"**{total - len(lacking)} of {total} runs** of the study `{study['study']}` (a data set "
        f"and a repeat with all its methods) are in `runs.csv`"
        + (f"; {stale} rows of older code are stale, and left out here." if stale else "."),
        "",
        f"# Evidence: {study['study']}",
        "",
        "Written by `make evidence`; the numbers of all runs are in `runs.csv`, the study in "
        "`study.json`.",
    ]
    if not whole:
        return "\n".join([*lines, "", "No run is finished.", ""])
    table = pd.DataFrame(whole).drop(columns=["test_tenths", "stale"])
    numeric = ["validation", "test", "members", "minimum_diversity", "evaluations", "failed"]
    numeric += ["cpu_seconds", "suggest_seconds", "test_rows", "majority"]
    table[numeric] = table[numeric].apply(pd.to_numeric)
    shown = losses.of(study)
    methods = list(study["methods"])
    datasets = [name for name in study["datasets"] if name in set(table["dataset"])]
    errors = table.pivot_table(index="dataset", columns="method", values="test")
    errors = errors.loc[datasets, methods] * shown.scale
    commits = ", ".join(f"`{commit}`" for commit in sorted(set(table["commit"])))
    lines += ["", f"Computed at {commits}.", "", *_errors(table, errors, shown)]
    reference = (study.get("report") or {}).get("reference") or methods[-1]
    if len(datasets) > 1:
        lines += ["", *_differences(table, errors, reference, shown)]
    lines += ["", *_searches(table, methods)]
    return "\n".join([*lines, ""])


def _errors(table: pd.DataFrame, errors: pd.DataFrame, shown: losses.Losses) -> list[str]:
    runs = table.groupby("dataset")["repeat"].nunique()
    majority = table.groupby("dataset")["majority"].mean() * shown.scale
    unit = " in percent" if shown.percent else ""
    return [
        f"## Test {shown.plural}{unit}",
        "",
        *_markdown(
            ["data set", "runs", *errors.columns, "majority class"],
            [
                [
                    name,
                    str(runs[name]),
                    *(f"{value:.{shown.digits}f}" for value in errors.loc[name]),
                    f"{majority[name]:.{shown.digits}f}",
                ]
                for name in errors.index
            ],
        ),
    ]


def _differences(
    table: pd.DataFrame, errors: pd.DataFrame, reference: str, shown: losses.Losses
) -> list[str]:
    found = effects.intervals(errors, reference)
    digits = shown.digits
    rows = []
    for method, line in found.iterrows():
        differences = errors[method] - errors[reference]
        runs = between_runs(table, str(method), reference)
        signs = [int((np.sign(differences) == sign).sum()) for sign in (1, 0, -1)]
        rows.append(
            [
                str(method),
                f"{line['error']:+.{digits}f}",
                f"[{line['error_low']:+.{digits}f}, {line['error_high']:+.{digits}f}]",
                "/".join(map(str, signs)),
                f"{differences.std():.{digits}f}",
                "" if np.isnan(runs) else f"{runs * shown.scale:.{digits}f}",
                f"{detectable(differences.to_numpy()):.{digits}f}",
            ]
        )
    return [
        f"## Differences from {reference}",
        "",
        f"Mean test {shown.title} of each method minus {reference}'s, over {len(errors)} data sets "
        "that count with their means over the runs; above 0: worse. Unadjusted 95 % intervals by "
        "Student's t over the data sets; number of data sets with a higher, equal and lower "
        f"{shown.title}; standard deviations of the difference between data sets, and between the "
        "runs of one; and the smallest difference that this study would find in "
        f"{POWER:.0%} of the cases (two-sided, at 5 %).",
        "",
        *_markdown(
            ["method", "difference", "95 % interval", "+/=/−", "sd", "sd of runs", "detectable"],
            rows,
        ),
    ]


def between_runs(table: pd.DataFrame, method: str, reference: str) -> float:
    """Standard deviation of a difference between the runs on a data set; NaN with one each."""
    tests = table.pivot_table(index=["dataset", "repeat"], columns="method", values="test")
    differences = (tests[method] - tests[reference]).groupby("dataset")
    free = differences.size() - 1
    if not free.sum():
        return float("nan")
    return float(np.sqrt((differences.var() * free).sum() / free.sum()))


def detectable(differences: np.ndarray, power: float = POWER, level: float = 0.05) -> float:
    """Smallest mean difference that a t-test over these data sets would find with some power.

    Parameters
    ----------
    differences
        One per data set, of shape (n,), n at least 2; their standard deviation is taken as true.
    power
        Probability of a significant test.
    level
        Level of the two-sided test.
    """
    from scipy import optimize, stats

    n = len(differences)
    error = float(np.std(differences, ddof=1)) / np.sqrt(n)
    limit = stats.t.ppf(1 - level / 2, n - 1)
    found = optimize.brentq(
        lambda shift: stats.nct.sf(limit, n - 1, shift) - power, 0, limit + 40, xtol=1e-6
    )
    return float(found * error)


def _searches(table: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    means = table.groupby("method")[
        ["minimum_diversity", "members", "failed", "cpu_seconds", "suggest_seconds"]
    ].mean()
    columns = list(itertools.compress(methods, [method in means.index for method in methods]))
    return [
        "## Searches",
        "",
        "Means over all runs: minimum diversity between a suggestion and a member of the ensemble "
        "that it is to join, over the last fifth of a search; members of the final ensemble; "
        "failed evaluations; CPU seconds to fit and to suggest.",
        "",
        *_markdown(
            ["method", "min. diversity", "members", "failed", "fit s", "suggest s"],
            [
                [name, f"{m.iloc[0]:.3f}", *(f"{value:.1f}" for value in m.iloc[1:])]
                for name, m in means.loc[columns].iterrows()
            ],
        ),
    ]


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
