"""The papers' own numbers beside those of a study's rows, for its page of evidence."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import losses, pairwise, poisson_binomial
from ensemble_search.evidence import rows as evidence
from ensemble_search.papers import claims
from ensemble_search.papers.boasf import balanced_accuracy, rounds_and_exploration
from ensemble_search.papers.claims import Claim
from ensemble_search.papers.esmbo import checks, winning_frequencies
from ensemble_search.papers.printed import PAPERS, load, values
from ensemble_search.report.tables import markdown
from ensemble_search.runtime.errors import number_of
from ensemble_search.runtime.names import REGRESSION

TITLE = "## Beside the paper's numbers"
#: Method that the ESMBO paper compares with each of the others over time.
FIRST = "ESMBO"


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

    The first is followed by ranks as in Figures 1 and 2; the second is, for Figure 3 of the BOASF
    paper, wins and ties by BOASF's settings. ``table`` has a row per run. Empty if no claim of the
    study has numbers of these tables.
    """
    numbers = {(paper, name) for paper, claim in claims_of(study) for name in claim.numbers}
    if ("esmbo", "wins") in numbers:
        return _esmbo(study, table)
    if ("boasf", balanced_accuracy.PRINTED.get(study["space"])) in numbers:
        return _boasf(study, table)
    if ("boasf", "rounds-and-exploration") in numbers:
        return _grid(study, table)
    return []


def _esmbo(study: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    space = winning_frequencies.space_of(study)
    printed = checks.spaces().get(space, pd.DataFrame())
    methods = [*printed.index]
    if not methods or not set(methods) <= set(study["methods"]):
        return []
    shares = won(table, methods)
    if len(shares) < 2:
        return []
    ours = pd.DataFrame(shares.mean(axis=0), methods, methods)
    ours["rank"] = _ranks(shares)
    sizes = len(shares), checks.data_sets(space)
    found = winning_frequencies.table(ours, sizes, space)
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
        *_tests(shares, methods, space),
        "",
        *_over_time(study, table, methods),
        *_probabilities(study, table, methods),
    ]


def _ranks(shares: np.ndarray) -> np.ndarray:
    """Return expected ranks: 1 + the methods that win. A method wins against itself with 1/2."""
    return shares.mean(axis=0).sum(axis=0) + 0.5


