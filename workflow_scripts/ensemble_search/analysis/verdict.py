"""A reader's first questions, answered: which method wins, by how much, and how certainly."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from ensemble_search.analysis import effects, ranks, wilcoxon
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.analysis.ratings import ratings
from ensemble_search.analysis.wilcoxon import ALPHA


@dataclass(frozen=True)
class Verdict:
    """The answer in words, and the underlying table.

    Attributes
    ----------
    headline
        One sentence.
    sentences
        Its basis, and its limitations.
    summary
        One row per method, best rank first: ``rank``, ``low``, ``high`` (95 % interval by Student's
        t over data sets), ``error`` (mean test loss), the columns of ``ratings.ratings``; compared
        with the leader, ``difference``, ``lower``, ``equal``, ``higher``, ``p``, ``p_holm`` (over
        data sets) and ``detectable`` (from ``effects.intervals``).
    leader
        The method with the lowest average rank; None if there is nothing to compare.
    """

    headline: str
    sentences: list[str]
    summary: pd.DataFrame
    leader: str | None


def verdict(compared: Comparison, reference: str, splits: Sequence[str]) -> Verdict:
    """Return which method has the lowest test loss, by how much, and with what certainty.

    Parameters
    ----------
    compared
        Runs that all methods finished.
    reference
        The method of interest, chosen before the results were seen.
    splits
        The split of every repeat.
    """
    losses = compared.losses
    final = ranks.final_errors(compared)
    summary = _summary(final)
    if not compared.methods:
        return Verdict("There are no results to compare yet.", [], summary, None)
    if len(compared.methods) == 1:
        only = compared.methods[0]
        text = (
            f"Only {only} has results, so there is nothing to compare: its mean test "
            f"{losses.title} is {losses.text(summary['error'].iloc[0])} over {_scope(compared)}."
        )
        return Verdict(text, [_reach(compared, splits)], summary, None)
    if compared.scores["test_error"].isna().all():
        text = "No method ever had a model: every evaluation failed. See Failures."
        return Verdict(text, [_reach(compared, splits)], summary, None)
    best = summary["rank"].round(9)
    leaders = list(summary.index[best == best.min()])
    if len(leaders) > 1:
        text = (
            f"{_and(leaders)} share the lowest average rank in test {losses.title}, "
            f"{best.min():.2f} of {len(compared.methods)}."
        )
        sentences = [_power(final), _reach(compared, splits)]
        return Verdict(text, [s for s in sentences if s], summary, None)
    leader, runner = summary.index[:2]
    sure, evidence = _sure(final, summary, leader, runner)
    scope = f"{len(compared.methods)} methods"
    if compared.left_out:
        scope += f" compared so far, {len(compared.left_out)} left out"
    headline = (
        f"{leader} ranks best in test {losses.title} (average rank {best[leader]:.2f} of {scope}); "
        f"{sure}."
    )
    sentences = [_margin(summary, leader, runner, losses), evidence]
    sentences.append(_seen(summary.loc[runner, "detectable"], losses))
    sentences.append(_interval(summary, leader, len(compared.datasets)))
    if reference in compared.methods and reference not in (leader, runner):
        sentences.append(_about(summary, leader, reference, losses))
    sentences += [_power(final), _reach(compared, splits)]
    return Verdict(headline, [s for s in sentences if s], summary, leader)


def _summary(final: pd.DataFrame) -> pd.DataFrame:
    errors = ranks.means(final)
    table = pd.DataFrame({"rank": ranks.mean_error_ranks(final).mean()})
    table = table.join(ranks.rank_intervals(final)).assign(error=errors.mean())
    table = table.join(ratings(errors))
    table = table.reindex(final.columns).sort_values("rank", kind="stable")
    tests = ["difference", "lower", "equal", "higher", "p", "p_holm", "detectable"]
    if len(table) < 2 or errors.empty:
        return table.reindex(columns=[*table.columns, *tests])
    found = wilcoxon.over_datasets(errors, table.index[0])
    return table.join(found).join(effects.intervals(errors, table.index[0])["detectable"])


def _margin(summary: pd.DataFrame, leader: str, runner: str, losses: Losses) -> str:
    row = summary.loc[runner]
    n = int(row["lower"] + row["equal"] + row["higher"])
    direction = "below" if row["difference"] >= 0 else "above"
    where = (
        f"on average over {n} data sets: lower on {row['lower']:.0f}, equal on "
        f"{row['equal']:.0f}, higher on {row['higher']:.0f}"
        if n > 1
        else "on the one data set compared"
    )
    return (
        f"Next is {runner} with rank {row['rank']:.2f}. {leader}'s mean test {losses.title} "
        f"({losses.text(summary.loc[leader, 'error'])}) is {losses.size(row['difference'])} "
        f"{direction} that of {runner} ({losses.text(row['error'])}), {where}."
    )


def _sure(final: pd.DataFrame, summary: pd.DataFrame, leader: str, runner: str) -> tuple[str, str]:
    """Assess the lead over the runner-up: over data sets if there are enough, else over repeats."""
    n = final.index.get_level_values("dataset").nunique()
    pairs = final.groupby(level="dataset").size()
    if wilcoxon.smallest_p(n) <= ALPHA:
        others = summary.index[1:]
        errors = ranks.means(final)
        p = summary.loc[runner, "p_holm"]
        beaten = int((summary.loc[others, "p_holm"] <= ALPHA).sum())
        # The average rank over all methods may favour a method that loses to the runner-up.
        secure = p <= ALPHA and wilcoxon.rank_biserial(errors[runner], errors[leader]) > 0
        claim = "is significant" if secure else "is not significant"
        return (
            f"its lead over {runner}, the runner-up, {claim}",
            f"Paired over the {n} data sets (Wilcoxon signed-rank, Holm-adjusted for "
            f"{len(others)} comparisons) {leader} differs significantly from {beaten} of the "
            f"{len(others)} other methods; against {runner} {p_is(p)}. The leader was "
            "picked after seeing the results, so these p-values are optimistic.",
        )
    possible = pairs.map(wilcoxon.smallest_p) <= ALPHA
    if not possible.any():
        return "there are too few data sets and repeats to rule out chance", ""
    tests = wilcoxon.compare(final[[leader, runner]], leader)
    count = tests["outcome"].value_counts().reindex(["better", "same", "worse"], fill_value=0)
    if count["better"] and not count["worse"]:
        secure = f"its lead over {runner} is significant on {count['better']} of {n} data sets"
    elif count["better"]:
        secure = f"against {runner}, the runner-up, the results are mixed"
    else:
        secure = f"its lead over {runner}, the runner-up, is not significant"
    return secure.replace("1 of 1 data sets", "the one data set"), (
        f"With {counted(n, 'data set')} only repeats can be tested: over them (Wilcoxon "
        f"signed-rank, p ≤ {ALPHA}) {leader} is better than {runner} on {count['better']}, worse "
        f"on {count['worse']}, and neither on {count['same']}."
    )


def _interval(summary: pd.DataFrame, leader: str, n: int) -> str:
    row = summary.loc[leader]
    if pd.isna(row["low"]):
        return ""
    return (
        f"Over data sets like these {n}, {leader}'s average rank is between {row['low']:.2f} and "
        f"{row['high']:.2f} (95 % interval by Student's t)."
    )


def _seen(detectable: float, losses: Losses) -> str:
    """Return the difference that the study could have detected."""
    if pd.isna(detectable):
        return ""
    return (
        f"Between these two, this study can detect a difference of {losses.size(detectable)} or "
        f"more with {100 * effects.POWER:g} % power (two-sided t-test over the data sets at "
        f"{100 * effects.LEVEL:g} %)."
    )


def _about(summary: pd.DataFrame, leader: str, reference: str, losses: Losses) -> str:
    place = list(summary.index).index(reference) + 1
    row = summary.loc[reference]
    return (
        f"{reference}, the reference method, has average rank {row['rank']:.2f} (place {place} of "
        f"{len(summary)}); its mean test {losses.title} is {losses.size(row['difference'])} "
        f"{'above' if row['difference'] >= 0 else 'below'} that of {leader}."
    )


def _power(final: pd.DataFrame) -> str:
    """Warn if the smallest possible p-value is too large for any finding."""
    pairs = final.groupby(level="dataset").size()
    n, repeats = len(pairs), int(pairs.max())
    limits = []
    if wilcoxon.smallest_p(n) > ALPHA:
        limits.append((n, "data set"))
    if wilcoxon.smallest_p(repeats) > ALPHA:
        limits.append((repeats, "repeat"))
    if not limits:
        return ""
    parts = [f"with {counted(k, what)} it is {wilcoxon.smallest_p(k):g}" for k, what in limits]
    what = " or ".join(f"over {what}s" for _, what in limits)
    return (
        "The smallest p-value that a signed-rank test can give with n pairs is 2/2ⁿ: "
        f"{' and '.join(parts)}. So nothing can be significant at {ALPHA} {what}, "
        "however large the difference: that takes at least 6."
    )


def _reach(compared: Comparison, splits: Sequence[str]) -> str:
    repeats = compared.scores["repeat"].unique()
    used = len({splits[repeat] for repeat in repeats})
    if used == len(repeats) > 1:
        return "Every repeat has its own split, so the spread over repeats includes that of data."
    if used > 1:
        return (
            f"The {len(repeats)} repeats of a data set cycle through {used} splits. Those on one "
            "split share all rows, but tests over repeats treat all of them as independent: they "
            "are overconfident about other splits."
        )
    return (
        "All repeats of a data set share one fixed split and differ only in the search's seed: the "
        "spread and the tests over repeats reflect the randomness of the search, not what would "
        "happen on other data or another split."
    )


def _scope(compared: Comparison) -> str:
    n = len(compared.datasets)
    return f"{counted(n, 'data set')} and {counted(compared.runs, 'run')}"


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 run``, ``2 runs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def p_value(p: float) -> str:
    """Format a p-value for a table: two digits, or ``< 0.0001``."""
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def p_is(p: float) -> str:
    """Format a p-value for a sentence: ``p = 0.031`` or ``p < 0.0001``."""
    return f"p {'' if p < 1e-4 else '= '}{p_value(p)}"
