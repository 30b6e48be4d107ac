"""How different the members of final ensembles are, as the ensembles' jobs have measured it."""

import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.problems.member_diversity import DECOMPOSITIONS, MEASURES
from ensemble_search.results import layout, readers
from ensemble_search.runtime.files import Missing
from ensemble_search.runtime.names import PARTS


def table(results: Results, compared: Comparison) -> pd.DataFrame:
    """Collect the measures of the final ensemble of every run.

    Returns
    -------
    table
        Two rows per run: ``dataset``, ``method``, ``repeat``, ``part`` (``validation``, ``test``),
        ``members`` (unique ones), ``measured``, and the measures and decompositions of
        ``problems.member_diversity``, NaN where an ensemble has none. ``measured`` is False for an
        ensemble of an older version of the project, or of more evaluations than are compared.
    """
    last = results.scores["iteration"].max()
    runs = compared.scores[compared.scores["iteration"] == last]
    rows = []
    for run in runs.sort_values(["dataset", "method", "repeat"]).itertuples():
        found = _read(results, run.method, run.dataset, run.repeat)
        measured = found is not None and found["iteration"] <= last
        for part in PARTS:
            values = found[part] if found and measured else {}
            rows.append((run.dataset, run.method, run.repeat, part, run.members, measured,
                         *(values.get(name) for name in (*MEASURES, *DECOMPOSITIONS))))  # fmt: skip
    columns = ["dataset", "method", "repeat", "part", "members", "measured"]
    numbers = [*MEASURES, *DECOMPOSITIONS]
    frame = pd.DataFrame(rows, columns=[*columns, *numbers])
    return frame.astype(dict.fromkeys(numbers, float))


def _read(results: Results, method: str, dataset: str, repeat: int) -> dict | None:
    parts = results.study["methods"][method]
    run = {"dataset": dataset, "search": parts["search"], "repeat": repeat}
    folder = layout.path(results.folder, layout.ENSEMBLE, **run, ensemble=parts["ensemble"])
    try:
        return results.once(readers.ensemble, folder).get("diversity")
    except Missing:
        return None
