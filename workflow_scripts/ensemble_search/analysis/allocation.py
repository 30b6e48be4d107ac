"""How searches whose arms compete divide their evaluations, from the reasons that they store."""

import json
from pathlib import Path

import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.results import layout, readers
from ensemble_search.runtime import files
from ensemble_search.runtime.names import OBSERVATIONS

RUN = ["dataset", "search", "repeat"]
COLUMNS = [*RUN, "round", "arm", "evaluations", "dropped"]


def rounds(results: Results) -> pd.DataFrame:
    """Count the evaluations of every arm in every round.

    Both, and the arms that compete, are what the search has stored as its reasons.

    Returns
    -------
    table
        One row for every arm that competes in a round: ``dataset``, ``search``, ``repeat``,
        ``round`` (from 1), ``arm``, ``evaluations``, and ``dropped``: whether it does not compete
        in the next round. Rounds and arms are in order. Empty if no search has arms.

    Raises
    ------
    Unusable
        If a file is damaged.
    """
    rows: list[dict] = []
    for run in results.manifests.reindex(columns=RUN).to_dict("records"):
        folder = layout.search_folder(results.folder, results.study, **run)
        reasons = _reasons(results, folder)
        if reasons:
            rows += [{**run, **row} for row in _rounds(reasons)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _reasons(results: Results, folder: Path) -> list[dict]:
    """Read round, arm and survivors of every suggestion; empty if the search has no arms."""
    texts = results.once(readers.observations, folder, ("why",))["why"].to_pylist()
    with files.reading(folder / OBSERVATIONS):
        if not texts or "surviving" not in json.loads(texts[0]):
            return []
        return [
            {"round": why["round"], "arm": why["arm"], "surviving": list(why["surviving"])}
            for why in map(json.loads, texts)
        ]


def _rounds(reasons: list[dict]) -> list[dict]:
    """Count the evaluations of a run by round and arm."""
    found: dict[int, dict[str, int]] = {}
    for why in reasons:
        counts = found.setdefault(why["round"], dict.fromkeys(why["surviving"], 0))
        if why["arm"] in counts:
            counts[why["arm"]] += 1
    return [
        {
            "round": at,
            "arm": arm,
            "evaluations": count,
            "dropped": at + 1 in found and arm not in found[at + 1],
        }
        for at, counts in found.items()
        for arm, count in counts.items()
    ]


def means(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Average over runs, by arm and round.

    Parameters
    ----------
    table
        Of :func:`rounds`.
    by
        What is not averaged over, of ``dataset`` and ``search``.

    Returns
    -------
    means
        Sorted as ``table``: the columns of ``by``, ``round``, ``arm``; ``evaluations``: mean over
        all runs, of which those in which the arm was dropped before have none; ``competes`` and
        ``dropped``: the numbers of runs in which it competes in the round, and is dropped after it;
        ``runs``: their number.
    """
    keys = [*by, "round", "arm"]
    groups = table.groupby(keys, sort=False)
    found = groups.agg(
        total=("evaluations", "sum"), competes=("evaluations", "size"), dropped=("dropped", "sum")
    ).reset_index()
    runs = table.drop_duplicates(RUN).groupby(by).size().rename("runs").reset_index()
    found = found.merge(runs, on=by, how="left")
    found.insert(len(keys), "evaluations", found.pop("total") / found["runs"])
    order = [pd.Categorical(found[key], table[key].unique()) for key in by]
    codes = {f"_{i}": c.codes for i, c in enumerate(order)}
    arms = {arm: i for i, arm in enumerate(table["arm"].unique())}
    found = found.assign(**codes, _arm=found["arm"].map(arms))
    found = found.sort_values([*codes, "round", "_arm"], kind="stable")
    return found.drop(columns=[*codes, "_arm"]).reset_index(drop=True)
