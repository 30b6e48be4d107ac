"""Figure 6: diversity of the members of the final ensemble."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ensemble_search.analysis import ranks
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.papers import agreement
from ensemble_search.problems.member_diversity import disagreement, predicted
from ensemble_search.report.build import stems
from ensemble_search.report.plots import charts
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Cell, Table, cells, number
from ensemble_search.results import layout
from ensemble_search.runtime.files import Missing, check, read_npz
from ensemble_search.runtime.names import CLASSIFICATION

TITLE, ORDER = "Diversity within the ensemble", 90
PAPER = "Figure 6 of Shen et al. (2022)"


def build(results: Results, publish) -> list[Section] | str:
    """Show mean disagreement and diversity of the members, and heat maps of one run."""
    if results.losses.task != CLASSIFICATION:
        return "only predicted labels can be right or wrong, and this is a regression"
    several = results.scores.loc[results.scores["members"] > 1, "method"].unique()
    methods = [m for m in results.methods if m in several]
    compared = results.comparison(methods)
    if not compared.methods:
        return "no finished run has an ensemble of two members or more"
    table = of_runs(results, compared)
    if table["members"].isna().all():
        return "the members or predictions of the finished searches are missing"
    about = (
        "Two members disagree on a sample if exactly one of them is right; their diversity (the "
        "paper's Eq. 3) is the Euclidean distance of their class probabilities over √2, 0 to 1 (of "
        "two classes, how much the probability of one differs). Both are means over all pairs of "
        "unique members of the ensemble after the last iteration, on the validation rows."
    )
    tables = [_table(table, "disagreement"), _table(table, "diversity")]
    parts: list = [about, *tables, *_paper(results, table)]
    panels = _panels(results, compared, publish)
    return [Section("How different are the members?", parts), *([panels] if panels else [])]


def _table(table: pd.DataFrame, column: str) -> Table:
    """Show the mean over repeats, with data sets in rows and methods in columns."""
    columns = table["method"].unique()
    wide = table.pivot_table(
        index="dataset", columns="method", values=column, sort=False, observed=True
    ).reindex(columns=columns)
    rows = []
    for dataset, values in wide.iterrows():
        most = values.round(ranks.DIGITS) == values.max().round(ranks.DIGITS)
        rows.append([Cell(dataset), *(Cell(number(values[m], 3), bool(most[m])) for m in columns)])
    rows.append(cells("mean", *(number(v, 3) for v in wide.mean())))
    members = table.groupby("method", sort=False)["members"].mean()
    rows.append(cells("members", *(f"{members[m]:.1f}" for m in columns)))
    caption = f"Mean {column} between members of the final ensemble"
    notes = [
        "Mean over repeats; bold: highest. Members: unique ones, mean over all runs. Ensembles "
        "with a single member have no pairs and are left out."
    ]
    return Table(column, caption, ["data set", *columns], rows, table, notes, foot=2)


def _paper(results: Results, table: pd.DataFrame) -> list[str]:
    """Compare the printed disagreement with ours."""
    where = agreement.entry("disagreement")["where"]
    lines = []
    for dataset, values in agreement.values(results.study, "disagreement").items():
        mine = table[table["dataset"] == dataset]
        ours = mine.groupby("method", sort=False)["disagreement"].mean()
        texts = [
            f"{m} {number(ours[m], 3)} ({theirs:.2f})" for m, theirs in values.items() if m in ours
        ]
        if not texts:
            continue
        text = f"Disagreement on {dataset}, with the paper's ({where}) in parentheses: "
        reasons = agreement.obstacles(results.study, "disagreement", [dataset])
        text += ", ".join(texts) + "."
        text += f" They cannot be compared directly: {'; '.join(reasons)}." if reasons else ""
        lines.append(text)
    return lines


def _panels(results: Results, compared: Comparison, publish) -> Section | None:
    """Draw the members' diversity in the first run on the data set that the paper shows."""
    shown = [d for d in agreement.entry("disagreement")["values"] if d in compared.datasets]
    dataset = (shown or compared.datasets)[0]
    mine = compared.scores[compared.scores["dataset"] == dataset]
    repeat = int(mine["repeat"].min())
    matrices = {}
    for method in compared.methods:
        try:
            final = read(results, method, dataset, repeat)
        except Missing:
            continue
        if len(final.members) > 1:
            labels = pd.Index(final.members, name="evaluation")
            matrices[method] = pd.DataFrame(final.diversities, labels, labels)
    if not matrices:
        return None
    highest = max(float(m.to_numpy().max()) for m in matrices.values())
    found = []
    for stem, (method, matrix) in zip(stems(list(matrices)), matrices.items(), strict=True):
        mean = mean_of_pairs(matrix.to_numpy())
        disagreement = read(results, method, dataset, repeat).disagreement
        figure = charts.heat_map(matrix, "diversity (Eq. 3)", (0.0, highest or 1.0))
        title = f"{method} on {dataset}: diversity of the final ensemble's members"
        alt = f"{len(matrix)} members, mean diversity {mean:.3f}, disagreement {disagreement:.3f}"
        data = matrix.rename(columns=str).reset_index()
        caption = f"{method}: disagreement {disagreement:.2f}"
        found.append((caption, publish(figure, stem, data, title, alt)))
    text = (
        f"Repeat {repeat}. Members are ordered by when they were evaluated; the scale is the same "
        "in all panels. Dark blocks are members that predict alike."
    )
    return Section(f"Pairwise diversity on {dataset}", [text, Panels(found)])


