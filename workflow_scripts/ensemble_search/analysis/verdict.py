"""A reader's first questions, answered: which method wins, by how much, and how certainly."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pandas as pd

from ensemble_search.analysis import effects, ranks, wilcoxon
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.analysis.ratings import ratings
from ensemble_search.analysis.wilcoxon import ALPHA
from ensemble_search.runtime.errors import number_of


@dataclass(frozen=True)
class Verdict:
    """The answer in words, and the underlying table."""

    headline: str  #: one sentence
    sentences: list[str]  #: its basis, and its limitations
    #: One row per method, best rank first: ``rank``, ``low``, ``high`` (95 % interval by Student's
    #: t over data sets), ``error`` (mean test loss), the columns of ``ratings.ratings``; compared
    #: with the leader, ``difference``, ``lower``, ``equal``, ``higher``, ``p``, ``p_holm`` (over
    #: data sets) and ``detectable`` (from ``effects.intervals``).
    summary: pd.DataFrame


def verdict(
    compared: Comparison, reference: str, splits: Sequence[str], single: Collection[str] = ()
) -> Verdict:
    """Return which method has the lowest test loss, by how much, and with what certainty.

    A method is only said to rank best if its lead is significant, over data sets or on some of
    them. The ``reference`` is the method of interest, chosen before the results were seen;
    ``splits`` has the split of every repeat; and ``single`` are the methods that deliver the best
    pipeline of their search instead of an ensemble.
    """
    losses = compared.losses
    final = ranks.final_errors(compared)
    summary = _summary(final, losses)
    if not compared.methods:
        return Verdict("There are no results to compare yet.", [], summary)
    repeats = reach([splits[repeat] for repeat in compared.scores["repeat"].unique()])
    if len(compared.methods) == 1:
        only = compared.methods[0]
        text = (
            f"Only {only} has results, so there is nothing to compare: its mean test "
            f"{losses.title} is {losses.text(summary['error'].iloc[0])} over {_scope(compared)}."
        )
        return Verdict(text, [repeats], summary)
    if compared.scores["test_error"].isna().all():
        text = "No method ever had a model: no evaluation on all training rows succeeded. "
        text += "See Failures."
        return Verdict(text, [repeats], summary)
    places = summary["rank"].round(9)
    leaders = list(places.index[places == places.iloc[0]])
    scope = f"{len(compared.methods)} methods"
    if compared.left_out:
        scope += f" compared so far, {len(compared.left_out)} left out"
    rank = f"{places.iloc[0]:.2f} of {scope}"
    alone = _alone(leaders, single)
    if len(leaders) > 1:
        text = f"{listed(leaders)} share the lowest average rank in test {losses.title}, {rank}."
        means = ", ".join(f"{m} {losses.text(summary.loc[m, 'error'])}" for m in leaders)
        means = f"Their mean test {losses.plural} over the data sets: {means}."
        sentences = [means, alone, _power(final, 1), repeats]
        return Verdict(text, [s for s in sentences if s], summary)
    leader = leaders[0]
    runners = list(places.index[places == places.iloc[1]])
    sure, claim, evidence = _sure(final, summary, leader, runners)
    headline = f"{leader} ranks best in test {losses.title} (average rank {rank}); {claim}."
    if not sure:
        headline = (
            f"No method is clearly the best in test {losses.title}: {leader} has the lowest "
            f"average rank ({rank}), but {claim}."
        )
    sentences = [alone, _margins(summary, leader, runners, losses)]
    sentences += [_lowest(summary, leader, runners, losses), evidence]
    if wilcoxon.smallest_p(len(compared.datasets)) <= ALPHA:
        sentences.append(_seen(summary.loc[runners, "detectable"], leader, losses))
    sentences.append(_interval(summary, leader, len(compared.datasets)))
    if reference in compared.methods and reference not in (leader, *runners):
        sentences.append(_about(summary, leader, reference, losses))
    sentences += [_power(final, len(runners)), repeats]
    return Verdict(headline, [s for s in sentences if s], summary)


def _alone(leaders: list[str], single: Collection[str]) -> str:
    """Name the leaders that are not ensembles."""
    alone = [name for name in leaders if name in single]
    if not alone:
        return ""
    does, their = ("delivers", "its") if len(alone) == 1 else ("deliver", "their")
    return f"{listed(alone)} {does} the single best pipeline of {their} search, not an ensemble."


def _summary(final: pd.DataFrame, losses: Losses) -> pd.DataFrame:
    errors = ranks.means(final)
    table = pd.DataFrame({"rank": ranks.mean_error_ranks(final).mean()})
    table = table.join(ranks.rank_intervals(final)).assign(error=errors.mean())
    table = table.join(ratings(errors))
    table = table.reindex(final.columns)
    table = table.loc[table["rank"].round(9).sort_values(kind="stable").index]
    tests = ["difference", "lower", "equal", "higher", "p", "p_holm", "detectable"]
    if len(table) < 2 or errors.empty:
        return table.reindex(columns=[*table.columns, *tests])
    found = wilcoxon.over_datasets(errors, table.index[0])
    own = effects.intervals(errors, table.index[0], losses.most)
    return table.join(found).join(own["detectable"])


def _margins(summary: pd.DataFrame, leader: str, runners: list[str], losses: Losses) -> str:
    """Compare the leader's mean loss with those of the methods that share the next rank."""
    n = int(summary.loc[runners[0], ["lower", "equal", "higher"]].sum())
    where = f"on average over {n} data sets" if n > 1 else "on the one data set compared"
    parts = []
    for runner, row in summary.loc[runners].iterrows():
        numbers = losses.text(row["error"])
        if n > 1:
            numbers += (
                f"; lower on {row['lower']:.0f}, equal on {row['equal']:.0f}, "
                f"higher on {row['higher']:.0f}"
            )
        side = "below" if row["difference"] >= 0 else "above"
        parts.append(f"{losses.size(row['difference'])} {side} that of {runner} ({numbers})")
    own = losses.text(summary.loc[leader, "error"])
    shared = f"shared by {listed(runners)}" if len(runners) > 1 else f"that of {runners[0]}"
    return (
        f"The next average rank is {summary.loc[runners[0], 'rank']:.2f}, {shared}. "
        f"{leader}'s mean test {losses.title} ({own}), {where}, is {listed(parts)}."
    )


