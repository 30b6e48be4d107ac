"""Tasks and suites of OpenML: a data set with its target and folds, and lists of tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.data import openml_client
from ensemble_search.data.openml_server import Access, Failed, connected, parsed, short
from ensemble_search.data.sources import Raw
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION, TASKS

#: Codes of task types at OpenML.
TYPES = dict(zip(("1", "2"), TASKS, strict=True))
#: Files of a task in the client's cache.
CACHED = ("task.xml", "datasplits.arff")


@dataclass(frozen=True)
class Task:
    """Content of ``task.xml``: ids, names, and the address of the splits."""

    dataset: int
    target: str
    task: str
    url: str


def fetch(source: Mapping[str, Any], how: Access, beside: Path | None = None) -> Raw:
    """Fetch the data set of a task, with a column for the folds of its first repeat.

    ``source`` has ``openml_task``, its id, and optionally ``version`` and ``md5`` of the data set,
    and ``task``; ``how`` and ``beside`` are as in ``openml_client.fetch``. UserError as there, or
    if the task is neither a classification nor a regression, or its folds do not match the data
    set's rows.
    """
    number = source["openml_task"]
    what = f"OpenML task {number}"
    with connected(how, beside) as server:
        description, splits = (server.folder / name for name in CACHED)
        server.copy(server.cache / "tasks" / str(number), CACHED)
        known = description.is_file(), splits.is_file()

        def once(ends: float) -> None:
            if not known[0]:
                server.ask(f"task/{number}", description, ends)
            about = read(description, number)
            if not known[1]:
                server.load(about.url, splits, how.max_mb, ends)

        server.retry(what, number, once)
        about = read(description, number)
        frame = openml_client.read_file(splits, f"{what}: its splits")
    wanted = source.get("task", CLASSIFICATION)
    if about.task != wanted:
        raise UserError(f"{what}: is a {about.task}, not a {wanted}; choose another metric or task")
    raw = openml_client.fetch(about.dataset, source.get("version"), source.get("md5"), how, beside)
    if about.target not in raw.frame:
        raise UserError(f"{what}: its target '{about.target}' is not a column of the data set")
    name = f"fold of task {number}"
    if name in raw.frame:
        raise UserError(f"{what}: the data set has a column '{name}'")
    ignored = {column: why for column, why in raw.ignored.items() if column != about.target}
    return replace(
        raw,
        frame=raw.frame.assign(**{name: folds(frame, len(raw.frame), what)}),
        target=about.target,
        ignored=ignored,
        source={"openml_task": number},
        roles={"fold": [name]},
    )


def read(path: Path, number: int) -> Task:
    """Read a ``task.xml``: Failed if it does not describe this task, UserError for other types."""
    with parsed(path, "an OpenML task") as answer:
        content = answer["oml:task"]
        inputs = {own["@name"]: own for own in content["oml:input"]}
        data = inputs["source_data"]["oml:data_set"]
        kind, found = content["oml:task_type_id"], content["oml:task_id"]
        dataset, target = int(data["oml:data_set_id"]), data.get("oml:target_feature")
        procedure = inputs.get("estimation_procedure", {}).get("oml:estimation_procedure", {})
        url = procedure.get("oml:data_splits_url")
    if found != str(number):
        raise Failed(f"the answer describes task {short(str(found))}")
    if kind not in TYPES or not isinstance(target, str) or not isinstance(url, str):
        said = "is neither a classification nor a regression with splits"
        raise UserError(f"OpenML task {number}: {said}")
    return Task(dataset, target, TYPES[kind], url)


def folds(splits: Any, rows: int, what: str) -> np.ndarray:
    """Return the fold whose test part contains each row, in the first repeat; -1 if none does.

    ``splits`` are rows of ``datasplits.arff``: ``type``, ``rowid``, ``repeat``, ``fold``. UserError
    if they are not folds of this number of rows, or a row is in the test parts of two folds.
    """
    wrong = f"{what}: its splits are not folds of the {rows} rows of its data set"
    if not {"type", "rowid", "repeat", "fold"} <= {*map(str, splits)}:
        raise UserError(wrong)
    test = splits[(splits["type"] == "TEST") & (splits["repeat"].astype(float) == 0)]
    ids, numbers = (test[name].to_numpy(float) for name in ("rowid", "fold"))
    inside = np.isfinite(ids) & (ids >= 0) & (ids < rows) & (ids == np.round(ids))
    if not len(test) or not inside.all() or not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise UserError(wrong)
    if len(np.unique(ids)) < len(ids):
        raise UserError(f"{what}: a row is in two folds; use its data set instead of the task")
    found = np.full(rows, -1)
    found[ids.astype(int)] = numbers.astype(int)
    return found


def suite(number: int, how: Access) -> list[int]:
    """Fetch the ids of a suite's tasks, ascending; UserError if there are none, or no answer."""
    what = f"OpenML suite {number}"
    if number < 1:
        raise UserError(f"{what}: ids are integers from 1 on")
    found: list[int] = []
    with connected(how) as server:

        def once(ends: float) -> None:
            path = server.folder / "study.xml"
            server.ask(f"study/{number}", path, ends)
            with parsed(path, "an OpenML suite of tasks") as content:
                tasks = content["oml:study"]["oml:tasks"]["oml:task_id"]
                found[:] = sorted(map(int, [tasks] if isinstance(tasks, str) else tasks))

        server.retry(what, number, once)
    return found
