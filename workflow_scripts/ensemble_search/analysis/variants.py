"""Methods that differ in one respect only: the ablations of Tables 8 to 12 and Figure 7."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ensemble_search.analysis import ranks, wilcoxon

#: Optimizers that search for an ensemble directly; the paper lists them apart (Section 4.1).
DIRECT = {"ensemble-optimization", "neural-ensemble-search"}


def settings(study: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Settings of a method's search and ensemble, as ``search.<key>`` and ``ensemble.<key>``.

    A constant ``weight`` of DivBO leaves ``beta`` and ``tau`` without effect, so they are None.
    """
    parts = study["methods"][method]
    found = {
        f"{kind}.{key}": value
        for kind in ("search", "ensemble")
        for key, value in study[f"{kind}{'es' if kind == 'search' else 's'}"][parts[kind]].items()
    }
    if found.get("search.weight") is not None:
        found |= {"search.beta": None, "search.tau": None}
    return found


def post_hoc(study: Mapping[str, Any]) -> list[str]:
    """Methods that build an ensemble of what a search for single models has evaluated.

    The paper's post-hoc designs (Section 2): RS-ES, BO-ES, RB-ES and DivBO. What delivers its best
    model is none, and neither is a search that works on an ensemble of its own (:data:`DIRECT`).
    """
    return [
        method
        for method in study["methods"]
        if (found := settings(study, method))["ensemble.type"] != "best"
        and found["search.optimizer"] not in DIRECT
    ]


def families(
    study: Mapping[str, Any], free: Callable[[str], bool], member: Callable[[dict], bool]
) -> list[list[str]]:
    """Group the methods whose settings are equal but for the ones in question.

    Parameters
    ----------
    study
        ``searches``, ``ensembles`` and ``methods``, defaults written out.
    free
        Says of a key of :func:`settings` whether it may differ within a family.
    member
        Says of a method's settings whether it is considered.

    Returns
    -------
    families
        Names of the methods in the order of the study, families of two and more, the largest
        first. A method whose settings are all equal to another's is left out.
    """
    groups: dict[str, dict[str, str]] = {}
    for method in study["methods"]:
        mine = settings(study, method)
        if member(mine):
            fixed = {key: value for key, value in mine.items() if not free(key)}
            groups.setdefault(_key(fixed), {}).setdefault(_key(mine), method)
    found = [list(group.values()) for group in groups.values() if len(group) > 1]
    return sorted(found, key=len, reverse=True)


def _key(values: dict[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def against(compared: ranks.Comparison, method: str, column: str) -> pd.DataFrame:
    """Compare each variant with one of them, over data sets and on each data set.

    Returns
    -------
    table
        Index: the other variants; ``difference`` (mean of theirs minus the method's), ``p`` over
        data sets (Wilcoxon signed-rank), and the numbers of data sets on which the method is
        significantly ``better``, the ``same`` or ``worse`` over the paired repeats.
    """
    final = ranks.final_errors(compared, column)
    over = wilcoxon.over_datasets(ranks.means(final), method)[["difference", "p"]]
    return over.join(wilcoxon.counts(wilcoxon.compare(final, method)))


def grid(study: Mapping[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """Add ``beta`` and ``tau`` of each method's search to the table of :func:`errors` (Figure 7).

    Returns
    -------
    table
        Sorted by data set (in its order), ``beta`` and ``tau``.
    """
    of = {m: settings(study, m) for m in table["method"].unique()}
    for key in ("beta", "tau"):
        table = table.assign(**{key: table["method"].map({m: of[m][f"search.{key}"] for m in of})})
    order = pd.Categorical(table["dataset"], table["dataset"].unique())
    table = table.assign(_order=order).sort_values(["_order", "beta", "tau"])
    columns = ["dataset", "beta", "tau", "method", "mean", "std", "repeats"]
    return table[columns].reset_index(drop=True)
