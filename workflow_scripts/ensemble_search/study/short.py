"""The study behind `make ensemble`: from a table and its target to the content of a study file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ensemble_search.data import roles, sources, text_files
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION, MISSING, REGRESSION
from ensemble_search.study.sections.names import NAME

if TYPE_CHECKING:
    import pandas as pd

#: The method whose ensemble is delivered.
METHOD = "DivBO"
#: The space that is searched, the default of studies.
SPACE = "divbo"
#: Algorithms of the space, whose defaults begin a search: each gets a chance, where five random
#: configurations leave most of them out. Counted here: the space takes a second to import.
ALGORITHMS = {CLASSIFICATION: 11, REGRESSION: 10}
#: With fewer rows, validation is by folds: a fifth of them would say little.
FEW_ROWS, FOLDS = 2000, 5
#: With fewer groups of rows, validation is not by folds: each would have one or two.
GROUPS = 4 * FOLDS
#: An evaluation may take this share of the time of the search, and at least so many seconds.
SHARE, SECONDS = 1 / 20, 10
#: A pipeline is fitted on so many cells (rows x columns) per second that it may take: most
#: algorithms then take less than two thirds of it. Of larger tables, a part is used.
CELLS = 33_000
#: Rows that validate, and that test, at least where only a part is used.
HELD_OUT = 10_000
#: A search ends after so many evaluations, whatever time is left: more fit the validation rows.
EVALUATIONS = 1000
#: What an ensemble may cost: a forest of large data with a small weight may have most of its bytes.
#: Times depend on the machine, so that their limit is for extremes only.
LIMITS = {"predict_ms_per_row": 10, "size_mb": 50}
#: With this share of numbers, a target of many values is read as one with odd numbers.
MOSTLY = 0.5
#: Metrics of the two tasks, unless the user names one.
METRICS = {CLASSIFICATION: "error", REGRESSION: "squared-error"}


def name_of(file: str, name: str | None) -> str:
    """Return the name of a study of this file: as given, or its stem, without odd characters.

    Raises
    ------
    UserError
        If the name is not possible, or nothing is left of the stem.
    """
    if name and not re.match(NAME, name):
        raise UserError(
            f"--name: '{name}' is not possible; take up to 64 of A-Z, a-z, 0-9, '.', '_' and '-', "
            "a letter or digit first"
        )
    name = name or re.sub(r"[^A-Za-z0-9._-]+", "-", text_files.stem(file)).strip("-._")[:64]
    if not re.match(NAME, name):
        raise UserError(f"--name: '{file}' gives no name for its results; choose one")
    return name


@dataclass(frozen=True)
class Table:
    """What a table gives.

    Attributes
    ----------
    rows
        Those that are used.
    metric
        Loss to minimise.
    summary
        A line on target and metric.
    classes
        Those that are used, if some have too few rows; else None.
    test
        Number of test rows: a fifth, or those of the first fold.
    groups
        Number of groups of rows; None without them.
    frame, described
        The table as ``normalise`` returns it.
    """

    rows: int
    metric: str
    summary: str
    classes: list[str] | None
    test: int
    groups: int | None
    frame: "pd.DataFrame"
    described: dict[str, Any]


def look_at(
    file: str, target: str, metric: str | None, columns: Mapping[str, Sequence[str]] | None = None
) -> Table:
    """Read a table and its target.

    Parameters
    ----------
    file, target
        The table, and its column to predict.
    metric
        Loss to minimise; None: the error of classes (text, or at most
        ``normalise.MAX_FRACTIONS`` distinct values), else the squared error.
    columns
        Names of columns by role; see ``data.roles``.

    Raises
    ------
    UserError
        If the table or its columns cannot be read, the target is constant, or it may be classes or
        amounts and no metric is named, or fewer than two classes have rows enough for all parts of
        a split.
    """
    import numpy as np
    import pandas as pd

    from ensemble_search.data import normalise, readings
    from ensemble_search.data.kinds import text
    from ensemble_search.data.normalise import MAX_FRACTIONS, many_numbers

    columns = columns or {}
    if len(by := [role for role in roles.OF_ROWS if role in columns and role != "weight"]) > 1:
        raise UserError(f"--{by[1]}: --{' and --'.join(by)} both divide the rows; keep one")
    names = sources.check_file(file, target)
    try:
        roles.check_names(columns, names, target)
    except UserError as error:
        said = (line.removeprefix("columns.") for line in error.problems)
        own = tuple(f"{role}:" for role in roles.OF_ROWS)
        raise UserError(
            *(f"--{line}" if line.startswith(own) else f"--columns: {line}" for line in said)
        ) from None
    raw = sources.from_file(file, target)
    labels = raw.frame[target].dropna()
    column = labels[~labels.isin(MISSING)]
    regression = metric is not None and plugins.load("metrics", metric).task == REGRESSION
    if not (regression or many_numbers(column)):
        column = labels  # such words can be classes
    distinct = column.nunique()
    if distinct < 2:
        alone = f"the single value '{column.iloc[0]}'" if distinct else "no values"
        raise UserError(f"--target: '{target}' has {alone}; two are needed")
    values = pd.to_numeric(column.astype(object), errors="coerce").astype("float64")
    is_number = np.isfinite(values)
    numbers = is_number.all()
    if not numbers:
        row = is_number.index[~is_number][0]
        other = f"'{column[row]}' in row {row + 1}"
        counts = text(column).value_counts()
        found = readings.numbers(counts.index.tolist(), counts.to_numpy())
        mostly = bool(found) and found[0].share >= MOSTLY
        if metric is None and distinct > MAX_FRACTIONS and mostly:
            raise UserError(
                f"--target: '{target}' has numbers, but also {other}; write numbers with a decimal "
                "point and without units, leave fields of unknown ones empty, or, if they are "
                f"classes, choose --metric {METRICS[CLASSIFICATION]}"
            )
    if metric is None:
        if distinct <= MAX_FRACTIONS or not numbers:
            metric = METRICS[CLASSIFICATION]
        elif many_numbers(column):
            metric = METRICS[REGRESSION]
        else:
            raise UserError(
                f"--metric: '{target}' has {distinct} distinct integers, which may be classes "
                f"or amounts; choose {' or '.join(METRICS.values())}"
            )
    task = plugins.load("metrics", metric).task
    if task == REGRESSION and not numbers:
        raise UserError(
            f"--metric: {metric} is for numbers, and '{target}' has {other}; write numbers with a "
            "decimal point and without separators of thousands, and leave unknown ones empty"
        )
    what, classes = "a regression", None
    if task == CLASSIFICATION:
        counts = text(labels).value_counts().sort_index()
        rare = counts[counts < normalise.SMALLEST_CLASS]
        if len(rare) > len(counts) - 2:
            raise UserError(
                f"--target: '{target}' has {len(counts) - len(rare)} classes of "
                f"{normalise.SMALLEST_CLASS} rows or more; two are needed"
            )
        what = f"{len(counts) - len(rare)} classes"
        if len(rare):
            classes = counts.index[~counts.index.isin(rare.index)].tolist()
            what += (
                f" of {normalise.SMALLEST_CLASS} rows or more, as each part of a split needs one"
            )
    frame, described = normalise.normalise(raw, columns, task, classes)
    test, groups = described["rows"] // 5, None
    if "fold" in columns:
        folds = frame[columns["fold"][0]]
        test = int((folds == folds[folds >= 0].min()).sum())
    if "group" in columns:
        groups = int(frame[columns["group"][0]].nunique())
    summary = f"'{target}': {what}, minimising the {metric}"
    return Table(described["rows"], metric, summary, classes, test, groups, frame, described)


def split_of(rows: int, columns: int, seconds: float, folds: bool = True) -> dict[str, Any]:
    """Choose the section `split` of a study.

    Parameters
    ----------
    rows, columns
        Of the table.
    seconds
        That an evaluation may take.
    folds
        Whether folds can be drawn.

    Returns
    -------
    split
        Folds of a table with few rows, if possible, else 60/20/20 %. If the training rows have more
        than ``CELLS * seconds`` cells, these of a part of them, in thousandths, and a third as many
        rows each, but at least ``HELD_OUT`` or a fifth of the table, to validate and to test.
    """
    if rows < FEW_ROWS and folds:
        return {"folds": FOLDS}
    if 0.6 * rows * columns <= CELLS * seconds:
        return {"train": 0.6, "validation": 0.2}
    most = CELLS * seconds / columns / rows
    held_out = max(0.001, round(max(most / 3, min(0.2, HELD_OUT / rows)), 3))
    train = round(1 - 2 * held_out, 3)
    share = min(0.999, max(0.001, round(most / train, 3)))
    parts = {"train": train, "validation": held_out, "test": held_out}
    return {**parts, "train_rows": {"share": share}}


def content(
    name: str,
    file: str,
    target: str,
    *,
    rows: int,
    columns: int,
    metric: str,
    minutes: float,
    cores: int,
    classes: Sequence[str] | None = None,
    roles_of: Mapping[str, Sequence[str]] | None = None,
    groups: int | None = None,
) -> dict[str, Any]:
    """Write the study: DivBO with the forest kernel, and an ensemble to deliver.

    Classes are decided by probabilities, so members are selected by their Brier score where the
    metric counts errors; studies/rules.yaml asks whether that makes better ensembles.

    Parameters
    ----------
    name
        Of the study and its data set.
    file, target
        The table, and its column to predict.
    rows, columns
        Of the table.
    metric
        Loss to minimise, a file in metrics/.
    minutes
        Of the search.
    cores
        Evaluations side by side; twice as many are suggested at a time, so that none waits long
        for the slowest.
    classes
        Those that are used; default: all.
    roles_of, groups
        Names of columns by role, and the number of groups of rows, if any. Folds need no order, and
        some groups each.

    Raises
    ------
    UserError
        If there is no such metric.
    """
    task = plugins.load("metrics", metric).task
    search: dict[str, Any] = {"optimizer": "divbo"}
    search |= {"design": "defaults", "initial": ALGORITHMS[task]}
    ensemble: dict[str, Any] = {"type": "selection", "size": 25}
    if metric == "error":
        ensemble["metric"] = "brier"
    seconds = max(SECONDS, round(60 * minutes * SHARE))
    source: dict[str, Any] = {"file": file, "target": target}
    source |= {"classes": [*classes]} if classes else {}
    roles_of = {role: [*names] for role, names in (roles_of or {}).items()}
    source |= {"columns": roles_of} if roles_of else {}
    folds = "time" not in roles_of and (groups is None or groups >= GROUPS)
    return {
        "study": name,
        "datasets": {name: source},
        "split": split_of(rows, columns, seconds, folds),
        "repeats": 1,
        "metric": metric,
        "space": SPACE,
        "budget": {"evaluations": EVALUATIONS},
        "limits": {"seconds": seconds},
        "workers": cores,
        "searches": {"divbo": search | ({"batch": 2 * cores} if cores > 1 else {})},
        "ensembles": {"best": {"type": "best"}, "selection": ensemble},
        "methods": {
            METHOD: {"search": "divbo", "ensemble": "selection"},
            "best-pipeline": {"search": "divbo", "ensemble": "best"},
        },
        "report": {"reference": METHOD},
        "deliver": {
            "method": METHOD,
            **({"calibrate": True} if task == CLASSIFICATION else {}),
            "limits": dict(LIMITS),
        },
    }
