"""What AutoGluon reached on the study's splits (Table 12)."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from divbo.errors import of_machine

OK = "ok"
COLUMNS = ["dataset", "status", "reason", "validation_error", "test_error"]


def read(folder: Path, datasets: Iterable[str]) -> pd.DataFrame:
    """Read ``autogluon/<dataset>/scores.json`` below a study's results folder.

    Returns
    -------
    runs
        One row a data set: ``dataset``, ``status`` (``ok``, or what happened), ``reason`` (empty
        if ok), ``validation_error`` and ``test_error`` (NaN unless ok). No rows if there is no
        such file at all.
    """
    paths = {name: Path(folder) / "autogluon" / name / "scores.json" for name in datasets}
    if not any(path.is_file() for path in paths.values()):
        return pd.DataFrame(columns=COLUMNS)
    runs = pd.DataFrame([{"dataset": name, **_run(path)} for name, path in paths.items()])
    runs = runs.reindex(columns=COLUMNS)
    errors = ["validation_error", "test_error"]
    runs[errors] = runs[errors].astype(float)
    runs.loc[runs["status"] != OK, errors] = float("nan")
    return runs.fillna({"status": "unknown", "reason": ""})


def _run(path: Path) -> dict:
    if not path.is_file():
        return {"status": "missing", "reason": "has not run yet"}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {key: content.get(key) for key in COLUMNS[1:]}
    except (OSError, ValueError, AttributeError) as error:
        if of_machine(error):
            raise
        return {"status": "unreadable", "reason": type(error).__name__}
