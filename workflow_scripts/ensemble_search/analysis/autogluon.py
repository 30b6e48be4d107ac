"""What AutoGluon reached on the study's splits (Table 12)."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ensemble_search.results import layout, readers
from ensemble_search.runtime.files import Missing

OK = "ok"
COLUMNS = ["dataset", "status", "reason", "validation_error", "test_error"]


def read(folder: Path, datasets: Iterable[str]) -> pd.DataFrame:
    """Read ``autogluon/<dataset>/scores.json`` below a study's results folder.

    Returns
    -------
    runs
        One row per data set: ``dataset``, ``status`` (``ok``, or what happened), ``reason`` (empty
        if ok), ``validation_error`` and ``test_error`` (NaN unless ok). No rows if there is no
        such file at all.

    Raises
    ------
    Unusable
        If a file is damaged.
    """
    paths = {
        name: layout.path(folder, layout.AUTOGLUON, dataset=name) / "scores.json"
        for name in datasets
    }
    if not any(path.is_file() for path in paths.values()):
        return pd.DataFrame(columns=COLUMNS)
    runs = pd.DataFrame([{"dataset": name, **_run(path)} for name, path in paths.items()])
    runs = runs.reindex(columns=COLUMNS)
    errors = ["validation_error", "test_error"]
    runs[errors] = runs[errors].astype(float)
    runs.loc[runs["status"] != OK, errors] = float("nan")
    return runs.fillna({"reason": ""})


def _run(path: Path) -> dict:
    try:
        content = readers.autogluon(path.parent)
    except Missing:
        return {"status": "missing", "reason": "has not run yet"}
    return {key: content.get(key) for key in COLUMNS[1:]}