@dataclass(frozen=True)
class FinalMembers:
    """The members of an ensemble after the last iteration."""

    #: Iterations, including given ones, at which the unique members were evaluated, ascending.
    members: list[int]
    #: Diversity of every pair on the validation rows (DivBO paper, Eq. 3), shape (members,
    #: members).
    diversities: np.ndarray
    disagreement: float  #: ``member_diversity.disagreement`` of the members on the validation rows


def read(results: Results, method: str, dataset: str, repeat: int) -> FinalMembers:
    """Read the final ensemble of a finished run.

    Raises Missing if its members, predictions or validation labels do not exist, and Unusable if
    one of these is damaged.
    """
    run = dataset, results.study["methods"][method]["search"], repeat
    changes = results.members(method, dataset, repeat)
    end = results.given(*run) + results.scores["iteration"].max()
    changes = changes[changes["iteration"] <= end]
    last = changes[changes["iteration"] == changes["iteration"].max()]
    members = sorted({int(m) for m in last["member"]})
    predictions = results.predictions(*run, "validation")[np.array(members, dtype=int) - 1]
    return FinalMembers(
        members,
        results.diversities(*run, members, members),
        disagreement(predicted(predictions) == labels(results, *run)),
    )


def labels(results: Results, dataset: str, search: str, repeat: int) -> np.ndarray:
    """Read the validation labels of a search's split, int, of shape (n_validation,).

    Raises Missing if the file does not exist and Unusable if it is damaged or does not belong to
    the split.
    """
    folder = layout.split_folder(results.folder, results.study, dataset, search, repeat)
    return results.once(_labels, folder)


def _labels(split: Path) -> np.ndarray:
    check(split / "split.json", ["inputs.npz"])
    return read_npz(split / "inputs.npz", ["y_validation"])["y_validation"]


def of_runs(results: Results, compared: Comparison) -> pd.DataFrame:
    """Measure the final ensemble of every run.

    One row per run: ``dataset``, ``method``, ``repeat``, ``members`` (number of unique ones),
    ``disagreement`` and ``diversity`` (means over pairs, NaN for a single member). All three are
    NaN if a file is missing.
    """
    runs = compared.scores.drop_duplicates(["method", "dataset", "repeat"])
    rows = []
    values: tuple[float, float, float]
    for run in runs.sort_values(["dataset", "method", "repeat"]).itertuples():
        try:
            final = read(results, run.method, run.dataset, run.repeat)
            values = len(final.members), final.disagreement, mean_of_pairs(final.diversities)
        except Missing:
            values = np.nan, np.nan, np.nan
        rows.append((run.dataset, run.method, run.repeat, *values))
    columns = ["dataset", "method", "repeat", "members", "disagreement", "diversity"]
    return pd.DataFrame(rows, columns=columns)


def mean_of_pairs(matrix: np.ndarray) -> float:
    """Mean of a symmetric matrix over pairs of different members; NaN for fewer than two."""
    n = len(matrix)
    return float(matrix[np.triu_indices(n, 1)].mean()) if n > 1 else np.nan
