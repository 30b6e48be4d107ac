"""Rules on many divisions of the same held-out rows: means, and how much a division matters."""

import pandas as pd

from ensemble_search.analysis.load import Results
from ensemble_search.results import layout, readers
from ensemble_search.runtime.files import Missing


def load(results: Results) -> tuple[pd.DataFrame, list[str]]:
    """Read the losses of all methods on the divisions.

    Returns
    -------
    scores
        One row a method, run and division: ``dataset``, ``split``, ``repeat``, ``method``,
        ``division`` (from 1) and ``test_error``. Without runs whose evaluations all failed.
    missing
        Files that are not there, or were made otherwise, with the reason.

    Raises
    ------
    Unusable
        If a file is damaged.
    """
    study, tables, missing = results.study, [], []
    wanted = study.get("divisions")
    searches = dict.fromkeys(m["search"] for m in study["methods"].values()) if wanted else {}
    for dataset in study["datasets"]:
        for search in searches:
            for repeat in range(study["repeats"]):
                folder = layout.DIVISIONS.format(dataset=dataset, search=search, repeat=repeat)
                file = f"{folder}/divisions.parquet"
                try:
                    table, job = readers.divisions(results.folder / folder)
                except Missing:
                    missing.append(f"{file}: not there")
                    continue
                methods = {m: p for m, p in study["methods"].items() if p["search"] == search}
                used = {p["ensemble"]: study["ensembles"][p["ensemble"]] for p in methods.values()}
                if job != {"divisions": wanted, "ensembles": used}:
                    missing.append(f"{file}: made with other settings")
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
