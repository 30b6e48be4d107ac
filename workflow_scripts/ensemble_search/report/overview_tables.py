"""Tables of the main page, one function each."""

from dataclasses import replace

import numpy as np
import pandas as pd

from ensemble_search.analysis import effects, failures, origins, ranks, ratings
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.analysis.times import duration
from ensemble_search.analysis.verdict import Verdict, p_value
from ensemble_search.analysis.wilcoxon import ALPHA, smallest_p
from ensemble_search.report.tables import Cell, Table, cells, of_losses
from ensemble_search.results.job_logs import ranges
from ensemble_search.runtime.errors import number_of

#: Explains the column of this name.
DETECTABLE = (
    "Detectable: the smallest true difference that these data sets would detect with "
    f"{100 * effects.POWER:g} % power (two-sided t-test at {100 * ALPHA:g} %; –: none, or all "
    "differ by the same)."
)


def summary(verdict: Verdict, compared: Comparison, sizes: pd.Series) -> Table:
    """Average rank, mean loss and distance to the leader, one row per method."""
    table, losses = verdict.summary, compared.losses
    leader = table.index[0]
    enough = smallest_p(len(compared.datasets)) <= ALPHA
    best = table["rank"].round(9) == table["rank"].round(9).min()
    tied = "" if best.sum() == 1 else " (tied with others: bold)"
    rows = []
    for method, row in table.iterrows():
        against = [""] * 4
        if method != leader:
            against = [
                losses.signed(row["difference"]),
                f"{row['lower']:.0f} / {row['equal']:.0f} / {row['higher']:.0f}",
                p_value(row["p_holm"]) if enough else "–",
                losses.value(row["detectable"]),
            ]
        wins = [f"{100 * row['win_rate']:.0f} %", f"{row['elo']:.0f}"]
        size = f"{sizes[method]:.1f}" if method in sizes else "–"
        rows.append(
            [
                Cell(method),
                Cell(f"{row['rank']:.2f}", bool(best[method])),
                *cells(_ends(row["low"], row["high"], 2), *(wins if len(table) > 1 else ["–"] * 2)),
                *cells(_ends(row["elo_low"], row["elo_high"], 0), losses.value(row["error"])),
                *cells(*against, size),
            ]
        )
    columns = ["method", "average rank", "95 % interval", "win rate", "Elo", "95 % interval"]
    columns += [losses.heading(f"mean test {losses.title}"), losses.heading("difference", "points")]
    columns += [f"{leader} lower / equal / higher", "p (Holm)", "detectable", "members"]
    notes = [
        f"Average rank: the methods are ranked by their mean test {losses.title} on each data set "
        "(1 = lowest, ties share ranks), then averaged over data sets. Win rate: mean share of the "
        "other methods that a method beats on a data set; it follows from the rank. Elo: "
        f"Bradley-Terry strengths from the same wins; {ratings.MEAN} is the mean, and "
        f"{ratings.TENFOLD} more mean ten times the odds of winning. Intervals: Student's t over "
        f"the data sets, of ranks clipped to 1 and {len(table)}, of Elo from the jackknife; – "
        "where they cannot be estimated: with one data set, or the same rank on all.",
        f"Difference, data sets lower / equal / higher and p: against {leader}, the first row{tied}"
        f"; Wilcoxon signed-rank test on the mean {losses.plural} of the data sets, Holm-adjusted "
        f"(– with fewer than 6). {DETECTABLE} Members: mean number of unique members of the final "
        "ensemble.",
    ]
    scope = number_of(len(compared.datasets), "data set"), number_of(compared.runs, "run")
    caption = f"Methods by average rank ({scope[0]}, {scope[1]} per method)"
    data = table.assign(members=sizes.reindex(table.index)).rename_axis("method").reset_index()
    return Table("summary", caption, columns, rows, data, notes)


def _ends(low: float, high: float, digits: int) -> str:
    text = f"{low:.{digits}f} to {high:.{digits}f}" if np.isfinite(low) else "–"
    return text.replace("-", "−")


def error_table(results: Results, compared: Comparison, name: str = "test-error") -> Table:
    """Test loss, mean ± standard deviation; data sets × methods (Table 1)."""
    losses = compared.losses
    final = ranks.final_errors(compared)
    spreads = ranks.spreads(final)
    columns, rows = of_losses(spreads, losses)
    average = ranks.mean_error_ranks(final).mean()
    lowest = average.round(ranks.DIGITS) == average.round(ranks.DIGITS).min()
    foot = [Cell(f"{average[m]:.2f}", bool(lowest[m])) for m in compared.methods]
    rows.append([Cell("average rank"), *foot])
    size = spreads.groupby("dataset", sort=False)["repeats"].first()
    uneven = size.nunique() > 1
    if uneven:
        columns.append("repeats")
        for row, repeats in zip(rows, [*size, ""], strict=True):
            row.append(Cell(str(repeats)))
    over = "repeats" if uneven or size.iloc[0] == 1 else f"{size.iloc[0]} repeats"
    caption = f"Test {losses.title}{losses.in_percent}, mean ± standard deviation over {over}"
    notes = [
        f"Test {losses.title}: {losses.title} on the held-out test rows of what the method "
        "delivers after its last evaluation (its ensemble, or its best model). ± is the standard "
        "deviation over repeats (divisor n − 1). Bold: lowest mean, ties included."
        f"{losses.unit}"
    ]
    table = Table(name, caption, columns, rows, spreads, notes, foot=1)
    if not losses.is_error:
        return table
    return _with_majority(table, results.datasets.set_index("dataset")["majority_error"], losses)