def _p(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else "<0.01"


def _tests(shares: np.ndarray, methods: list[str], space: str) -> list[str]:
    """Show counts of data sets and sign tests; for ``shares``, see :func:`won`."""
    wins = (1 + np.sign(shares - 0.5)) / 2
    counts = [(wins == outcome).sum(axis=0) for outcome in (1, 0.5, 0)]
    p = pairwise.sign_test(wins)
    rows = []
    for i, (method, row) in enumerate(values("esmbo", "wins")[space].items()):
        tests = [
            f"{'/'.join(str(n[i, j]) for n in counts)}: {_p(p[i, j])}" + f" ({mark})" * bool(mark)
            for j, mark in enumerate(row["marks"])
        ]
        rows.append([method, *tests[:i], "", *tests[i + 1 :]])
    pairs = len(methods) * (len(methods) - 1) // 2
    return [
        "Data sets on which the row's method wins more/as many/fewer repeats than the column's, "
        "and p of a sign test on these counts, two-sided, without ties: it does not say which is "
        f"ahead. These are {pairs} tests, each shown from both sides, without correction for their "
        "number. In parentheses: the paper's marks, the first of the Poisson binomial test (∘: a "
        "probability above 0.8 of being better, •: above 0.9), the second of the sign test (∘: p "
        "below 0.1, •: below 0.05). The paper does not say whether its sign test is one- or "
        "two-sided, nor of which test a single mark is.",
        "",
        *markdown(["", *methods], rows),
    ]


def _over_time(study: Mapping[str, Any], table: pd.DataFrame, methods: list[str]) -> list[str]:
    """Show expected ranks after each tenth of the budget."""
    tenths = evidence.tenths(table)
    filled = losses.of(study).with_failures
    after = (table.assign(test=filled(tenths[k], table["dataset"])) for k in tenths)
    ranks = [_ranks(won(runs, methods)) for runs in after]
    figure = 1 if losses.of(study).task == REGRESSION else 2
    return [
        "Expected rank, as above, after each tenth of the budget. In the paper, it is a curve over "
        f"the iterations for each method (Figure {figure}, right-hand column), whose numbers are "
        "not printed.",
        "",
        *markdown(
            ["", *(f"{10 * (k + 1)} %" for k in tenths)],
            [
                [method, *(f"{rank:.2f}" for rank in over)]
                for method, over in zip(methods, np.transpose(ranks), strict=True)
            ],
        ),
    ]


def _probabilities(study: Mapping[str, Any], table: pd.DataFrame, methods: list[str]) -> list[str]:
    """Show the Poisson binomial test: of all pairs at the end, and of ESMBO after each tenth."""
    kept = table[table["method"].isin(methods) & (table[evidence.BETTER].fillna("") != "")]
    kept = kept[kept.groupby(["dataset", "repeat"])["method"].transform("size") == len(methods)]
    n, runs = kept["dataset"].nunique(), kept.groupby(["dataset", "repeat"]).ngroups
    if n < 2:
        return []
    found = _better(kept)
    last = max(tenth for *_, tenth in found)
    figure = 1 if losses.of(study).task == REGRESSION else 2
    first, *others = [FIRST, *(method for method in methods if method != FIRST)]
    return [
        "",
        "Poisson binomial test: probability that the row's method is better than the column's on "
        "more than half of all data sets like these, by the losses on single test rows after the "
        f"whole budget. From {number_of(runs, 'repeat')} on {n} data sets"
        + "; rows of older versions lack these losses" * (len(kept) < len(table))
        + ". For the marks of the paper, see above.",
        "",
        *markdown(
            ["", *methods],
            [
                [row, *(f"{found[row, c, last]:.2f}" if row != c else "" for c in methods)]
                for row in methods
            ],
        ),
        "",
        f"That of {first} against each of the others, after each tenth of the budget. In the "
        f"paper, it is a curve over the iterations (Figure {figure}, left-hand column), whose "
        "numbers are not printed.",
        "",
        *markdown(
            ["", *(f"{10 * (k + 1)} %" for k in range(last + 1))],
            [
                [other, *(f"{found[first, other, k]:.2f}" for k in range(last + 1))]
                for other in others
            ],
        ),
    ]


def _better(table: pd.DataFrame) -> dict[tuple[str, str, int], float]:
    """Return probabilities of the Poisson binomial test by both methods and tenth, from 0."""
    found = {}
    for method, own in table.groupby("method"):
        runs = [
            {
                (other, tenth): float(chance)
                for other, chances in (part.split(":") for part in text.split(" "))
                for tenth, chance in enumerate(chances.split("/"))
            }
            for text in own[evidence.BETTER]
        ]
        means = pd.DataFrame(runs, own["dataset"]).groupby(level=0).mean()
        for other, tenth in means:
            chances = means[other, tenth].to_numpy()
            found[str(method), other, tenth] = float(poisson_binomial.better(chances))
    return found


def won(table: pd.DataFrame, methods: list[str]) -> np.ndarray:
    """Return the shares of repeats that methods win, of shape (data sets, methods, methods).

    The first method wins if its ``test`` loss is lower; ties count one half.
    """
    runs = table.pivot(index=["dataset", "repeat"], columns="method", values="test")[methods]
    wins = pairwise.wins(runs.to_numpy())
    places = runs.groupby(level="dataset").indices.values()
    return np.array([wins[own].mean(axis=0) for own in places])


def _boasf(study: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    name = balanced_accuracy.PRINTED[study["space"]]
    column = balanced_accuracy.column_of(name)
    found = balanced_accuracy.beside(study, 1 - _means(study, table, column))
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
        "Number of these data sets on which BOASF's figure above is higher/equal/lower, and p of a "
        "two-sided sign test, without ties, not corrected for the number of tests:",
        "",
        *markdown(
            ["BOASF against", "ours", "paper, 2 h", "paper, 4 h"],
            balanced_accuracy.outcomes(found),
        ),
    ]


def _means(study: Mapping[str, Any], table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return mean losses over repeats, of shape (data sets, methods)."""
    groups = table.groupby(["dataset", "method"])
    means = evidence.levelled(groups[column].mean().unstack())
    return means.loc[[d for d in study["datasets"] if d in means.index]]


def _outcomes(mean: pd.Series, best: pd.Series) -> str:
    """Describe how often mean losses are not above, below, equal to and above others."""
    signs = np.sign(mean - best)
    counts = [int((signs == sign).sum()) for sign in (-1, 0, 1)]
    p = float(pairwise.sign_test((1 - signs.to_numpy()[:, None, None]) / 2)[0, 0])
    return f"{100 * (signs <= 0).mean():.0f} ({'/'.join(map(str, counts))}: {_p(p)})"


def _grid(study: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    """Show Figure 3 of the BOASF paper; empty without several settings and another method."""
    families = rounds_and_exploration.families(study)
    others = rounds_and_exploration.others_of(study, families[0]) if families else []
    if not others:
        return []
    lines = [
        "",
        TITLE,
        "",
        "Percentage of data sets on which BOASF with this c (exploration, in rows) and r (rounds, "
        f"in columns) is not worse than {' and '.join(others)}, by the mean loss over repeats; "
        "equal means, of losses with six digits, are ties and count as in the paper. In "
        "parentheses: data sets with a lower, equal and higher loss, and p of a sign test, "
        "two-sided, without ties. In the paper: "
        f"{load('boasf')['rounds-and-exploration']['where']}.",
    ]
    for column in ("validation", "test"):
        mean = _means(study, table, column)[[*families[0], *others]]
        best = mean[others].min(axis=1)
        settings = rounds_and_exploration.settings(study, families[0])
        settings["shown"] = [_outcomes(mean[method], best) for method in settings.index]
        wide = settings.pivot(index="c", columns="r", values="shown")
        lines += [
            "",
            f"{column.capitalize()} losses, {len(mean)} data sets:",
            "",
            *markdown(
                ["", *(f"r = {r:g}" for r in wide)],
                [[f"c = {c:g}", *row] for c, row in wide.iterrows()],
            ),
        ]
    return lines
