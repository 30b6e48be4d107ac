"""Table 2: number of data sets on which the reference is significantly better."""

import pandas as pd

from ensemble_search.analysis import ranks, verdict, wilcoxon
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.papers import agreement, paired
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells
from ensemble_search.report.view import view

TITLE, ORDER = "Significance on each data set", 20
PAPER = "Table 2 of Shen et al. (2022)"
PARTS = {"test": "test_error", "validation": "validation_error"}


def build(results: Results, publish) -> list[Section] | str:
    """Count better, same and worse, and show the underlying p-values."""
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    tests = {
        part: wilcoxon.compare(ranks.final_errors(seen.compared, column), seen.reference)
        for part, column in PARTS.items()
    }
    parts: list = []
    if seen.reference != results.reference:
        parts.append(
            f"{results.reference}, the reference method, has no results that can be compared yet; "
            f"methods are compared with {seen.reference} instead."
        )
    parts.append(counts_table(tests, seen.reference, seen.losses, verdict.reach(results.splits)))
    printed = agreement.values(results.study, "wilcoxon")
    if seen.reference == "DivBO" and set(printed) & set(seen.others):
        parts += agreement.caution(results.study, "wilcoxon")
        parts.append(_beside(tests, {m: p for m, p in printed.items() if m in seen.others}))
    title = f"Is {seen.reference} significantly better, data set by data set?"
    detail = [_detail(part, frame, seen.reference, seen.losses) for part, frame in tests.items()]
    return [Section(title, parts), Section("Every test", detail)]


def counts_table(
    tests: dict[str, pd.DataFrame], reference: str, losses: Losses, about: str
) -> Table:
    """Count the data sets where the reference is better, same or worse.

    ``tests`` are results of ``wilcoxon.compare``, by part; ``about`` says what they are about.
    """
    counts = {name: wilcoxon.counts(frame) for name, frame in tests.items()}
    methods = next(iter(counts.values())).index
    rows = []
    for method in methods:
        numbers = [part.loc[method, o] for part in counts.values() for o in part.columns]
        rows.append(cells(f"{reference} against {method}", *numbers))
    columns = ["", *(f"{name} {o}" for name in counts for o in paired.LETTER)]
    data = pd.concat(tests, names=["part"]).reset_index("part").reset_index(drop=True)
    notes = [
        f"Better: the number of data sets on which {reference} has the lower mean {losses.title} "
        "and the difference is significant (Wilcoxon signed-rank over the paired repeats, "
        "two-sided, p ≤ 0.05, zero differences dropped, not adjusted for multiple tests). Same: "
        "not significant, or mean and signed ranks point in different directions.",
        about,
        f"Searches and ensembles select by validation {losses.title}, so it is optimistic: judge "
        f"methods by the test {losses.title}.",
    ]
    first = next(iter(tests.values()))
    notes.append(
        f"If no method differed from {reference} anywhere, up to {wilcoxon.ALPHA * len(first):.2g} "
        f"of the {len(first)} tests of each {losses.title} would be significant by chance."
    )
    pairs = int(first["pairs"].max())
    if wilcoxon.smallest_p(pairs) > wilcoxon.ALPHA:
        notes.insert(
            0,
            f"With at most {pairs} paired repeats, the smallest possible p-value is "
            f"{wilcoxon.smallest_p(pairs):g}: nothing can be significant here, and “same” does not "
            "mean that the methods are alike. At least 6 repeats are needed.",
        )
    caption = f"Data sets on which {reference} is better, the same or worse than each method"
    return Table("counts", caption, columns, rows, data, notes)


def _beside(tests: dict[str, pd.DataFrame], printed: dict[str, list[int]]) -> Table:
    counts = {part: wilcoxon.counts(frame) for part, frame in tests.items()}
    rows, data = [], []
    for method, theirs in printed.items():
        ours = {part: table.loc[method].tolist() for part, table in counts.items()}
        texts = (" / ".join(map(str, numbers)) for numbers in (*ours.values(), theirs))
        rows.append(cells(method, *texts))
        lines = {**ours, "published": theirs}
        data += [(method, which, *numbers) for which, numbers in lines.items()]
    frame = pd.DataFrame(data, columns=["method", "which", "better", "same", "worse"])
    columns = ["against", *(f"ours, {part} error" for part in tests), "the paper's"]
    notes = ["The paper does not say which error its counts refer to."]
    caption = f"Better / same / worse, beside {agreement.source('wilcoxon')}"
    return Table("beside", caption, columns, rows, frame, notes)


def _detail(part: str, tests: pd.DataFrame, reference: str, losses: Losses) -> Table:
    notes = [
        f"Mean {part} {losses.title} of the method minus that of {reference}{losses.in_points}; p "
        f"of the test; B: {reference} is significantly better (bold), S: the same, W: worse."
    ]
    caption = f"Tests of the {part} {losses.title} against {reference}"
    return paired.table(part, caption, tests, notes, losses)
