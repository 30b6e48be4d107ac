"""Certainty and size of effects: what a careful reader asks beyond the paper's own tests."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from ensemble_search.analysis import components, curves, effects, ranks, wilcoxon
from ensemble_search.analysis.friedman import friedman
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.verdict import p_is, p_value, reach
from ensemble_search.report.overview_tables import DETECTABLE
from ensemble_search.report.plots import charts
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells, number
from ensemble_search.report.view import View, view
from ensemble_search.runtime.errors import number_of

TITLE, ORDER = "Statistics", 160


def build(results: Results, publish) -> list[Section] | str:
    """Show tests and effect sizes of the test losses, and overfitting to the validation set."""
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    compared, reference, losses = seen.compared, seen.reference, seen.losses
    final = ranks.final_errors(compared)
    errors = ranks.means(final)
    over = _over_datasets(errors, reference, losses)
    within = _within_datasets(final, reference, losses)
    return [
        _friedman(errors, seen, publish),
        Section(f"Over data sets: {reference} against each method", over),
        Section(f"Within data sets: {reference} against each method", within),
        _parts(final, reference, losses, results.splits),
        _overfitting(results, seen, publish),
        _repeats(results, final[[reference]], losses),
    ]


def _friedman(errors: pd.DataFrame, seen: View, publish) -> Section:
    title = "Do the methods differ at all?"
    n, k = errors.shape
    if n < 2 or k < 3:
        text = (
            "Friedman's test asks whether the average ranks over data sets differ by more than "
            f"chance. It needs at least 2 data sets and 3 methods; there are {n} and {k}."
        )
        return Section(title, [text])
    test = friedman(errors)
    differ = test.p <= wilcoxon.ALPHA
    text = (
        f"The average ranks of the {k} methods over {n} data sets differ "
        f"{'by more than' if differ else 'no more than by'} chance: Friedman χ² = "
        f"{test.statistic:.2f}, {p_is(test.p)}, by permuting the ranks within data sets."
    )
    if not differ:
        text += " So read the comparisons of pairs below as descriptions, not findings."
    apart = (
        "Average ranks differ significantly (Nemenyi, all pairs at once, α = "
        f"{wilcoxon.ALPHA:g}) only where they are more than {test.difference:.2f} apart; bars join "
        "methods that do not differ significantly. "
    )
    far = (test.ranks - test.ranks[seen.reference]).abs() > test.difference
    others = ", ".join(test.ranks.index[far])
    apart += f"{seen.reference} differs significantly from {others or 'none of the others'}."
    drawing = publish(
        charts.critical_difference(test, seen.look),
        "critical-difference",
        test.ranks.rename("rank").rename_axis("method").reset_index(),
        f"Average ranks in test {seen.losses.title} (1 = lowest), and which of them do not differ "
        "significantly",
        "; ".join(f"{m} {r:.2f}" for m, r in test.ranks.items()),
    )
    return Section(title, [text, drawing, apart])


def _over_datasets(errors: pd.DataFrame, reference: str, losses: Losses) -> list:
    n = len(errors)
    tests = wilcoxon.over_datasets(errors, reference)
    table = tests.drop(columns="difference").join(effects.intervals(errors, reference, losses.most))
    table["rank_biserial"] = effects.over_datasets(errors, reference)
    rows = []
    for method, row in table.iterrows():
        texts = [method, losses.signed(row["error"]), _span(row, "error", losses.signed)]
        texts += [
            losses.value(row["detectable"]),
            _signed(row["rank"]),
            _span(row, "rank", _signed),
        ]
        texts += [f"{row['lower']:.0f} / {row['equal']:.0f} / {row['higher']:.0f}"]
        texts += [p_value(row["p"]), p_value(row["p_holm"]), _signed(row["rank_biserial"])]
        favoured = reference if row["rank_biserial"] > 0 else method
        rows.append(cells(*texts, _share(row["rank_biserial"], favoured, n)))
    columns = ["method", losses.heading(losses.title, "points"), "95 % interval"]
    columns += ["detectable", "rank", "95 % interval"]
    columns += [f"{reference} lower / equal / higher", "p", "p (Holm)", "rank-biserial", "in words"]
    notes = [
        f"{losses.title[0].upper()}{losses.title[1:]} and rank: the method's minus {reference}'s, "
        f"mean over {number_of(n, 'data set')}, so positive favours {reference}. Intervals: "
        "Student's t over the data sets, on paired differences, each the mean over repeats; not "
        f"adjusted; clipped to the possible differences, of ranks ±{len(table)}; – if "
        "the difference is the same on all data sets, or there is one.",
        DETECTABLE,
        "p: Wilcoxon signed-rank, two-sided, paired over data sets; Holm: adjusted for the "
        f"{number_of(len(table), 'comparison')} of this table. Rank-biserial: from −1 to 1, how "
        "much of the signed-rank test's rank sum favours the reference; unlike p, it does not "
        "depend on the number of data sets.",
    ]
    if text := effects.by_chance(table, ("error", "rank")):
        notes.insert(1, f"{text} These are the intervals of {losses.title} and of rank.")
    if wilcoxon.smallest_p(n) > wilcoxon.ALPHA:
        notes.append(
            f"With {number_of(n, 'data set')} no p-value below {wilcoxon.smallest_p(n):g} is "
            "possible: read the differences as a description of these data sets."
        )
    else:
        notes += _lone(n, "data sets", len(table))
    caption = f"Test {losses.title}: each method minus {reference}, with data sets as the units"
    data = table.rename_axis("method").reset_index()
    return [Table("over-data-sets", caption, columns, rows, data, notes)]


def _within_datasets(final: pd.DataFrame, reference: str, losses: Losses) -> list:
    tests = effects.within_datasets(final, reference)
    pairs = int(tests["pairs"].max())
    if pairs < 2:
        return ["With one repeat per data set, the spread over repeats is unknown."]
    rows = []
    for method, group in tests.groupby("method", sort=False):
        plain, adjusted = (
            " / ".join(str((group[column] == word).sum()) for word in ("better", "same", "worse"))
            for column in ("outcome", "holm")
        )
        large = group["delta"][group["magnitude"] == "large"]
        delta, sides = _signed(group["delta"].mean()), f"{(large > 0).sum()} / {(large < 0).sum()}"
        sides = "–" if wilcoxon.smallest_p(pairs) > wilcoxon.ALPHA else sides
        rows.append(cells(method, plain, adjusted, delta, sides))
    columns = ["method", f"{reference} better / same / worse", "the same, Holm-adjusted"]
    columns += ["Cliff's delta, mean", f"large effects for / against {reference}"]
    others = final.shape[1] - 1
    notes = [
        f"Data sets on which {reference}'s mean test {losses.title} is significantly lower, not "
        f"significantly different or significantly higher (Wilcoxon signed-rank over at most "
        f"{pairs} repeats, two-sided, p ≤ {wilcoxon.ALPHA}, mean and signed ranks in the "
        "same direction); Holm: adjusted for the "
        f"{number_of(others, 'comparison')} on the same data set. If no method differed from "
        f"{reference}, up to {wilcoxon.ALPHA * len(tests):.2g} of the {len(tests)} unadjusted "
        "tests would be significant by chance.",
        f"Cliff's delta: chance that a random repeat of the method has a higher {losses.title} "
        f"than a random repeat of {reference}, minus the chance of a lower one; mean over data "
        "sets. Large: above 0.474 (Romano et al., 2006); –: with so few repeats, it often is by "
        "chance. The CSV has every data set.",
    ]
    notes += _lone(pairs, "repeats", others)
    title = f"Test {losses.title}: {reference} against each method"
    caption = f"{title}, on each data set over its repeats"
    return [Table("within-data-sets", caption, columns, rows, tests, notes)]


def _parts(final: pd.DataFrame, reference: str, losses: Losses, splits: list[str]) -> Section:
    title = "Where do differences come from?"
    tests = final.reset_index()
    tests["split"] = [splits[repeat] for repeat in tests["repeat"]]
    tests = tests.set_index(["dataset", "split", "repeat"])
    table = components.deviations(tests, reference)
    if table.empty or table.shape[1] < 2:
        alone = final.groupby(level="dataset").size().max() == 1
        given = "one run per data set" if alone else "one data set and one split"
        return Section(title, [f"With {given}, the parts of a difference's variance cannot be "
                               "distinguished."])  # fmt: skip
    levels = [components.LEVELS[level] for level in table.columns]
    columns = ["method", *(losses.heading(level, "points") for level in levels)]
    rows = [cells(method, *map(losses.value, row)) for method, row in table.iterrows()]
    notes = [
        f"Standard deviations of the difference from {reference}: of its true means between data "
        "sets, between splits of one data set, and between repeats on one split, except those that "
        "this study cannot separate from the previous one. Estimated by analysis of "
        "variance (Henderson's method 1); 0 where the estimate of the variance is negative.",
        "With S splits and R repeats on each, the variance of a data set's mean is data sets² + "
        "splits² / S + repeats² / (S R): more repeats on one split do not reduce the first two. "
        "The intervals over data sets cover all three.",
    ]
    caption = f"Standard deviations of the difference in test {losses.title}"
    data = table.rename_axis("method").reset_index()
    return Section(title, [Table("components", caption, columns, rows, data, notes)])


def _lone(pairs: int, what: str, comparisons: int) -> list[str]:
    """Warn if the smallest possible p-value is not significant after Holm's adjustment."""
    smallest = wilcoxon.smallest_p(pairs)
    adjusted = min(1.0, smallest * comparisons)
    if adjusted <= wilcoxon.ALPHA:
        return []
    return [
        f"With {pairs} {what} the smallest possible p-value is {smallest:.2g}, and Holm's "
        f"adjustment for {number_of(comparisons, 'comparison')} makes it {adjusted:.2g}: then "
        "nothing can be significant here, however clearly the methods differ."
    ]


