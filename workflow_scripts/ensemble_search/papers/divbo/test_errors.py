"""Table 1: test losses and average ranks, compared with the paper's."""

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.papers import agreement
from ensemble_search.report import overview_tables
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table, by_method, cells, number
from ensemble_search.report.view import View, view
from ensemble_search.runtime.errors import number_of

TITLE, ORDER = "Test {losses}", 10
PAPER = "Table 1 of Shen et al. (2022)"


def build(results: Results, publish) -> list[Section] | str:
    """Show our Table 1, the part that the paper also has, and the ranks of both."""
    seen = view(results)
    if isinstance(seen, str):
        return seen
    final = ranks.final_errors(seen.compared)
    table = overview_tables.error_table(results, seen.compared, "ours")
    sections = [Section("Ours", [table, *_best(final, seen)])]
    if results.study.get("metric") == "squared-error":
        sections.append(Section("R²", [r2_table(final, results.datasets, results.splits)]))
    if not seen.losses.is_error:
        return sections
    ours = ranks.spreads(final)
    sizes = results.datasets.set_index("dataset")["test"]
    comparison = agreement.compare_errors(results.study, "test-error", ours, sizes)
    if comparison.empty:
        text = "The paper has none of these data sets and methods, judging by their names."
        return [*sections, Section("Beside the paper's", [text])]
    where = agreement.source("test-error")
    caption = f"Test error in percent, ours and (in parentheses) that of {where}"
    table = agreement.error_table("beside", comparison, caption)
    sections.append(Section("Beside the paper's", [agreement.tally(comparison), table]))
    common = common_ranks(comparison)
    if len(common) > 1:
        sections.append(_ranks(results, comparison, common))
    return sections


def _best(final: pd.DataFrame, seen: View) -> list[str]:
    """Return the number of data sets on which the reference is best, and the paper's for DivBO."""
    if len(seen.compared.methods) < 2:
        return []
    means = ranks.means(final)
    counts, others = ranks.lowest(means), means.drop(columns=seen.reference).min(axis=1)
    alone = int((means[seen.reference].round(ranks.DIGITS) < others.round(ranks.DIGITS)).sum())
    text = (
        f"{seen.reference} has the lowest mean test {seen.losses.title} of {len(counts)} methods "
        f"on {counts[seen.reference]} of {number_of(len(seen.compared.datasets), 'data set')}"
        + (f", on {alone or 'none'} of them alone." if alone < counts[seen.reference] else ".")
    )
    if seen.reference == "DivBO" and seen.losses.is_error:
        printed = agreement.entry("best-datasets")["values"]
        where = " and ".join(f"{m} on {k} of 15" for m, k in printed.items())
        text += f" {agreement.source('best-datasets')}: of nine methods {where}."
    return [text]


def r2_table(final: pd.DataFrame, datasets: pd.DataFrame, splits: list[str]) -> Table:
    """Show the coefficients of determination that correspond to squared errors.

    The errors are those of ``ranks.final_errors``; ``datasets`` and ``splits`` are those of
    ``Results``.
    """
    errors = datasets.set_index("dataset")["mean_errors"]
    of_mean = [errors[name].get(splits[repeat], np.nan) for name, repeat in final.index]
    share = final.div(np.array(of_mean, dtype=float), axis=0)
    data = ranks.spreads(1 - share)
    columns, rows = by_method(data, lambda line: Cell(number(line["mean"], 3).replace("-", "−")))
    notes = [
        "1 minus the squared error on the test rows over that of always predicting the training "
        "rows' mean, on the split of the repeat: 1 is perfect, 0 no better than the mean. The "
        "CSV file also has the deviations."
    ]
    caption = "R² on the test rows, means over repeats"
    return Table("r2", caption, columns, rows, data, notes)


def common_ranks(comparison: pd.DataFrame) -> pd.DataFrame:
    """Average ranks of our and the printed errors in a result of ``agreement.compare_errors``.

    One row per method that both have on all common data sets: ``ours``, ``published``, and
    ``ours_best``, ``published_best``: data sets on which the method has the lowest mean error.
    """
    wide = comparison.pivot(index="dataset", columns="method", values=["ours", "published"])
    order = list(dict.fromkeys(comparison["method"]))
    found = {}
    for column in ("ours", "published"):
        errors = wide[column].reindex(columns=order).dropna(axis=1)
        found[column] = ranks.ranked(errors).mean()
        found[f"{column}_best"] = ranks.lowest(errors)
    return pd.DataFrame(found)


def _ranks(results: Results, comparison: pd.DataFrame, common: pd.DataFrame) -> Section:
    from scipy.stats import kendalltau

    printed = agreement.entry("test-rank")["values"]
    n = comparison["dataset"].nunique()
    rows = []
    for method, row in common.sort_values("ours", kind="stable").iterrows():
        both = [Cell(f"{row[c]:.2f}", row[c] == common[c].min()) for c in ("ours", "published")]
        lowest = row[["ours_best", "published_best"]].astype(int)
        rows.append([*cells(method), *both, *cells(number(printed.get(method, np.nan)), *lowest)])
    tau = kendalltau(common["ours"], common["published"]).statistic
    columns = ["method", "ours", "the paper's means, ranked alike", "printed (15 data sets)"]
    columns += ["lowest error on, ours", "lowest error on, the paper's means"]
    notes = [
        f"Average ranks of the mean errors of the {len(common)} methods on the {n} data sets that "
        "both have; tied methods share their ranks. On all 15 data sets and 9 methods the paper's "
        "means, ranked in this way, give its printed ranks. Lowest error on: number of data sets "
        "on which the method's mean error is the lowest of these methods; ties count for each."
    ]
    if len(common) > 2 and np.isfinite(tau):
        notes.append(f"Kendall's tau of the two orders: {tau:.2f} (1: the same, −1: reversed).")
    data = common.rename_axis("method").reset_index()
    table = Table("ranks", "Average ranks, ours and the paper's", columns, rows, data, notes)
    return Section("Who ranks where", [*agreement.caution(results.study, "test-rank"), table])
