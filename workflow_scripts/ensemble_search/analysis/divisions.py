"""Rules on many divisions of the same held-out rows: means, and how much a division matters."""

from typing import Any

import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.results import layout, readers


def load(results: Results) -> tuple[pd.DataFrame, list[str]]:
    """Read the losses of all methods on the divisions.

    Returns
    -------
    scores
        One row per method, run and division: ``dataset``, ``split``, ``repeat``, ``method``,
        ``division`` (from 1) and ``test_error``. Without runs whose evaluations all failed.
    missing
        Files that are not there, or were made otherwise, with the reason.

    Raises
    ------
    Unusable
        If a file is damaged.
    """
    study, tables, missing = results.study, list[Any](), list[str]()
    wanted = study.get("divisions")
    searches = dict.fromkeys(m["search"] for m in study["methods"].values()) if wanted else {}
    for dataset in study["datasets"]:
        for search in searches:
            for repeat in range(study["repeats"]):
                folder = layout.DIVISIONS.format(dataset=dataset, search=search, repeat=repeat)
                methods = {m: p for m, p in study["methods"].items() if p["search"] == search}
                used = {p["ensemble"]: study["ensembles"][p["ensemble"]] for p in methods.values()}
                asked = {"divisions": wanted, "ensembles": used}
                file = f"{folder}/divisions.parquet"
                table = readers.of_job(readers.divisions, results.folder, file, asked, missing)
                if table is None:
                    continue
                frame = table.to_pandas().dropna()
                for method, parts in methods.items():
                    own = frame.loc[frame["ensemble"] == parts["ensemble"]]
                    where = {"dataset": dataset, "split": results.splits[repeat]}
                    tables.append(own.assign(**where, repeat=repeat, method=method))
    columns = ["dataset", "split", "repeat", "method", "division", "test_error"]
    if not tables:
        return pd.DataFrame(columns=columns), missing
    return pd.concat(tables, ignore_index=True)[columns], missing