def _with_majority(table: Table, majority: pd.Series, losses: Losses) -> Table:
    """Insert a column with the error of the majority class before those of the methods."""
    column = [*(losses.value(majority[row[0].text]) for row in table.body), ""]
    note = (
        "Majority: error of always predicting the most frequent class; a method close to it has "
        "learned nothing, and differences between such methods are noise."
    )
    return replace(
        table,
        columns=["data set", "majority", *table.columns[1:]],
        rows=[[row[0], Cell(c), *row[1:]] for row, c in zip(table.rows, column, strict=True)],
        data=table.data.assign(majority_error=table.data["dataset"].map(majority)),
        notes=[*table.notes, note],
    )


def time_table(times: pd.DataFrame, recorded: str) -> Table:
    """Where the searches' time went; ``recorded``: see ``origins.recorded``."""
    rows = []
    for search, row in times.iterrows():
        spent = [duration(row[part]) for part in ("fit", "suggest", "rest")]
        share = f"{100 * row['outside']:.1f} %" if np.isfinite(row["outside"]) else "–"
        hours = duration(3600 * row["hours"]), duration(3600 * row["cpu_hours"])
        rows.append(cells(search, f"{row['runs']:.0f}", *spent, share, *hours))
    label = f", {recorded}" if recorded else ""
    total = "total wall-clock time of all runs" + (f", fitting {recorded}" if recorded else "")
    columns = ["search", "runs", f"mean fitting per run{label}", "mean suggesting per run"]
    columns += ["mean other per run", "share outside fitting", total]
    columns.append(f"total CPU time of all runs' evaluations{label}")
    notes = [
        "Fitting: wall-clock time to fit pipelines and to predict. Suggesting: everything the "
        "optimizer does between two evaluations. Other: starting jobs and workers, reading and "
        "writing, over all attempts of a job (except what a killed attempt did after its last "
        "evaluation). CPU time: of fitting and predicting. Methods that share a search share its "
        "time."
    ]
    if recorded == "recorded":
        notes.append(
            "The searches were replayed and fitted nothing: their times of fitting, and the parts "
            "of totals and shares that come from these, were recorded when the table was made. "
            "Suggesting and other are the replays' own."
        )
    elif recorded:
        notes.append(origins.RECORDED[recorded])
    data = times.rename_axis("search").reset_index()
    return Table("time", "Time spent by each search", columns, rows, data, notes)


def failure_table(observations: pd.DataFrame, column: str, heading: str) -> Table:
    """Failed evaluations by status within each data set, search or algorithm."""
    table = failures.by(observations, column)
    rows = []
    for name, row in table.iterrows():
        numbers = [f"{row[c]:,.0f}" for c in ("evaluations", *failures.FAILED, "failed")]
        rows.append(cells(name, *numbers, f"{100 * row['share']:.1f} %"))
    columns = [heading, "evaluations", *failures.FAILED, "failed", "share"]
    caption, data = f"Failed evaluations by {heading}", table.rename_axis(column).reset_index()
    return Table(f"failures-by-{column}", caption, columns, rows, data)


def cause_table(observations: pd.DataFrame) -> Table:
    """Failures by cause: status, error type, and message without its numbers."""
    table = failures.causes(observations)
    counts = {"failures": "failures", "datasets": "data sets", "algorithms": "algorithms"}
    if not table["algorithms"].any():  # the space has none
        del counts["algorithms"]
    rows = []
    for row in table.to_dict("records"):
        message = " ".join(row["message"].split())
        message = message if len(message) <= 160 else message[:159] + "…"
        numbers = (f"{row[name]:,}" for name in counts)
        rows.append(cells(row["status"], row["error_type"], *numbers, message))
    columns = ["status", "error", *counts.values(), "example"]
    notes = ["Messages that differ only in numbers, addresses or array shapes count as one cause."]
    return Table("failures-by-cause", "Failures by cause", columns, rows, table, notes, wide=True)


def refit_table(refits: pd.DataFrame) -> Table:
    """Runs whose ensembles lack refits: methods and data sets."""
    rows = [cells(*row) for row in refits.itertuples(index=False)]
    columns = ["method", "data set", "finished runs", "last ensemble", "any iteration"]
    return Table("failed-refits", "Ensembles with failed refits", columns, rows, refits)


def missing_table(missing: pd.DataFrame) -> Table:
    """Missing results; repeats with the same reason share a row."""
    keys = ["stage", "dataset", "search", "ensemble", "reason"]
    groups = missing.fillna(dict.fromkeys(keys, "")).groupby(keys, sort=False)
    rows = []
    for (stage, dataset, search, ensemble, reason), group in groups:
        repeats = ranges(sorted(set(group["repeat"].dropna())), "–", ", ")
        rows.append(cells(stage, dataset, search, ensemble, repeats, reason))
    columns = ["stage", "data set", "search", "ensemble", "repeats", "why"]
    return Table("missing", "Missing results", columns, rows, missing, wide=True)


def progress_table(results: Results) -> Table:
    """Finished runs, data sets × methods."""
    seen = results.scores.drop_duplicates(["method", "dataset", "repeat"])
    table = pd.crosstab(seen["dataset"], seen["method"])
    table = table.reindex(index=results.study["datasets"], columns=results.methods, fill_value=0)
    rows = [cells(d, *row) for d, row in zip(table.index, table.to_numpy(), strict=True)]
    caption = f"Finished runs (of {results.study['repeats']} each)"
    data = table.rename_axis("dataset").reset_index()
    return Table("progress", caption, ["data set", *results.methods], rows, data)


def plain(name: str, caption: str, frame: pd.DataFrame) -> Table:
    """Show a frame of strings unchanged."""
    rows = [cells(*row) for row in frame.itertuples(index=False)]
    headings = ["data set" if column == "dataset" else column for column in frame]
    return Table(name, caption, headings, rows, frame, wide=True)
