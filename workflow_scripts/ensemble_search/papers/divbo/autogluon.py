"""Table 12: AutoGluon on the same splits."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ensemble_search.analysis import ranks, verdict, wilcoxon
from ensemble_search.analysis.load import Results
from ensemble_search.papers import paired, variants
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells
from ensemble_search.results import layout, readers
from ensemble_search.runtime.files import Missing
from ensemble_search.runtime.names import OK

TITLE, ORDER = "AutoGluon", 150
PAPER = "Table 12 of Shen et al. (2022)"
NAME, OURS = "AutoGluon", "DivBO (AutoGluon)"  # their names in Table 12


def build(results: Results, publish) -> list[Section] | str:
    """Compare AutoGluon's single run on each split with the methods of the study."""
    runs = read(results.folder, results.study["datasets"])
    if runs.empty:
        wanted = results.study.get("autogluon")
        return f"AutoGluon {'has not run yet' if wanted else 'is not part of this study'}"
    finished = runs[runs["status"] == OK]
    split = "the first repeat's split" if results.resampled else "the same split"
    parts: list = [
        f"AutoGluon runs once on the training and validation rows of {split}, in its own "
        "environment. It has no repeats, so no standard deviation."
    ]
    compared = results.compared
    if len(finished):
        parts.append(variants.scope(results, compared))
    for column, part in variants.PARTS.items() if len(finished) else ():
        theirs = finished.rename(columns={column: "mean"})[["dataset", "mean"]]
        theirs = theirs.assign(method=NAME, std=float("nan"), repeats=1)
        ours = ranks.spreads(ranks.final_errors(compared, column))
        both = pd.concat([frame for frame in (ours, theirs) if len(frame)], ignore_index=True)
        parts.append(variants.error_table(both, part, results.losses))
        if column == "test_error":
            parts += _tests(results, compared, finished)
            names = {m: OURS for m in compared.methods if _ours(results.study, m)}
            named = both.replace({"method": names})
            named = named[named["method"].isin([NAME, OURS])]
            parts += variants.printed_significance("autogluon-error", set(named["method"]))
            parts += variants.beside_the_paper(results, "autogluon-error", named)
    failed = runs[runs["status"] != OK]
    if len(failed):
        rows = [cells(r.dataset, r.status, r.reason) for r in failed.itertuples()]
        table = failed[["dataset", "status", "reason"]]
        caption = "Data sets on which AutoGluon has no result"
        parts.append(
            Table("not-run", caption, ["data set", "status", "reason"], rows, table, wide=True)
        )
    return [Section("AutoGluon on the same splits", parts)]


def _tests(results: Results, compared: ranks.Comparison, finished: pd.DataFrame) -> list:
    """Test the repeats of each method against AutoGluon's single run on the same split."""
    if results.resampled:
        return [
            "Its run is on the first repeat's split only, so repeats on other splits cannot be "
            "tested against it."
        ]
    value = finished.set_index("dataset")["test_error"]
    tests = wilcoxon.one_sample(ranks.final_errors(compared), value)
    if tests.empty:
        return []
    subject = results.reference if results.reference in compared.methods else compared.methods[0]
    mine = tests[tests["method"] == subject]
    words = f"Test {results.losses.title} of {paired.in_words(mine, subject, NAME)}"
    repeats = int(tests["pairs"].max())
    notes = [
        f"Mean test {results.losses.title} of the method minus {NAME}'s{results.losses.in_points}; "
        f"p of the one-sample signed-rank test of at most {repeats} repeats against {NAME}'s "
        "number (two-sided, p ≤ 0.05, not adjusted for the number of tests); B: the method is "
        "significantly better (bold), S: the same, W: worse.",
        f"{NAME}'s number is treated as fixed: the test says whether a method's repeats lie to one "
        "side of this one run, not what another run with another seed would have given. It also "
        f"assumes that their {results.losses.plural} are symmetric about the median.",
        verdict.reach(results.splits),
    ]
    if wilcoxon.smallest_p(repeats) > wilcoxon.ALPHA:
        notes.append(
            f"With {repeats} repeats p cannot be below {wilcoxon.smallest_p(repeats):g}: nothing "
            "can be significant. At least 6 repeats are needed."
        )
    caption = f"Tests of the test {results.losses.title} against {NAME}'s single run"
    return [words, paired.table("tests", caption, tests, notes, results.losses)]


def _ours(study: dict, method: str) -> bool:
    """Whether a method is the DivBO of Table 12."""
    settings = variants.settings(study, method)
    return variants.paper_divbo(settings) and variants.selection(settings)


COLUMNS = ["dataset", "status", "reason", "validation_error", "test_error"]


def read(folder: Path, datasets: Iterable[str]) -> pd.DataFrame:
    """Read ``autogluon/<dataset>/scores.json`` in a study's results folder.

    One row per data set: ``dataset``, ``status`` (``ok``, or the kind of failure), ``reason``
    (empty if ok), ``validation_error`` and ``test_error`` (NaN unless ok). Empty if there are no
    such files. Raises Unusable if a file is damaged.
    """
    paths = {
        name: layout.path(folder, layout.AUTOGLUON, dataset=name) / "scores.json"
        for name in datasets
    }
    if not any(path.is_file() for path in paths.values()):
        return pd.DataFrame(columns=COLUMNS)
    runs = pd.DataFrame([{"dataset": name, **_run(path)} for name, path in paths.items()])
    runs = runs.reindex(columns=COLUMNS)
    errors = ["validation_error", "test_error"]
    runs[errors] = runs[errors].astype(float)
    runs.loc[runs["status"] != OK, errors] = float("nan")
    return runs.fillna({"reason": ""})


def _run(path: Path) -> dict:
    try:
        content = readers.autogluon(path.parent)
    except Missing:
        return {"status": "missing", "reason": "has not run yet"}
    return {key: content.get(key) for key in COLUMNS[1:]}
