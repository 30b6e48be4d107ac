"""Table 12: how does AutoGluon do on the same splits?"""

import pandas as pd

from divbo.analysis import autogluon, ranks, variants
from divbo.analysis.load import Results
from divbo.report.section import Section
from divbo.report.tables import Table, cells
from divbo.report.variants import (
    PARTS,
    beside_the_paper,
    error_table,
    paper_divbo,
    scope,
    selection,
)

TITLE, ORDER = "Table 12: AutoGluon", 150
NAME, OURS = "AutoGluon", "DivBO (AutoGluon)"  # as Table 12 names them


def build(results: Results, publish) -> list[Section] | str:
    """Put AutoGluon's single run on each split beside the methods of the study."""
    runs = autogluon.read(results.folder, results.study["datasets"])
    if runs.empty:
        wanted = results.study.get("autogluon")
        return f"AutoGluon {'has not run yet' if wanted else 'is not part of this study'}"
    finished = runs[runs["status"] == autogluon.OK]
    split = "the first repeat's split" if results.resampled else "the same split"
    parts: list = [
        f"AutoGluon runs once on the training and validation rows of {split}, in an environment of "
        "its own. It has no repeats, so no standard deviation."
    ]
    compared = ranks.comparison(results.scores, results.methods)
    if len(finished):
        parts.append(scope(results, compared))
    for column, part in PARTS.items() if len(finished) else ():
        theirs = finished.rename(columns={column: "mean"})[["dataset", "mean"]]
        theirs = theirs.assign(method=NAME, std=float("nan"), repeats=1)
        ours = ranks.spreads(ranks.final_errors(compared, column))
        both = pd.concat([frame for frame in (ours, theirs) if len(frame)], ignore_index=True)
        parts.append(error_table(both, part))
        if column == "test_error":
            names = {m: OURS for m in compared.methods if _ours(results.study, m)}
            named = both.replace({"method": names})
            named = named[named["method"].isin([NAME, OURS])]
            parts += beside_the_paper(results, "autogluon-error", named)
    failed = runs[runs["status"] != autogluon.OK]
    if len(failed):
        rows = [cells(r.dataset, r.status, r.reason) for r in failed.itertuples()]
        table = failed[["dataset", "status", "reason"]]
        caption = "Data sets on which AutoGluon has no result"
        parts.append(
            Table("not-run", caption, ["data set", "status", "reason"], rows, table, wide=True)
        )
    return [Section("AutoGluon on the same splits", parts)]


def _ours(study: dict, method: str) -> bool:
    """Whether a method is the DivBO of Table 12."""
    settings = variants.settings(study, method)
    return paper_divbo(settings) and selection(settings)
