"""How searches with competing arms distributed their evaluations, and when arms were dropped."""

from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis.arms import RUN, rounds
from ensemble_search.analysis.load import Results
from ensemble_search.report.build import stems
from ensemble_search.report.plots import charts
from ensemble_search.report.section import Panels, Section
from ensemble_search.report.tables import Table, cells, number

TITLE, ORDER = "Which arms got the evaluations?", 72
#: Maximum number of rounds for which the squares show numbers of evaluations.
WRITTEN = 6


def build(results: Results, publish) -> list[Section] | str:
    """Tabulate and draw evaluations by arm and round, one section per search."""
    table = rounds(results)
    if table.empty:
        return "no search whose arms compete (boasf, rising-bandit) has finished"
    searches = list(table["search"].unique())
    sections = []
    for search, stem in zip(searches, stems(searches), strict=True):
        mine = table[table["search"] == search]
        found = means(mine, ["search"])
        by_dataset = means(mine, ["dataset"])
        optimizer = results.study["searches"][search]["optimizer"]
        parts: list[Any] = [_text(mine), _table(found, stem), _panels(by_dataset, stem, publish)]
        sections.append(Section(f"{search} ({optimizer})", parts))
    return sections


def _text(table: pd.DataFrame) -> str:
    arms = table.groupby([*RUN, "round"]).size().groupby("round")
    shown = " → ".join(f"{count:.3g}" for count in arms.mean())
    runs = arms.size()
    fewer = f", {runs.iloc[-1]} of which reach the last round" if runs.nunique() > 1 else ""
    last = table[table["round"] == table.groupby(RUN)["round"].transform("max")]
    of_run = last.groupby(RUN)["evaluations"]
    share = (of_run.max() / of_run.sum()).mean()
    return (
        f"Competing arms by round (mean of {runs.iloc[0]} runs{fewer}): {shown}. The arm with the "
        f"most evaluations in the last round got {100 * share:.0f} % of that round's evaluations."
    )


def _table(found: pd.DataFrame, stem: str) -> Table:
    wide = found.pivot(index="arm", columns="round", values=["evaluations", "dropped"])
    wide = wide.reindex(found["arm"].unique()).fillna(0)
    evaluations, dropped = wide["evaluations"], wide["dropped"]
    rows = []
    for arm, own in evaluations.iterrows():
        lost = [f" (−{n:.0f})" if n else "" for n in dropped.loc[arm]]
        texts = [number(n, 1) + gone for n, gone in zip(own, lost, strict=True)]
        rows.append(cells(arm, *texts, number(own.sum(), 1)))
    notes = [
        "Mean evaluations over all runs (data sets and repeats); in parentheses, the number of "
        f"runs (of {found['runs'].iloc[0]}) in which the arm was dropped after the round. "
        "Evaluations of dropped arms, made once all others were exhausted, are left out."
    ]
    columns = ["arm", *(f"round {at}" for at in evaluations.columns), "all"]
    return Table(stem, "Evaluations by arm and round", columns, rows, found, notes)


def _panels(found: pd.DataFrame, stem: str, publish) -> Panels:
    drawings = []
    datasets = list(found["dataset"].unique())
    highest = float(found["evaluations"].max())
    for dataset, name in zip(datasets, stems(datasets), strict=True):
        mine = found[found["dataset"] == dataset]
        values = mine.pivot(index="arm", columns="round", values="evaluations")
        values = values.reindex(found["arm"].unique()).replace(0, np.nan)
        text = ".1f" if values.shape[1] <= WRITTEN else None
        values = values.rename(index=_short).rename_axis(index=None)
        figure = charts.heat_map(values, "evaluations (mean)", (0, highest), text)
        most = mine.groupby("arm", sort=False)["evaluations"].sum()
        title = f"{dataset}: evaluations by arm and round"
        alt = f"Most evaluations: {most.idxmax()}, {most.max():.1f} of {most.sum():.0f}"
        drawings.append((dataset, publish(figure, f"{stem}-{name}", mine, title, alt)))
    return Panels(drawings)


def _short(arm: str) -> str:
    """Shorten the name of a piece of the space to the numbers of its parts: ``1 2 1``."""
    return " ".join(part.rsplit(" ", 1)[-1] for part in arm.split(", "))


def means(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Average the result of ``arms.rounds`` over runs, by arm and round.

    ``by`` are the columns not to average over, among ``dataset`` and ``search``. Sorted as
    ``table``: the columns of ``by``, ``round``, ``arm``; ``evaluations``: mean over all runs, with
    0 for runs in which the arm was dropped before; ``competes`` and ``dropped``: numbers of runs in
    which the arm competes in the round, and is dropped after it; ``runs``: number of all runs.
    """
    keys = [*by, "round", "arm"]
    groups = table.groupby(keys, sort=False)
    found = groups.agg(
        total=("evaluations", "sum"), competes=("evaluations", "size"), dropped=("dropped", "sum")
    ).reset_index()
    runs = table.drop_duplicates(RUN).groupby(by).size().rename("runs").reset_index()
    found = found.merge(runs, on=by, how="left")
    found.insert(len(keys), "evaluations", found.pop("total") / found["runs"])
    first = {key: {v: i for i, v in enumerate(table[key].unique())} for key in (*by, "arm")}
    return found.sort_values(
        keys, kind="stable", ignore_index=True,
        key=lambda own: own if own.name == "round" else own.map(first[own.name]),
    )  # fmt: skip
