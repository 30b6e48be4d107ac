"""Tables 1 to 3 of the BOASF paper: balanced accuracy, cross-validated and on the test rows."""

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.papers import printed
from ensemble_search.papers.variants import PARTS, scope
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table, by_method, cells, number, spread

TITLE, ORDER = "Balanced accuracy", 171
PAPER = "Tables 1 to 3 of Zhu et al. (2021)"
METRIC = "balanced-error"
HEADINGS = {"test_error": "On the test rows", "validation_error": "Validation"}
#: The paper's tables by space.
PRINTED = {
    "boasf": "models",
    "random-forest-hpo": "random-forest",
    "logistic-regression-hpo": "logistic-regression",
}
CAUTION = (
    "The paper's figures are only for orientation: its searches ran for hours, on other splits, "
    "and some printed numbers cannot be right"
)


def build(results: Results, publish) -> list[Section] | str:
    """Show accuracies as the paper does: data sets in rows, methods in columns."""
    study = results.study
    if study.get("metric", "error") != METRIC:
        return "the study does not measure balanced accuracy"
    optimizers = {study["searches"][m["search"]]["optimizer"] for m in study["methods"].values()}
    if "boasf" not in optimizers:
        return "no method searches with boasf"
    compared = results.compared
    if not compared.methods:
        return "no method has finished on a data set"
    sections: list[Section] = []
    for column in ("validation_error", "test_error"):
        parts = [] if sections else [scope(results, compared)]
        sections.append(Section(HEADINGS[column], [*parts, _table(results, compared, column)]))
    return [*sections, *_beside(results, compared)]


def _beside(results: Results, compared: ranks.Comparison) -> list[Section]:
    """Show the paper's rows of the same OpenML data sets; empty if it has no such table."""
    name = PRINTED.get(results.study.get("space", ""))
    if not name:
        return []
    theirs = printed.table("boasf", name)
    sources = results.study.get("sources") or {}
    places = {d: f"openml_{sources.get(d, {}).get('openml')}" for d in compared.datasets}
    shared = {d: place for d, place in places.items() if place in theirs.index}
    if not shared:
        return []
    entry = printed.load("boasf")[name]
    wrong = [
        f"{found.where}: {found.what}"
        for found in printed.inconsistencies("boasf").values()
        if found.kind == "contradicts"
    ]
    rows = [cells(d, *(f"{v:.3f}" for v in theirs.loc[place])) for d, place in shared.items()]
    data = theirs.loc[list(shared.values())].rename_axis("published").reset_index()
    data.insert(0, "dataset", list(shared))
    table = Table("published", entry["what"].capitalize(), ["data set", *theirs], rows, data)
    text = f"{CAUTION}. {'. '.join(wrong)}."
    return [Section(f"{entry['where']} of the paper, on the same data sets", [text, table])]


def _table(results: Results, compared: ranks.Comparison, column: str) -> Table:
    losses = ranks.spreads(ranks.final_errors(compared, column))
    found = losses.assign(mean=(1 - losses["mean"]).round(ranks.DIGITS))
    found["best"] = found["mean"] == found.groupby("dataset")["mean"].transform("max")
    columns, rows = by_method(
        found, lambda line: Cell(spread(line["mean"], line["std"], 3), bool(line["best"]))
    )
    wide = losses.pivot(index="dataset", columns="method", values="mean")[columns[1:]]
    foot = cells("average rank", *map(number, ranks.rank(wide.to_numpy()).mean(axis=0)))
    notes = ["Mean ± standard deviation over repeats; bold: the highest of the data set."]
    if column == "validation_error":
        folds = (results.study.get("split") or {}).get("folds")
        how = f"on the pooled out-of-fold predictions of {folds} folds" if folds else ""
        notes.append(
            f"Best observed so far {how}".strip() + "; optimistic, especially for ensembles."
        )
    part = PARTS[column]
    caption = f"{part.capitalize()} balanced accuracy"
    return Table(part, caption, columns, [*rows, foot], found, notes, foot=1)
