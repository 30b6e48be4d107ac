"""The arms of searches that distribute their evaluations among arms: rounds, and who took part."""

import numpy as np
import pandas as pd

from ensemble_search.analysis.load import Results

RUN = ["dataset", "search", "repeat"]
COLUMNS = [*RUN, "round", "arm", "evaluations", "dropped"]


def rounds(results: Results) -> pd.DataFrame:
    """Count the evaluations of every arm in every round.

    Rounds and competing arms come from the reasons that the search stored.

    One row per arm and round in which it competes: ``dataset``, ``search``, ``repeat``, ``round``
    (from 1), ``arm``, ``evaluations``, and ``dropped``: whether it no longer competes in the next
    round. Rounds and arms are in order. Empty if no search has arms. Raises Unusable if a file is
    damaged.
    """
    rows: list[dict] = []
    without: set[str] = set()
    for run in results.manifests.reindex(columns=RUN).to_dict("records"):
        if run["search"] in without:
            continue
        if reasons := results.reasons(run, "surviving", "round", "arm"):
            rows += [{**run, **row} for row in _rounds(reasons)]
        else:
            without.add(run["search"])
    return pd.DataFrame(rows, columns=COLUMNS)


def caveats(results: Results) -> list[str]:
    """Name the searches that dropped no arm, or not all of whose arms had a turn.

    Raises Unusable if a file is damaged.
    """
    found = []
    for search, table in rounds(results).groupby("search", sort=False):
        runs = table.groupby(RUN, sort=False)
        n = runs.ngroups
        # Arms of a run that ends in its first round, and those that it evaluated.
        first = table[runs["round"].transform("max") == 1].groupby(RUN)["evaluations"]
        arms, tried = first.size(), first.agg(np.count_nonzero)
        early = int((tried < arms).sum())
        name = f"Search '{search}' ({results.study['searches'][search]['optimizer']})"
        turn = (
            f"in {early} of {n} runs the budget ended in the first round, after "
            f"{tried[tried < arms].mean():.3g} of {arms[tried < arms].mean():.3g} arms"
        )
        if not table["dropped"].any():
            text = f"{name} dropped no arm (such as an algorithm) in any run"
            text += "" if table["round"].max() > 1 else ": arms never competed"
            found.append(text + (f"; {turn}." if early else "."))
        elif early:
            found.append(f"{name}: {turn}.")
    return found


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
