"""Rules for ensembles on many divisions of the same held-out rows."""

from itertools import product
from typing import Any

import pandas as pd

from ensemble_search.analysis import components, effects
from ensemble_search.analysis.components import LEVELS
from ensemble_search.analysis.load import Results
from ensemble_search.report.overview_tables import DETECTABLE
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table, cells
from ensemble_search.report.view import view
from ensemble_search.results import layout, readers
from ensemble_search.runtime.errors import number_of

TITLE, ORDER = "Rules on many divisions of the held-out rows", 166


def build(results: Results, publish) -> list[Section] | str:
    """Compare the rules with the reference, and describe how much a single division matters."""
    if not results.study.get("divisions"):
        return "the study has no key 'divisions'"
    seen = view(results, least=2)
    if isinstance(seen, str):
        return seen
    scores, missing = load(results)
    keys = ["dataset", "split", "repeat", "division"]
    tests = scores.pivot(index=keys, columns="method", values="test_error")
    # A run has the divisions of all methods or of none.
    tests = tests.reindex(columns=seen.compared.methods).dropna()
    if tests.empty:
        return "no run has been scored on divisions"
    search = results.study["methods"][seen.reference]["search"]
    text = (
        f"The validation and test rows of a split are redivided {results.study['divisions']} "
        "times into parts of the same sizes, class by class; all evaluations of a search are kept, "
        "and each ensemble is built and scored on every division. This compares rules for "
        "ensembles of the same evaluations, not searches: the path of a search depends on its "
        f"validation rows. The evaluations of search '{search}' are the same for all rules."
    )
    parts: list[Any] = [text, _table(tests, seen.reference, seen.losses)]
    if missing:
        parts.append(f"{number_of(len(missing), 'run')} left out: {'; '.join(missing[:5])}.")
    return [Section("Which rule is better?", parts)]


def _table(tests: pd.DataFrame, reference: str, losses) -> Table:
    errors = tests.groupby(level="dataset", sort=False).mean()
    found = effects.intervals(errors, reference, losses.most)
    found = found.drop(columns=["rank", "rank_low", "rank_high"])
    deviations = components.deviations(tests, reference).reindex(columns=tests.index.names)
    table = found.join(deviations.add_prefix("between_"))
    levels = [level for level in tests.index.names if table[f"between_{level}"].notna().any()]
    rows = []
    for method, row in table.iterrows():
        ends = "–"
        sizes = row[["detectable", *(f"between_{level}" for level in levels)]]
        if row["error_low"] < row["error_high"]:
            ends = f"{losses.signed(row['error_low'])} to {losses.signed(row['error_high'])}"
        sizes = row[["detectable", *(f"between_{level}" for level in levels)]]
        rows.append(cells(method, losses.signed(row["error"]), ends, *map(losses.value, sizes)))
    columns = ["method", losses.heading(losses.title, "points"), "95 % interval", "detectable"]
    columns += [f"sd between {LEVELS[level]}" for level in levels]
    notes = [
        f"Mean test {losses.title} of the method minus {reference}'s; each data set counts with "
        "its mean over runs and divisions. Intervals: Student's t over "
        f"{number_of(len(errors), 'data set')}, not adjusted. {effects.by_chance(found)}".rstrip(),
        f"{DETECTABLE} sd: standard deviation of the difference, by its source; 0 where the "
        "estimate of its variance is negative. The one between divisions is how far a single "
        "division, with the same fits, lies from their mean.",
    ]
    caption = f"Test {losses.title} of each rule minus {reference}'s, over divisions"
    data = table.rename_axis("method").reset_index()
    return Table("rules", caption, columns, rows, data, notes)


def load(results: Results) -> tuple[pd.DataFrame, list[str]]:
    """Read the losses of all methods on the divisions.

    One row per method, run and division: ``dataset``, ``split``, ``repeat``, ``method``,
    ``division`` (from 1) and ``test_error``; without runs whose evaluations all failed. Also the
    files that do not exist or belong to another job, with the reason.
    """
    study, jobs = results.study, []
    methods = study["methods"] if study.get("divisions") else {}
    searches = dict.fromkeys(parts["search"] for parts in methods.values())
    for dataset, search, repeat in product(study["datasets"], searches, range(study["repeats"])):
        used = [parts["ensemble"] for parts in methods.values() if parts["search"] == search]
        ensembles = {ensemble: study["ensembles"][ensemble] for ensemble in used}
        fields = {"dataset": dataset, "search": search, "repeat": repeat}
        jobs.append((fields, {"divisions": study["divisions"], "ensembles": ensembles}))
    pattern = f"{layout.DIVISIONS}/divisions.parquet"
    columns = ["dataset", "split", "repeat", "method", "division", "test_error"]
    found, missing = readers.of_jobs(readers.divisions, results.folder, pattern, jobs, columns)
    if found.empty:
        return found, missing
    names = pd.DataFrame([{"method": method, **parts} for method, parts in methods.items()])
    scores = found.dropna().merge(names, on=["search", "ensemble"])
    split = scores["repeat"].map(dict(enumerate(results.splits)))
    return scores.assign(split=split)[columns], missing
