"""The study that `make ensemble` runs: turns a table and its target into a study file's content."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ensemble_search.data import roles, sources, text_files
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION, MISSING, REGRESSION
from ensemble_search.study.sections.methods import of_score
from ensemble_search.study.sections.names import DEVICES, NAME, is_name

if TYPE_CHECKING:
    import pandas as pd

#: The method whose ensemble is delivered.
METHOD = "DivBO"
#: The searched space.
SPACE = "tabular"
#: Number of algorithms in the space; a search begins with their defaults so that each gets a
#: chance: five random configurations miss most of them. Hard-coded: importing the space takes a
#: second.
ALGORITHMS = {CLASSIFICATION: 12, REGRESSION: 11}
#: With fewer rows, validation uses folds: a fifth of the rows would say little.
FEW_ROWS, FOLDS = 2000, 5
#: So does it if a class has fewer rows: 30 of them would be for validation.
RAREST = 150
#: With fewer groups of rows, validation uses no folds: each would have one or two groups.
GROUPS = 4 * FOLDS
#: An evaluation may take this share of the search's time, and at least this many seconds.
SHARE, SECONDS = 1 / 20, 10
#: Rows x columns of the training data per second of an evaluation's time limit: most algorithms
#: then need less than two thirds of the limit. Of larger tables, a part is used.
CELLS = 33_000
#: Minimum number of validation rows, and of test rows, if only a part of the table is used.
HELD_OUT = 10_000
#: Maximum number of evaluations, even if time is left: more would overfit the validation rows.
EVALUATIONS = 1000
#: Upper limits of an ensemble's cost: a forest with a small weight may have most of the bytes on
#: large data. Times depend on the machine, so their limit only excludes extremes.
LIMITS = {"predict_ms_per_row": 10, "size_mb": 50}
#: From this share of numbers on, a target with many values counts as numeric with odd values.
MOSTLY = 0.5
#: Roles of columns that are options of their own.
OPTIONS = ("group", "time", "fold", "weight")
#: From this share of the rows on, a positive class that was not chosen is noted.
MOSTLY_POSITIVE = 0.8
#: Metrics of the two tasks, unless the user chooses one.
METRICS = {CLASSIFICATION: "error", REGRESSION: "squared-error"}


def name_of(file: str, name: str | None) -> str:
    """Return the name of a study of this file: the given one, or the stem without odd characters.

    Raises UserError if the name is invalid, or the stem has no usable character.
    """
    if name and not re.fullmatch(NAME, name):
        raise UserError(
            f"--name: '{name}' is not possible; take up to 64 of A-Z, a-z, 0-9, '.', '_' and '-', "
            "a letter or digit first"
        )
    if name and DEVICES.fullmatch(name):
        raise UserError(f"--name: '{name}' is a device's name on Windows; choose another")
    name = name or re.sub(r"[^A-Za-z0-9._-]+", "-", text_files.stem(file)).strip("-._")[:64]
    if not is_name(name):
        raise UserError(f"--name: '{file}' gives no name for its results; choose one")
    return name


@dataclass(frozen=True)
class Table:
    """What was found in a table."""

    rows: int  #: number of rows used
    metric: str  #: loss to minimise
    summary: str  #: a line on target and metric
    classes: list[str] | None  #: the classes used, if others have too few rows; else None
    groups: int | None  #: number of groups of rows; None without groups
    rarest: int | None  #: number of rows of the rarest class used; None in a regression
    #: The table as ``normalise`` returns it.
    frame: "pd.DataFrame"
    described: dict[str, Any]


def look_at(
    file: str,
    target: str,
    metric: str | None,
    columns: Mapping[str, Sequence[str]] | None = None,
    positive: str | None = None,
) -> Table:
    """Read a table and its target; for ``columns``, names by role, see ``data.roles``.

    ``positive`` is the positive one of two classes, as for ``normalise.normalise``.

    Without a ``metric``, the loss is the classification error if the target is classes (text, or at
    most ``normalise.MAX_FRACTIONS`` distinct values), else the squared error.

    Raises UserError if the table or its columns cannot be read; the target is constant; no metric
    is named although the target may be classes or amounts; or fewer than two classes have enough
    rows for all parts of a split, or these have fewer than half of the rows.
    """
    import numpy as np
    import pandas as pd

    from ensemble_search.data import normalise, readings
    from ensemble_search.data.kinds import text
    from ensemble_search.data.normalise import MAX_FRACTIONS, many_numbers

    columns = columns or {}
    if len(by := [role for role in roles.OF_ROWS if role in columns and role != "weight"]) > 1:
        raise UserError(f"--{by[1]}: --{' and --'.join(by)} both divide the rows; keep one")
    if metric and (instead := of_score(metric, "--metric=")):
        raise UserError(f"--metric: no metric is called '{metric}'; {instead}")
    try:
        regression = metric is not None and plugins.load("metrics", metric).task == REGRESSION
    except UserError as error:
        raise UserError(f"--metric: {error}") from None
    drop = columns.get("drop", ())
    try:
        names = sources.check_file(file, target, drop)
    except UserError as error:
        raise _of_options(error) from None
    try:
        roles.check_names(columns, names, target)
    except UserError as error:
        said = (re.sub("^columns[.:] ?", "", line) for line in error.problems)
        own = "target:", *(f"{role}:" for role in OPTIONS)
        raise UserError(
            *(f"--{line}" if line.startswith(own) else f"--columns: {line}" for line in said)
        ) from None
    try:
        raw = sources.from_file(file, target, drop=drop)
    except UserError as error:
        raise _of_options(error) from None
    labels = raw.frame[target].dropna()
    column = labels[~labels.isin(MISSING)]
    if not (regression or many_numbers(column)):
        column = labels  # words for missing values can be classes
    distinct = column.nunique()
    if distinct < 2:
        alone = f"the single value '{column.iloc[0]}'" if distinct else "no values"
        raise UserError(f"--target: '{target}' has {alone}; two are needed")
    values = normalise.as_numbers(column)[0].astype(object)
    values = pd.to_numeric(values, errors="coerce").astype("float64")
    is_number = np.isfinite(values)
    numbers = is_number.all()
    if not numbers:
        row = is_number.index[~is_number][0]
        other = f"'{column[row]}' in row {row + 1}"
        counts = text(column).value_counts()
        found = readings.numbers(counts.index.tolist(), counts.to_numpy())
        mostly = bool(found) and found[0].share >= MOSTLY
        amounts = regression or (metric is None and distinct > MAX_FRACTIONS)
        if amounts and mostly and len(found) > 1:
            styles = " or ".join(readings.in_words(reading.style) for reading in found)
            raise UserError(
                f"--target: '{target}' has {other}, which may be read as {styles}; write numbers "
                "as -1234.5"
            )
        if metric is None and distinct > MAX_FRACTIONS and mostly:
            raise UserError(
                f"--target: '{target}' has numbers, but also {other}; write numbers as "
                "-1234.5, leave fields of unknown ones empty, or, if they are classes, "
                f"choose --metric={METRICS[CLASSIFICATION]}"
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
            f"--metric: {metric} is for numbers, and '{target}' has {other}; write finite "
            "numbers, as -1234.5, and leave fields of unknown ones empty"
        )
    what, enough, classes, rarest = "a regression", "", None, None
    if task == REGRESSION and positive is not None:
        raise UserError(f"--positive: with the metric {metric}, '{target}' has no classes")
    if task == CLASSIFICATION:
        declared = isinstance(labels.dtype, pd.CategoricalDtype)
        if not declared and (many := many_numbers(column)):
            raise UserError(
                f"--metric: {metric} is for classes, and '{target}' has {many} distinct numbers; "
                f"choose --metric={METRICS[REGRESSION]}, or merge numbers into classes"
            )
        counts = text(labels).value_counts().sort_index()
        rare = counts[counts < normalise.SMALLEST_CLASS]
        if len(rare) > len(counts) - 2:
            raise UserError(
                f"--target: '{target}' has {'one class' if len(rare) < len(counts) else 'no class'}"
                f" of {normalise.SMALLEST_CLASS} rows or more; two are needed"
                + (f", or --metric={METRICS[REGRESSION]}" if numbers else "")
            )
        if 2 * rare.sum() > counts.sum():
            raise UserError(
                f"--target: '{target}' has {len(rare)} classes of one or two rows, which would be "
                "left out, and most rows with them; merge classes, name another target, or, if "
                f"they are amounts, write them as -1234.5 and choose --metric={METRICS[REGRESSION]}"
            )
        rarest = int(counts[counts >= normalise.SMALLEST_CLASS].min())
        what = f"{len(counts) - len(rare)} classes"
        if len(rare):
            classes = counts.index[~counts.index.isin(rare.index)].tolist()
            enough = (
                f" of {normalise.SMALLEST_CLASS} rows or more, as each part of a split needs one"
            )
    try:
        frame, described = normalise.normalise(raw, columns, task, classes, positive)
    except UserError as error:
        raise UserError(*(_with_option(line, columns) for line in error.problems)) from None
    if len(known := [*described["classes"]]) == 2:
        what += f" ('{positive or known[1]}' is the positive one)"
        other, rows = known[0], described["rows"]
        count = described["classes"][known[1]]
        # A command cannot show a name with a line break.
        if positive is None and count >= MOSTLY_POSITIVE * rows and other.isprintable():
            quoted = other.replace("'", "'\"'\"'")  # for a shell
            described["notes"].append(
                f"the positive class, '{known[1]}', has {count} of {rows} rows: if '{other}' is to "
                f"be found, --positive='{quoted}' makes it the positive one"
            )
    groups = None
    if "group" in columns:
        groups = int(frame[columns["group"][0]].nunique())
    title = plugins.load("metrics", metric).title
    title = title if title.startswith("1 - ") else f"the {title}"
    summary = f"'{target}': {what}{enough}, minimising {title}"
    return Table(described["rows"], metric, summary, classes, groups, rarest, frame, described)


def _of_options(error: UserError) -> UserError:
    """Begin messages about a file and its target with their options."""
    lines = (re.sub("^file: ", "--data: ", line) for line in error.problems)
    return UserError(*(re.sub("^target: ", "--target: ", line) for line in lines))


def _with_option(line: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Begin a message about the positive class, or a column that has a role, with its option."""
    if line.startswith("positive: "):
        return f"--{line}"
    for name, role in roles.pairs(columns):
        if f": column '{name}'" in line:
            return f"--{role if role in OPTIONS else 'columns'}: {line}"
    return line


