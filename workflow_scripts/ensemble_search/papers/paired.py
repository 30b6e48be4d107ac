"""Tests over the repeats of each data set, as tables and in words."""

import pandas as pd

from ensemble_search.analysis import wilcoxon
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.verdict import p_is, p_value
from ensemble_search.report.tables import Cell, Table, by_method

#: Outcomes of tests, from the perspective of the method in question.
LETTER = {"better": "B", "same": "S", "worse": "W"}


def table(name: str, caption: str, tests: pd.DataFrame, notes: list[str], losses: Losses) -> Table:
    """Show difference, p-value and letter of every test, data sets × methods; bold: better.

    ``tests`` are those of ``wilcoxon.compare``.
    """

    def show(test: dict) -> Cell:
        difference, p = losses.signed(test["difference"]), p_value(test["p"])
        text = f"{difference}, p {p} {LETTER[test['outcome']]}"
        return Cell(text, test["outcome"] == "better")

    return Table(name, caption, *by_method(tests, show), tests, notes)


def in_words(tests: pd.DataFrame, subject: str, other: str) -> str:
    """Name the data sets on which two methods differ significantly.

    ``tests`` are those of ``wilcoxon.compare`` for the pair; ``better`` refers to ``subject``.
    """
    groups: dict[str, list[str]] = {}
    for row in tests.itertuples():
        odd = row.outcome == "same" and row.p <= wilcoxon.ALPHA
        but = ", but mean and ranks point in different directions" if odd else ""
        groups.setdefault(row.outcome, []).append(f"{row.dataset} ({p_is(row.p)}{but})")
    return sentence(subject, other, groups)


def sentence(subject: str, other: str, datasets: dict[str, list[str]]) -> str:
    """Return on which data sets a method is significantly ``better``, the ``same`` or ``worse``."""
    words = {"better": "significantly lower on", "worse": "significantly higher on"}
    parts = [
        f"{text} {', '.join(datasets[outcome])}"
        for outcome, text in {**words, "same": "not significantly different on"}.items()
        if datasets.get(outcome)
    ]
    return f"{subject} against {other}: {'; '.join(parts)}."
