"""`datasets` and `openml`: where the data come from."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from ensemble_search.data import roles
from ensemble_search.data.openml_server import lacks_cache
from ensemble_search.data.sources import (
    BUNDLED,
    LARGEST_ID,
    check_file,
    check_test_file,
    not_openml,
    source_key,
    source_kind,
)
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import REGRESSION, TASKS, Task
from ensemble_search.study.sections.base import Section
from ensemble_search.study.sections.ensembles import refits
from ensemble_search.study.sections.split import TrainRows

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Columns(Section):
    """Roles of columns."""

    drop: list[str] = Field([], description="columns to leave out")
    numeric: list[str] = Field([], description="numbers; other values are treated as missing")
    categorical: list[str] = Field([], description="categories, which may be numbers")
    date: list[str] = Field([], description="dates; other values are treated as missing")
    text: list[str] = Field([], description="text, whose words become features")
    group: list[str] = Field(
        [],
        description="a column (not a feature): rows with the same value stay in one part or fold",
    )
    time: list[str] = Field(
        [],
        description="a column of dates or numbers (a feature only if also under `date` or "
        "`numeric`): later rows are held out",
    )
    weight: list[str] = Field(
        [], description="a column of positive numbers (not a feature): how much each row counts"
    )
    part: list[str] = Field(
        [], description="a column (not a feature): `train`, `validation` or `test` for each row"
    )
    fold: list[str] = Field(
        [],
        description="a column of integers (not a feature): rows with the lowest one are the test "
        "rows of the first split, and so on; rows below 0 are never test rows",
    )

    @field_validator(*roles.OF_ROWS, mode="before")
    @classmethod
    def _one(cls, value: Any) -> Any:
        """Treat a name as a list of one."""
        return [value] if isinstance(value, str) else value


class Dataset(Section):
    """Where data come from: exactly one of `openml`, `openml_task`, `file` and `sklearn`."""

    openml: int | str | None = Field(
        None, description="OpenML id of the data set, or its name, optionally with `version`"
    )
    openml_task: int | None = Field(
        None,
        ge=1,
        le=LARGEST_ID,
        description="OpenML id of a task: data set, target and folds (of its first repeat)",
    )
    version: int | None = Field(None, ge=1, le=LARGEST_ID, description="expected version at OpenML")
    md5: str | None = Field(
        None, pattern="^[0-9a-f]{32}$", description="expected MD5 of the ARFF file"
    )
    file: str | None = Field(
        None,
        min_length=1,
        description="a CSV, Parquet, ARFF or Excel file, relative to the working directory, "
        "or else to the study file's",
    )
    test: str | None = Field(
        None,
        min_length=1,
        description="a second file with the test rows, in the same columns and format",
    )
    target: str | None = Field(
        None,
        min_length=1,
        description="target column of `file`; for OpenML, instead of the default target",
    )
    task: Task | None = Field(
        None, description="`classification` or `regression` (default: that of the study's metric)"
    )
    sklearn: Literal[tuple(BUNDLED)] | None = Field(  # type: ignore[valid-type]
        None, description="a data set that scikit-learn ships"
    )
    columns: Columns | None = Field(None, description="roles of columns")

    classes: list[Any] | None = Field(
        None,
        description="classes to keep, such as [a, b]; a list merges classes: [[1, 2], 3]",
    )
    positive: Any = Field(
        None,
        description="of two classes, the one that `f1`, `average-precision` and thresholds are "
        "about (default: the second in the order of text)",
    )
    train_rows: TrainRows | None = Field(
        None, description="fit on a part of its training rows (default: `split.train_rows`)"
    )

    @field_validator("openml", mode="before")
    @classmethod
    def _id_or_name(cls, value: Any) -> Any:
        if value is not None and (said := not_openml(value)):
            raise ValueError(said)
        return value

    @field_validator("columns")
    @classmethod
    def _plain(cls, columns: Columns | None) -> Columns | None:
        """Sort columns, and drop the key if it is empty."""
        lists = {role: sorted(names) for role, names in columns or () if names}
        return Columns(**lists) if lists else None

    @property
    def source(self) -> dict[str, Any]:
        """The source as written, without unset keys."""
        return self.model_dump(exclude_none=True, exclude_defaults=True, exclude={"train_rows"})


def problems(study: "Study") -> Iterator[str]:
    """Check the sources, the files among them and their columns, and the task."""
    sources: dict[str, str] = {}
    for name, dataset in study.datasets.items():
        where = f"datasets.{name}"
        if None not in (dataset.task, study.task) and dataset.task != study.task:
            yield (
                f"{where}.task: {dataset.task}, but metric '{study.metric}' is for {study.task}; "
                "change one of them"
            )
        given = [key for key in ("classes", "positive") if getattr(dataset, key) is not None]
        if given and study.task == REGRESSION:
            yield f"{where}.{given[0]}: a regression has no classes; remove the key"
            continue
        tasks = BUNDLED.get(dataset.sklearn or "", TASKS)
        if dataset.task is None and study.task and study.task not in tasks:
            yield (
                f"{where}.sklearn: '{dataset.sklearn}' is a {tasks[0]}, but metric "
                f"'{study.metric}' is for {study.task}; change one of them"
            )
        try:
            source_kind(dataset.source, where)
        except UserError as error:
            yield from error.problems
            continue
        if dataset.file is not None and dataset.target is not None:
            try:
                drop = roles.dropped(dataset.source)
                names = check_file(dataset.file, dataset.target, drop)
                if dataset.test is not None:
                    check_test_file(dataset.file, dataset.test, dataset.target, drop)
                roles.check_names(dataset.source.get("columns", {}), names, dataset.target)
            except UserError as error:
                start = f"(relative paths start at {Path.cwd()}"
                more = f"{start}, or else at the study file's folder"
                yield from (f"{where}.{line.replace(start, more)}" for line in error.problems)
        yield from _of_rows(study, dataset, where)
        other = sources.setdefault(source_key(dataset.source), name)
        if study.datasets[other].source != dataset.source:
            yield f"{where}: the same source as '{other}', pinned otherwise"


def _of_rows(study: "Study", dataset: Dataset, where: str) -> Iterator[str]:
    """Check that the study can use the columns that divide or weight rows."""
    places = {role: f"{where}.columns.{role}" for role in roles.OF_ROWS}
    given = [role for role in roles.OF_ROWS if getattr(dataset.columns, role, None)]
    for key in ("openml_task", "test"):
        if getattr(dataset, key) and "fold" in given:
            yield f"{where}.{key}: it and columns.fold both divide the rows; remove one of them"
        elif getattr(dataset, key):
            given.append("fold")
            places["fold"] = f"{where}.{key}"
    split, dividing = study.split, [role for role in given if role != "weight"]
    if len(dividing) > 1:
        yield (
            f"{places[dividing[1]]}: '{dividing[0]}' and '{dividing[1]}' both divide the rows; "
            "remove one of them"
        )
    if "time" in given and split.folds:
        yield f"{places['time']}: folds are in no order; use a validation part, not split.folds"
    if "part" in given and split.folds:
        yield f"{places['part']}: it names the validation rows; remove split.folds"
    if "fold" in given and split.test is None:
        yield f"{places['fold']}: names the test rows; split needs shares instead of numbers"
    for role in ("time", "part"):
        if role in given and split.resample != "never":
            yield f"{places[role]}: the split is the same for every seed; remove split.resample"
    if "group" in given and split.folds and study.autogluon:
        yield f"{places['group']}: AutoGluon's folds divide groups; remove autogluon or split.folds"
    unseen = [role for role in ("group", "time", "weight") if role in given]
    for name in study.ensembles if unseen else ():
        if refits(study, name):
            yield (
                f"{places[unseen[0]]}: ensembles.{name} fits on parts of the training rows, which "
                "regards neither groups nor times nor weights; remove one of them"
            )
    if "weight" in given:
        others = {"tables": study.tables, "autogluon": study.autogluon}
        others |= {
            f"evaluation.{key}": getattr(study.evaluation, key)
            for key in ("tables", "replay", "warm_start")
        }
        for key in (key for key, used in others.items() if used):
            yield f"{places['weight']}: '{key}' does not regard weights; remove one of them"


def problems_of_openml(study: "Study") -> Iterator[str]:
    """Check that the cache is a folder."""
    if problem := lacks_cache(study.openml):
        yield problem
