"""Diversity measures of final ensembles, and how much averaging their members improves."""

import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.problems.member_diversity import DECOMPOSITIONS, MEASURES
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Cell, Table, by_method, number
from ensemble_search.runtime.files import Missing
from ensemble_search.runtime.names import CLASSIFICATION, PARTS

TITLE, ORDER = "How different are the members?", 92
#: Title of each measure, and whether larger values mean that members differ more.
SHOWN = {
    "disagreement": ("disagreement", True),
    "q_statistic": ("Q statistic", False),
    "correlation": ("correlation", False),
    "kappa": ("kappa statistic", False),
    "double_fault": ("double fault", False),
    "kw_variance": ("Kohavi-Wolpert variance", True),
    "interrater_agreement": ("interrater agreement", False),
    "entropy": ("entropy", True),
    "difficulty": ("difficulty", False),
    "generalized_diversity": ("generalised diversity", True),
    "coincident_failure_diversity": ("coincident failure diversity", True),
}
TERMS = {
    "member_loss": "members' loss",
    "ambiguity": "− ambiguity",
    "loss": "= ensemble's loss",
    "bias": "= squared bias",
    "variance": "+ variance",
    "covariance": "+ covariance",
}


def build(results: Results, publish) -> list[Section] | str:
    """Show the measures, then the decompositions of the squared loss."""
    several = results.scores.loc[results.scores["members"] > 1, "method"].unique()
    compared = results.comparison([m for m in results.methods if m in several])
    found = table(results, compared)
    if found.empty:
        return "no finished run has an ensemble of two members or more"
    known = found["measured"].mean()
    if not known:
        return (
            "the ensembles were built by an older version, which did not measure their members; "
            "the next run of the study rebuilds them"
        )
    lines = [] if known == 1 else [_unknown(found)]
    sections = []
    if results.losses.task == CLASSIFICATION:
        text = (
            "Measures of Kuncheva and Whitaker (2003) and Zhou (2012) for the ensemble after the "
            "last iteration. All depend on which member is right on which rows, except the kappa "
            "statistic, which depends on the labels that members predict. Every unique member "
            "counts once, whatever its weight; ensembles with a single member have no measures "
            "and are left out."
        )
        tables = [_measures(found[found["part"] == part], part) for part in reversed(PARTS)]
        by_dataset = _by_dataset(found, "disagreement", "Mean disagreement between members")
        sections.append(Section("Who is right on which rows?", [text, *lines, *tables, by_dataset]))
    if found["loss"].notna().any():
        sections.append(Section("What does averaging gain?", [*_gain(results, found), *lines]))
    return sections


def _unknown(table: pd.DataFrame) -> str:
    runs = table.drop_duplicates(["dataset", "method", "repeat"])["measured"]
    return (
        f"{len(runs) - runs.sum()} of {len(runs)} ensembles are left out: either an older version, "
        "which did not measure members, built them, or they have more iterations than are "
        "compared. The next run of the study rebuilds those of older versions."
    )


def _measures(table: pd.DataFrame, part: str) -> Table:
    means = table.groupby("method", sort=False, observed=True)[list(SHOWN)].mean()
    rows = []
    for name, (title, more) in SHOWN.items():
        values = means[name].round(ranks.DIGITS)
        most = values.max() if more else values.min()
        direction = "higher" if more else "lower"
        shown = [Cell(number(v, 3), bool(v == most)) for v in values]
        rows.append([Cell(title), Cell(direction), *shown])
    members = table.groupby("method", sort=False, observed=True)["members"].mean()
    rows.append([Cell("members"), Cell(""), *(Cell(f"{n:.1f}") for n in members)])
    caption = f"Measures of diversity on the {part} rows"
    notes = ["Means over all runs; bold: most diverse. Members: unique ones."]
    columns = ["measure", "more diverse if", *means.index]
    data = table.drop(columns=list(TERMS))
    return Table(f"measures-{part}", caption, columns, rows, data, notes, foot=1)