def split_of(
    rows: int, columns: int, seconds: float, folds: bool = True, rarest: int | None = None
) -> dict[str, Any]:
    """Choose the section `split` of a study, given the size of its table.

    If ``folds`` can be drawn: folds for a table with few rows, or with few of its ``rarest`` class,
    unless their training rows have more cells than fit the time. Else 60/20/20 %. If the training
    rows have more than ``CELLS * seconds`` cells, for that time limit of an evaluation, only a part
    of them is used, in thousandths; then validation and test rows are a third as many each, but at
    least ``HELD_OUT`` or a fifth of the table, whichever is less.
    """
    fits = 0.8 * rows * columns * (FOLDS - 1) <= CELLS * seconds
    if folds and (rows < FEW_ROWS or (rarest is not None and rarest < RAREST and fits)):
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
    positive: str | None = None,
    roles_of: Mapping[str, Sequence[str]] | None = None,
    groups: int | None = None,
    rarest: int | None = None,
) -> dict[str, Any]:
    """Return the study: DivBO with the forest kernel, and an ensemble to deliver.

    Probabilities decide between classes. So if the metric counts errors, members are selected by
    their Brier score; studies/rules.yaml tests whether that makes better ensembles.

    The search takes ``minutes``, with an evaluation on each of the ``cores``; twice as many are
    suggested at a time, so that no core waits long for the slowest. ``classes`` are those used;
    default: all. For ``positive``, see :func:`look_at`. ``roles_of`` has names of columns by role.
    Folds require that rows have no order, and several ``groups`` of rows, if any, per fold.
    ``rarest``: see :func:`split_of`. Raises UserError if there is no such metric.
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
    source |= {"positive": positive} if positive is not None else {}
    roles_of = {role: [*names] for role, names in (roles_of or {}).items()}
    source |= {"columns": roles_of} if roles_of else {}
    folds = "time" not in roles_of and (groups is None or groups >= GROUPS)
    return {
        "study": name,
        "datasets": {name: source},
        "split": split_of(rows, columns, seconds, folds, rarest),
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
