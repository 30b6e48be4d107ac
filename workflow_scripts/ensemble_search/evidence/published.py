"""The papers' own numbers beside those of a study's rows, for its page of evidence."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import losses, pairwise
from ensemble_search.papers import claims
from ensemble_search.papers.boasf import balanced_accuracy
from ensemble_search.papers.claims import Claim
from ensemble_search.papers.esmbo import checks, winning_frequencies
from ensemble_search.papers.printed import PAPERS, load, values
from ensemble_search.report.tables import markdown

TITLE = "## Beside the paper's numbers"


def claims_of(study: Mapping[str, Any]) -> list[tuple[str, Claim]]:
    """Return the claims that a study tests, each with the name of its paper."""
    return [
        (paper, claim)
        for paper in PAPERS
        for claim in claims.load(paper).values()
        if study["study"] in claim.studies
    ]


def lines(study: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    """Compare rows with Tables 2 and 3 of the ESMBO paper, or Tables 1 to 3 of the BOASF paper.

    ``table`` has a row per run. Empty if no claim of the study has numbers of these tables.
    """
    numbers = {(paper, name) for paper, claim in claims_of(study) for name in claim.numbers}
    if ("esmbo", "wins") in numbers:
        return _esmbo(study, table)
    if ("boasf", balanced_accuracy.PRINTED.get(study["space"])) in numbers:
        return _boasf(study, table)
    return []


def _esmbo(study: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    space = winning_frequencies.space_of(study)
    printed = checks.spaces().get(space, pd.DataFrame())
    methods = [*printed.index]
    if not methods or not set(methods) <= set(study["methods"]):
        return []
    shares = won(_filled(study, table, "test"), methods)
    if len(shares) < 2:
        return []
    ours = pd.DataFrame(shares.mean(axis=0), methods, methods)
    # 1 + the methods that win; a method wins against itself with 1/2.
    ours["rank"] = shares.mean(axis=0).sum(axis=0) + 0.5
    sizes = len(shares), checks.data_sets(space)
    found = winning_frequencies.table(ours, sizes, space)
    p = pairwise.sign_test((1 + np.sign(shares - 0.5)) / 2)
    marks = {method: row["marks"] for method, row in values("esmbo", "wins")[space].items()}
    tests = [
        [method, *(_test(p[i, j], marks[method][j]) if i != j else "" for j in range(len(p)))]
        for i, method in enumerate(methods)
    ]
    return [
        "",
        TITLE,
        "",
        f"Winning frequency of the row's method against the column's: the share of its repeats "
        f"that it wins on a data set, by the test loss, ties one half, averaged over {sizes[0]} "
        f"data sets; and expected rank. The paper has {sizes[1]} data sets of its own. Ours are "
        f"after the whole budget, the paper's are averages over the last {pairwise.LAST} "
        f"iterations. {' '.join(found.notes)}",
        "",
        *markdown(found.columns, [[cell.text for cell in row] for row in found.rows]),
        "",
        "One-sided sign test: p of the row's method winning more repeats than the column's on at "
        "least this many data sets by chance, without ties. In parentheses: the paper's marks, the "
        "first of the Poisson binomial test (∘: a probability above 0.8 of being better, •: above "
        "0.9), the second of the sign test (∘: p below 0.1, •: below 0.05); of a single mark it is "
        "not known which it is. The Poisson binomial test needs predictions; it is in the report.",
        "",
        *markdown(["", *methods], tests),
    ]


def _filled(study: Mapping[str, Any], table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Give runs without a model a loss; see ``Losses.with_failures``."""
    filled = losses.of(study).with_failures(table[column], table["dataset"])
    return table.assign(**{column: filled})


def won(table: pd.DataFrame, methods: list[str]) -> np.ndarray:
    """Return the shares of repeats that methods win, of shape (data sets, methods, methods).

    The first method wins if its ``test`` loss is lower; ties count one half.
    """
    runs = table.pivot(index=["dataset", "repeat"], columns="method", values="test")[methods]
    wins = pairwise.wins(runs.to_numpy())
    places = runs.groupby(level="dataset").indices.values()
    return np.array([wins[own].mean(axis=0) for own in places])


def _test(p: float, marks: str) -> str:
    return f"{p:.2f} ({marks})" if marks else f"{p:.2f}"


def _boasf(study: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    name = balanced_accuracy.PRINTED[study["space"]]
    column = balanced_accuracy.column_of(name)
    groups = _filled(study, table, column).groupby(["dataset", "method"])
    means = groups[column].mean().unstack()
    means = means.loc[[d for d in study["datasets"] if d in means.index]]
    found = balanced_accuracy.beside(study, 1 - means)
    if found.empty:
        return []
    entry = load("boasf")[name]
    rows = "The paper does not say on which rows its accuracies are."
    if column == "validation":
        rows = "The paper's are cross-validated, too."
    head, *cells = balanced_accuracy.in_rows(found, percent=True)
    n = found["dataset"].nunique()
    return [
        "",
        TITLE,
        "",
        f"Balanced accuracy in percent on {column} rows, means over repeats, on the {n} data sets "
        f"so far that the paper has, too. In parentheses: {entry['where']} of the paper, after 2 "
        f"and 4 hours; in the heading, the paper's names of methods. {rows} "
        f"{balanced_accuracy.CAUTION} (see the [ledger](../README.md)).",
        "",
        *markdown(head, cells),
        "",
        "Number of these data sets on which BOASF's figure above is higher/equal/lower:",
        "",
        *markdown(
            ["BOASF against", "ours", "paper, 2 h", "paper, 4 h"],
            balanced_accuracy.outcomes(found),
        ),
    ]
