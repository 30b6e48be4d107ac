"""Tables 2 and 3 of the ESMBO paper: winning frequencies and expected ranks, compared with ours."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis import curves, pairwise
from ensemble_search.analysis.load import Results
from ensemble_search.papers import agreement
from ensemble_search.papers.esmbo import checks
from ensemble_search.papers.printed import load, values
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table, cells

TITLE, ORDER = "Winning frequencies", 166
PAPER = "Tables 2 and 3 of Lacoste et al. (2014)"


def build(results: Results, publish) -> list[Section] | str:
    """Show how often each method wins against each other, in the study and in the paper."""
    space = space_of(results.study)
    if space not in checks.spaces():
        return "the ESMBO paper has no such space and metric"
    printed = checks.spaces()[space]
    methods = [m for m in printed.index if m in results.methods]
    if set(methods) != set(printed.index):
        return f"the study lacks some of the paper's methods: {', '.join(printed.index)}"
    compared = results.comparison(methods)
    if len(results.study["datasets"]) < 2:
        return "the study has one data set"
    if len(compared.methods) < len(methods) or len(compared.datasets) < 2:
        return "its four methods have not finished on two data sets"
    compared = curves.over_budget(results, compared)
    losses = pairwise.mean_losses(compared)[-pairwise.LAST :]
    found = pairwise.wins(losses).mean(axis=(0, 1))
    places = [compared.methods.index(m) for m in methods]
    ours = pd.DataFrame(found[np.ix_(places, places)], methods, methods)
    ours["rank"] = pairwise.expected_ranks(losses).mean(axis=0)[places]
    sizes = len(compared.datasets), checks.data_sets(space)
    parts: list[Any] = [_text(results.study, sizes), table(ours, sizes, space)]
    return [Section("Beside the paper's", parts)]


def space_of(study: Mapping[str, Any]) -> str:
    """Return the space's name in the paper's tables; another name if they lack the space."""
    space, metric = study.get("space"), study.get("metric", "error")
    if metric == "squared-error" and space != "svr":
        return f"{space}-regression"
    return f"{space}" if metric in ("error", "squared-error") else f"{space} by {metric}"


def _text(study: dict[str, Any], sizes: tuple[int, int]) -> str:
    paper = values("esmbo", "settings")
    text = (
        "Winning frequency (share of data sets on which the row's method has a lower mean test "
        "loss than the column's; ties count one half for both), and expected rank, on "
        f"{sizes[0]} data sets; in parentheses those of the paper, on {sizes[1]} others. Both are "
        f"means over the last {pairwise.LAST} {curves.unit(study)}s. "
    )
    evaluations = study["budget"].get("evaluations")
    if evaluations != paper["evaluations"]:
        unit = f"{evaluations} evaluations" if evaluations else "another budget"
        text += f"The paper has {paper['evaluations']} evaluations; the study has {unit}. "
    return text.strip()


def table(ours: pd.DataFrame, sizes: tuple[int, int], space: str) -> Table:
    """Return the table of winning frequencies and expected ranks, ours and the paper's.

    ``ours`` has winning frequencies, methods × methods in the paper's order, and ``rank``;
    ``sizes`` are our and the paper's number of data sets.
    """
    printed = checks.spaces()[space]
    rows, data = [], []
    for method in ours.index:
        row = [Cell(method)]
        for other in ours.index:
            if method == other:
                row.append(Cell(""))
                continue
            mine, theirs = ours.loc[method, other], printed.loc[method, other]
            share = (sizes[0] * mine + sizes[1] * theirs) / sum(sizes)
            error = _error(share, sizes)
            differs = agreement.verdict(mine, theirs, error) == agreement.DIFFERS
            row.append(Cell(f"{mine:.2f} ({theirs:.2f})" + " ≠" * differs))
            data.append([method, other, mine, theirs, error, differs])
        ranks = ours.loc[method, "rank"], printed.loc[method, "rank"]
        rows.append([*row, *cells(f"{ranks[0]:.2f} ({ranks[1]:.2f})")])
    columns = ["method", "against", "ours", "published", "error", "differs"]
    apart = 2 * _error(0.5, sizes)
    notes = [
        f"In parentheses: {load('esmbo')['wins']['where']} of the paper. ≠: both are more than "
        "two standard errors apart, with data sets as the sample, drawn from the same kind; for "
        f"shares near one half, these are {apart:.2f}. Without ≠, they need not agree: with so few "
        "data sets, a smaller difference does not show."
    ]
    caption = "Winning frequencies and expected ranks, ours and the paper's"
    return Table(
        "", caption, ["", *ours.index, "expected rank"], rows,
        pd.DataFrame(data, columns=columns), notes,
    )  # fmt: skip


def _error(share: float, sizes: tuple[int, int]) -> float:
    """Return the standard error of the difference of two shares of data sets."""
    return float(np.sqrt(share * (1 - share) * (1 / sizes[0] + 1 / sizes[1])))