def _sure(
    final: pd.DataFrame, summary: pd.DataFrame, leader: str, runners: list[str]
) -> tuple[bool, str, str]:
    """Assess the lead over those with the next rank, over data sets if there are enough.

    Otherwise it is assessed over repeats. Returns whether the leader may be called the best, a
    clause that says why, and the tests in words.
    """
    n = final.index.get_level_values("dataset").nunique()
    pairs = final.groupby(level="dataset").size()
    others = summary.index[1:]
    if _smallest(n, len(others)) <= ALPHA:
        errors = ranks.means(final)
        p = summary["p_holm"]
        beaten = int((p[others] <= ALPHA).sum())
        # The average rank over all methods may favour a method that loses to the runner-up.
        unsure = [
            runner
            for runner in runners
            if p[runner] > ALPHA or wilcoxon.rank_biserial(errors[runner], errors[leader]) <= 0
        ]
        against = listed([f"against {runner} {p_is(p[runner])}" for runner in runners])
        return (
            not unsure,
            _lead(unsure, runners, "is not") if unsure else _lead(runners, runners, "is"),
            f"Paired over the {n} data sets (Wilcoxon signed-rank, Holm-adjusted for "
            f"{number_of(len(others), 'comparison')}) {leader} differs significantly from {beaten} "
            f"of the {number_of(len(others), 'other method')}; {against}. The leader was picked "
            "after seeing the results, so these p-values are optimistic.",
        )
    if _smallest(int(pairs.max()), n * len(runners)) > ALPHA:
        return False, "there are too few data sets and repeats to rule out chance", ""
    tests = wilcoxon.compare(final[[leader, *runners]], leader)
    outcomes = tests["outcome"].where(wilcoxon.holm(list(tests["p"])) <= ALPHA, "same")
    counts = pd.crosstab(tests["method"], outcomes)
    counts = counts.reindex(index=runners, columns=["better", "same", "worse"], fill_value=0)
    unsure = list(counts.index[counts["better"] == 0])
    mixed = list(counts.index[(counts["better"] > 0) & (counts["worse"] > 0)])
    if unsure:
        claim = _lead(unsure, runners, "is not")
    elif mixed:
        claim = f"against {_of(mixed, runners)}, the results are mixed"
    else:
        least = counts["better"].min()
        on = "the one data set" if n == 1 else f"{least} of {n} data sets"
        claim = _lead(runners, runners, "is")
        claim += f" on {'at least ' if len(runners) > 1 else ''}{on}"
    found = [
        f"better than {runner} on {row['better']}, worse on {row['worse']}, and neither on "
        f"{row['same']}"
        for runner, row in counts.iterrows()
    ]
    return (
        not unsure and not mixed,
        claim,
        f"With {number_of(n, 'data set')} only repeats can be tested: over them (Wilcoxon "
        f"signed-rank, p ≤ {ALPHA} by Holm for {number_of(len(tests), 'test')}) {leader} is "
        f"{'; '.join(found)}. The leader was picked after seeing the results, so these tests are "
        "optimistic.",
    )


def _lead(names: list[str], runners: list[str], verb: str) -> str:
    return f"its lead over {_of(names, runners)}, {verb} significant"


def _of(names: list[str], runners: list[str]) -> str:
    """Name some of the runners-up: ``B, the runner-up``, or one of several, ``B, a runner-up``."""
    article = ("a " if len(names) == 1 else "") if len(names) < len(runners) else "the "
    return f"{listed(names)}, {article}runner{'s' if len(names) > 1 else ''}-up"


def _lowest(summary: pd.DataFrame, leader: str, runners: list[str], losses: Losses) -> str:
    """Name the method with the lowest mean loss if it is neither the leader nor a runner-up."""
    lowest = summary["error"].idxmin()
    if lowest in (leader, *runners) or not summary["difference"][lowest] < 0:
        return ""
    return (
        f"{lowest} has the lowest mean test {losses.title} "
        f"({losses.text(summary['error'][lowest])}): data sets on which methods differ much count "
        "more in means than in ranks."
    )


