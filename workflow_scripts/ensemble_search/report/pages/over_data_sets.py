"""Winning frequencies, expected ranks and their tests, as in the ESMBO paper."""

import pandas as pd

from ensemble_search.analysis import curves, datasets, pairwise
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.pairwise import Pairwise
from ensemble_search.report.plots import curve_figures
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table
from ensemble_search.report.view import View, view

TITLE, ORDER = "Do the differences hold over data sets?", 165
SYMBOLS = "●•∘"
#: Thresholds of the symbols: probabilities above, and p-values below which a pair gets each.
SURE, UNLIKELY = (0.95, 0.9, 0.8), (0.01, 0.05, 0.1)


def build(results: Results, publish) -> list[Section] | str:
    """Show how often each method wins against each other, and how certain that is."""
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    n = len(seen.compared.datasets)
    if n < 2:
        return "it needs runs on at least 2 data sets"
    found = pairwise.compare(results, seen.compared, seen.reference)
    loss, unit = seen.losses.title, curves.unit(results.study)
    text = (
        f"Every method against every other on {n} data sets, as in the paper on sequential "
        "model-based ensemble optimization (Lacoste et al., 2014). A method wins on a data set if "
        f"its mean test {loss} over repeats is lower; its winning frequency is the share of data "
        "sets on which it wins, and a tie counts one half for both. Its expected rank on a data "
        "set is 1 + the number of methods that win against it. Both are averaged over the last "
        f"{pairwise.LAST} {unit}s or, in shorter budgets, over all (in that paper, over the last "
        f"{pairwise.LAST} of 150). The units of the tests are the data sets, however many repeats "
        "there are."
    )
    parts = [caution] if (caution := datasets.caveat(results.study)) else []
    sections = [
        Section("Who wins against whom?", [text, *parts, *_table(found, seen, unit)]),
        Section(f"Expected rank over {unit}s", _ranks(found, seen, unit, publish)),
    ]
    if not found.reason:
        title = f"How certain is it that {seen.reference} is better?"
        sections.append(Section(title, _probabilities(found, seen, unit, publish)))
    return sections


def _table(found: Pairwise, seen: View, unit: str) -> list[str | Table]:
    methods = seen.compared.methods
    pairs = {(pair["method"], pair["against"]): pair for pair in found.pairs.to_dict("records")}
    best = found.ranks.round(9).min()
    rows = []
    for method, rank in found.ranks.items():
        against = [_cell(pairs.get((method, other)), not found.reason) for other in methods]
        rows.append([Cell(method), *against, Cell(f"{rank:.2f}", round(rank, 9) == best)])
    first, last = found.iterations
    sign = (
        "sign test over the data sets, two-sided, without ties, shown beside the higher frequency "
        f"of a pair: ∘ p < {UNLIKELY[2]}, • p < {UNLIKELY[1]}, ● p < {UNLIKELY[0]}"
    )
    notes = [
        "Number: winning frequency of the row's method against the column's, from 0 (never) to 1 "
        "(always); the two of a pair add up to 1. Bold: lowest expected rank."
    ]
    tests = len(found.pairs) // 2
    symbols = any(symbol in cell.text for row in rows for cell in row[1:] for symbol in SYMBOLS)
    if symbols:
        notes[0] += (
            f" The values behind the symbols are means over the same {unit}s, {first} to {last}."
            f" Not adjusted for multiple tests: of {tests} sign tests without any true difference, "
            f"up to {UNLIKELY[1] * tests:.2g} would have • or ● by chance."
        )
    parts: list = []
    if found.reason:
        parts.append(f"There is no Poisson binomial test: {found.reason}.")
        notes += [f"The symbol is that of the {sign}."] * symbols
    else:
        notes += [
            "First symbol: Poisson binomial test, the probability that the method wins on more "
            f"than half of all data sets like these: ∘ > {SURE[2]}, • > {SURE[1]}, ● > {SURE[0]}. "
            f"Second symbol: {sign}. –: none of these."
        ] * symbols
        notes.append(
            "The Poisson binomial test takes the test samples into account: a win by a few "
            "samples of a small test part hardly counts. The probability that a method is better "
            "on a data set is computed from what both deliver in each repeat, then averaged over "
            "repeats. So it is about a single run of each; because repeats share test rows, or at "
            "least the data, more of them make it more stable, not more certain."
        )
    caption = (
        f"Winning frequencies in test {seen.losses.title} (share of "
        f"{len(seen.compared.datasets)} data sets, mean over {unit}s {first} to {last}, ties "
        "count one half for both), and expected ranks"
    )
    data = found.pairs.assign(expected_rank=found.pairs["method"].map(found.ranks))
    columns = ["", *methods, "expected rank"]
    return [*parts, Table("winning", caption, columns, rows, data, notes)]


def _cell(pair: dict | None, both: bool) -> Cell:
    if pair is None:
        return Cell("")
    symbols = _symbol(-pair["probability"], [-limit for limit in SURE]) if both else ""
    ahead = pair["winning_frequency"] > 0.5
    symbols += _symbol(pair["p"], UNLIKELY) if ahead else "–"
    shown = "" if set(symbols) == {"–"} else f" {symbols}"
    return Cell(f"{pair['winning_frequency']:.2f}{shown}")


def _symbol(value: float, limits) -> str:
    return next((s for s, limit in zip(SYMBOLS, limits, strict=True) if value < limit), "–")


def _ranks(found: Pairwise, seen: View, unit: str, publish) -> list:
    methods, title = seen.compared.methods, f"Expected rank in test {seen.losses.title}"
    text = (
        f"On each data set the methods are ranked by their mean test {seen.losses.title} at every "
        f"{unit}; the page “Ranks over the budget” ranks them within each repeat instead."
    )
    if len(methods) > curve_figures.MANY:
        text += f" {curve_figures.FRAMES}"
    lines = found.rank_curves
    figure = curve_figures.rank_lines(lines, methods, seen.look, seen.losses, unit)
    alt = _at_the_end(_last(lines, "rank"), unit)
    return [text, publish(figure, "ranks", lines, f"{title} over {unit}s", alt)]


def _probabilities(found: Pairwise, seen: View, unit: str, publish) -> list:
    lines = found.probability_curves
    ends = _last(lines, "probability")
    surely = [m for m, p in ends.items() if p > SURE[0]]
    text = (
        f"Poisson binomial test of {seen.reference} against each other method at every {unit}. "
        f"At 0.5, neither of the two is favoured. At the last {unit} the probability is "
        f"above {SURE[0]} against {', '.join(surely) or 'none of them'}."
    )
    label = f"probability that {seen.reference} is better"
    figure = curve_figures.probability_lines(lines, seen.look, label, unit)
    title = f"Probability that {seen.reference} is better than each method over {unit}s"
    return [text, publish(figure, "probabilities", lines, title, _at_the_end(ends, unit))]


def _last(lines: pd.DataFrame, column: str) -> pd.Series:
    last = lines[lines["iteration"] == lines["iteration"].max()]
    return last.set_index("method")[column]


def _at_the_end(values: pd.Series, unit: str) -> str:
    return f"At the last {unit}: " + ", ".join(f"{m} {v:.2f}" for m, v in values.items())