def _overfitting(results: Results, seen: View, publish) -> Section:
    compared, losses = curves.over_budget(results, seen.compared), seen.losses
    unit, found = curves.unit(results.study), gaps(compared.scores)
    ends = found["iteration"].max()
    early = found[found["iteration"] == max(1, ends // 5)].set_index("method")
    last = found[found["iteration"] == ends].set_index("method")
    rows, data = [], []
    for method in compared.methods:
        parts = results.study["methods"][method]
        ensemble = results.study["ensembles"][parts["ensemble"]]
        size = str(ensemble.get("size") or "–")
        row = last.loc[method]
        texts = [method, ensemble["type"], size, number(row["members"], 1)]
        texts += [losses.value(row[c]) for c in ("validation_error", "test_error")]
        texts += [losses.signed(part.loc[method, "gap"]) for part in (early, last)]
        rows.append(cells(*texts))
        data.append({"method": method, "ensemble": ensemble["type"], "size": ensemble.get("size"),
                     **row, "gap_early": early.loc[method, "gap"]})  # fmt: skip
    columns = ["method", "ensemble", "size", "unique members"]
    columns += [losses.heading(f"{part} {losses.title}") for part in ("validation", "test")]
    columns += [f"gap at {unit} {max(1, ends // 5)}", f"gap at {ends}"]
    gap = f"Gap: test minus validation {losses.title} of the same ensemble"
    notes = [
        f"{losses.heading(gap, 'in percentage points')}, mean over all runs. A larger ensemble "
        f"chosen by the validation {losses.title} has more freedom to fit its noise: compare "
        "methods with the same search. On one split the level of the gap also depends on how hard "
        "its test part happens to be; that is the same for all methods, so only differences "
        f"between methods and over {unit}s indicate overfitting."
    ]
    drawing = publish(
        charts.gap_lines(found, compared.methods, seen.look, losses, unit),
        "overfitting",
        found,
        f"Test minus validation {losses.title} of the current ensemble over {unit}s",
        "; ".join(f"{m} {losses.change(last.loc[m, 'gap'])}" for m in compared.methods),
    )
    caption = "Overfitting to the validation set"
    table = Table("overfitting", caption, columns, rows, pd.DataFrame(data), notes)
    return Section("How optimistic is the validation set?", [table, drawing])


def _repeats(results: Results, final: pd.DataFrame, losses: Losses) -> Section:
    table = resolution(final, results.datasets.set_index("dataset")["test"])
    headings = {
        "error": losses.heading(f"test {losses.title}"),
        "over_repeats": "standard deviation over repeats",
        "rows": "test rows",
        "of_the_test_part": "standard error of the test part",
    }
    notes = []
    if losses.is_error:
        notes.append(
            "In percentage points. Standard error of the test part: √(e (1 − e) / n), how far the "
            "error on n rows typically is from that on unlimited data. Two methods err on much the "
            "same rows, so their difference is known more precisely than this; but a difference "
            "far below it says little about new data, even if it is significant over repeats."
        )
    else:
        table = table.drop(columns="of_the_test_part")  # only valid for a share of wrong labels
    shows = [partial(number, digits=0) if c == "rows" else losses.value for c in table.columns]
    rows = [
        cells(dataset, *(show(value) for show, value in zip(shows, row, strict=True)))
        for dataset, row in table.iterrows()
    ]
    columns = ["data set", *(headings[c] for c in table.columns)]
    caption = f"How much the test {losses.title} of {final.columns[0]} varies"
    shown = Table("resolution", caption, columns, rows, table.reset_index(), notes)
    return Section("What can repeats show?", [reach(results.splits), shown])


def _share(r: float, favoured: str, n: int) -> str:
    """Put a rank-biserial correlation into words: 0.8 means 90 % of the rank sum is in favour.

    If so few data sets cannot give a significant p-value, their number ``n`` is part of the words.
    """
    few = f"; {number_of(n, 'data set')}" if wilcoxon.smallest_p(n) > wilcoxon.ALPHA else ""
    share = f"{50 * (1 + abs(r)):.0f} %".replace("100 %", "all")
    return (f"{share} of the rank sum for {favoured}" if r else "balanced") + few


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−") if np.isfinite(value) else "–"


def _span(row: pd.Series, name: str, write: Callable[[float], str]) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{write(low)} to {write(high)}" if low < high else "–"


def gaps(scores: pd.DataFrame) -> pd.DataFrame:
    """Test minus validation error of the ensemble at each iteration, averaged over runs.

    Both errors are of the same ensemble; the validation error is not the best one observed so far.
    The columns are ``method``, ``iteration``; ``validation_error``, ``test_error``, ``gap`` and
    ``members`` (unique ones): means over data sets and repeats, NaN while some run has no model;
    and ``runs``, their number.
    """
    keys = ["method", "iteration"]
    columns = ["validation_error", "test_error", "gap", "members"]
    frame = scores.assign(gap=scores["test_error"] - scores["validation_error"])
    groups = frame.groupby(keys, observed=True)
    table = groups[columns].mean()
    incomplete = groups["gap"].count() < groups.size()
    table.loc[incomplete, columns] = np.nan
    return table.assign(runs=groups.size()).reset_index()


def resolution(final: pd.DataFrame, rows: pd.Series) -> pd.DataFrame:
    """Compare the spread of test errors over repeats with the part due to the test set's size.

    As an estimate of the error on new data, a test error e on n samples has the standard error
    sqrt(e (1 - e) / n). Repeats on the same split do not show it. ``final`` has the test errors of
    one method, index (dataset, repeat), one column; ``rows`` the number of test samples by data
    set. By data set: ``error`` (mean), ``over_repeats`` (standard deviation, divisor n - 1; NaN for
    one repeat), ``rows``, ``of_the_test_part`` (standard error).
    """
    groups = final.iloc[:, 0].groupby(level="dataset", sort=False)
    table = pd.DataFrame({"error": groups.mean(), "over_repeats": groups.std()})
    table["rows"] = rows.reindex(table.index)
    variance = table["error"] * (1 - table["error"])  # negative only if the loss is not a share
    table["of_the_test_part"] = np.sqrt(variance.where(variance >= 0) / table["rows"])
    return table