def _gain(results: Results, table: pd.DataFrame) -> list:
    loss = "Brier score" if results.losses.task == CLASSIFICATION else "squared error"
    text = (
        f"The {loss} of a weighted mean of predictions is the weighted mean of its members' losses "
        "minus their ambiguity, the weighted mean of their squared distances from the ensemble "
        "(Krogh and Vedelsby, 1995). It is also the sum of the squared bias, of the members' "
        "variances, which fall as 1 / members, and of their covariances (Ueda and Nakano, 1996). "
        "Its expectations are means over the rows here, because there is a single ensemble: the "
        "bias is that of the mean residual. Both decompositions are exact, with the ensemble's "
        "weights. Ensembles that vote or feed another model have none."
    )
    tables = [_terms(table[table["part"] == part], part, loss) for part in reversed(PARTS)]
    caption = f"Ambiguity: how far the ensemble's {loss} is below that of its members"
    return [text, *tables, _by_dataset(table, "ambiguity", caption)]


def _terms(table: pd.DataFrame, part: str, loss: str) -> Table:
    means = table.groupby("method", sort=False, observed=True)[list(TERMS)].mean()
    means = means.dropna(how="all")
    least = means["loss"].round(ranks.DIGITS).min()
    rows = [
        [
            Cell(method),
            *(Cell(number(v, 4), name == "loss" and round(v, ranks.DIGITS) == least)
              for name, v in values.items()),
        ]
        for method, values in means.iterrows()
    ]  # fmt: skip
    caption = f"Decompositions of the {loss} on the {part} rows"
    notes = ["Means over all runs; bold: the lowest loss."]
    columns = ["method", *TERMS.values()]
    data = table.drop(columns=list(SHOWN))
    return Table(f"terms-{part}", caption, columns, rows, data, notes)


def _by_dataset(table: pd.DataFrame, name: str, caption: str) -> Table:
    """Show means over repeats on the test rows, one row per data set and one column per method."""
    table = table[table["part"] == "test"]
    by = ["dataset", "method"]
    means = table.groupby(by, sort=False, observed=True)[name].mean().dropna().reset_index()
    columns, rows = by_method(means, lambda line: Cell(number(line[name], 3)))
    notes = ["On the test rows, mean over repeats."]
    return Table(f"{name}-by-data-set", caption, columns, rows, means, notes)


def table(results: Results, compared: Comparison) -> pd.DataFrame:
    """Collect the measures of the final ensemble of every run that has one.

    Two rows per run: ``dataset``, ``method``, ``repeat``, ``part`` (``validation``, ``test``),
    ``members`` (unique ones), ``measured``, and the measures and decompositions of
    ``problems.member_diversity``, NaN if an ensemble has none. ``measured`` is False for ensembles
    of older versions of the project, or of more evaluations than are compared.
    """
    last = results.scores["iteration"].max()
    runs = compared.scores[compared.scores["iteration"] == last]
    runs = runs[runs["members"] > 0]
    rows = []
    for run in runs.sort_values(["dataset", "method", "repeat"]).itertuples():
        found = _read(results, run.method, run.dataset, run.repeat)
        search = results.study["methods"][run.method]["search"]
        end = last + results.given(run.dataset, search, run.repeat)
        measured = found is not None and found["iteration"] <= end
        for part in PARTS:
            values = found[part] if found and measured else {}
            rows.append((run.dataset, run.method, run.repeat, part, run.members, measured,
                         *(values.get(name) for name in (*MEASURES, *DECOMPOSITIONS))))  # fmt: skip
    columns = ["dataset", "method", "repeat", "part", "members", "measured"]
    numbers = [*MEASURES, *DECOMPOSITIONS]
    frame = pd.DataFrame(rows, columns=[*columns, *numbers])
    return frame.astype(dict.fromkeys(numbers, float))


def _read(results: Results, method: str, dataset: str, repeat: int) -> dict | None:
    try:
        return results.ensemble(method, dataset, repeat).get("diversity")
    except Missing:
        return None