def _interval(summary: pd.DataFrame, leader: str, n: int) -> str:
    row = summary.loc[leader]
    if pd.isna(row["low"]):
        return ""
    if row["low"] <= 1 and row["high"] >= len(summary):
        return (
            f"These {n} data sets cannot narrow down {leader}'s average rank over others like "
            f"them: its 95 % interval covers all ranks, 1 to {len(summary)}."
        )
    return (
        f"Over data sets like these {n}, {leader}'s average rank is between {row['low']:.2f} and "
        f"{row['high']:.2f} (95 % interval by Student's t, clipped to 1 and {len(summary)}; "
        f"optimistic, because {leader} was picked for its rank on these)."
    )


def _seen(detectable: pd.Series, leader: str, losses: Losses) -> str:
    """Return the differences from each runner-up that the study could have detected."""
    if detectable.isna().any():
        return ""
    sizes = [
        f"between {leader} and {name} of at least {losses.size(d)}"
        for name, d in detectable.items()
    ]
    return (
        f"This study can detect a difference {listed(sizes)}, with {100 * effects.POWER:g} % power "
        f"(two-sided t-test over the data sets at {100 * ALPHA:g} %)."
    )


def _about(summary: pd.DataFrame, leader: str, reference: str, losses: Losses) -> str:
    row, places = summary.loc[reference], summary["rank"].round(9)
    place = int((places < places[reference]).sum()) + 1
    equal = [m for m in places.index[places == places[reference]] if m != reference]
    shared = f", shared with {listed(equal)}" if equal else ""
    return (
        f"{reference}, the reference method, has average rank {row['rank']:.2f} (place {place} of "
        f"{len(summary)}{shared}); its mean test {losses.title} is "
        f"{losses.size(row['difference'])} {'above' if row['difference'] >= 0 else 'below'} "
        f"that of {leader}."
    )


def _power(final: pd.DataFrame, runners: int) -> str:
    """Warn if the smallest possible p-value is too large for any finding.

    Over repeats, the leader is compared with so many ``runners``-up on each data set.
    """
    pairs = final.groupby(level="dataset").size()
    limits = [(len(pairs), "data set", final.shape[1] - 1)]
    limits.append((int(pairs.max()), "repeat", len(pairs) * runners))
    parts, least = [], []
    for n, what, comparisons in limits:
        if _smallest(n, comparisons) <= ALPHA:
            continue
        parts.append(f"with {number_of(n, what)} it is {wilcoxon.smallest_p(n):g}")
        if comparisons > 1:
            parts[-1] += f" ({_smallest(n, comparisons):g} by Holm for {comparisons} comparisons)"
        needed = next(k for k in count(n) if _smallest(k, comparisons) <= ALPHA)
        least.append(number_of(needed, what))
    if not parts:
        return ""
    return (
        "The smallest p-value that a signed-rank test can give with n pairs is 2/2ⁿ: "
        f"{' and '.join(parts)}. So nothing can be significant at {ALPHA} over these, however "
        f"large the difference: that takes at least {' or '.join(least)}."
    )


def _smallest(pairs: int, comparisons: int) -> float:
    """Smallest p-value of a signed-rank test after Holm's adjustment."""
    return min(1.0, comparisons * wilcoxon.smallest_p(pairs))


def reach(splits: Sequence[str]) -> str:
    """Describe what tests over the repeats of a data set can show, from the split of each."""
    repeats, used = len(splits), len(set(splits))
    if repeats == 1:
        return "With one repeat per data set, the spread over repeats is unknown."
    if used == repeats:
        return (
            "Every repeat has its own split, so the spread over repeats includes that of data. "
            "The splits share rows of one data set: tests over repeats generalise to other splits "
            "of it, somewhat overconfidently, and not to other data."
        )
    if used > 1:
        return (
            f"The {repeats} repeats of a data set cycle through {used} splits. Those on one "
            "split share all rows, but tests over repeats treat all of them as independent: they "
            "are overconfident about other splits."
        )
    return (
        "All repeats of a data set share one fixed split and differ only in the search's seed: "
        "tests over them show whether another run of the search would give the same order, but not "
        "whether another split of the same data would, let alone other data. However many repeats "
        "there are, the sampling error of the test part itself remains."
    )


def _scope(compared: Comparison) -> str:
    n = len(compared.datasets)
    return f"{number_of(n, 'data set')} and {number_of(compared.runs, 'run')}"


def listed(values: Iterable[Any]) -> str:
    """Format values as in a sentence: ``1``, ``1 and 2``, ``1, 2 and 3``."""
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last


def p_value(p: float) -> str:
    """Format a p-value for a table: two digits, or ``< 0.0001``."""
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def p_is(p: float) -> str:
    """Format a p-value for a sentence: ``p = 0.031`` or ``p < 0.0001``."""
    return f"p {'' if p < 1e-4 else '= '}{p_value(p)}"
