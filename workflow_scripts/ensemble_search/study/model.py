"""The typed model of a study: all sections, checked against each other."""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ensemble_search.data.openml_server import OpenML
from ensemble_search.runtime import outside, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION
from ensemble_search.study import yaml_file
from ensemble_search.study.sections import (
    datasets,
    deliver,
    ensembles,
    evaluation,
    further,
    methods,
    names,
    searches,
    split,
)
from ensemble_search.study.sections.base import SEED, Section
from ensemble_search.study.sections.budget import Budget, Limits, problems_of_repeats
from ensemble_search.study.sections.datasets import Dataset
from ensemble_search.study.sections.deliver import Deliver
from ensemble_search.study.sections.evaluation import Evaluation, Tables
from ensemble_search.study.sections.further import AutoGluon, Spread, Surrogates
from ensemble_search.study.sections.methods import Method, Report
from ensemble_search.study.sections.names import Name
from ensemble_search.study.sections.searches import Setting
from ensemble_search.study.sections.split import Split

#: Checks of a section against the rest of the study, in the order of the messages.
CHECKS = (
    names.problems, methods.problems_of_space, methods.problems_of_metric, searches.problems,
    ensembles.problems, datasets.problems_of_openml, methods.problems_of_methods,
    methods.problems_of_report, split.problems, datasets.problems, further.problems_of_surrogates,
    further.problems_of_spread, further.problems_of_autogluon, problems_of_repeats,
    evaluation.problems, evaluation.problems_of_tables, deliver.problems,
    further.problems_of_divisions,
)  # fmt: skip
#: Sections whose entries are plugins: modules with their folder, key, and how to make one.
PLUGINS = {"searches": searches, "ensembles": ensembles}


class Study(Section):
    """A study: methods × data sets × repeats."""

    study: Name = Field(description="name of the study: its results are in `results/<study>/`")
    extends: str | None = Field(
        None,
        min_length=1,
        description="another study file, by its path relative to this one: keys that are "
        "missing here are taken from it, its plugins, searches and ensembles "
        "are added, and identical searches are shared",
    )
    plugins: list[Annotated[str, Field(min_length=1)]] = Field(
        [],
        description="folders of further optimizers, ensembles and other parts, relative to this "
        "file, with optimizers/, ensembles/, spaces/, surrogates/, metrics/, drivers/ and pages/",
    )
    datasets: dict[Name, Dataset] = Field(min_length=1, description="name -> source")
    searches: dict[Name, dict[str, Setting]] = Field(
        min_length=1, description="name -> `optimizer` and its settings"
    )
    ensembles: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="name -> `type` and its settings"
    )
    methods: dict[Name, Method] = Field(
        min_length=1, description="rows of the tables: name -> a search with an ensemble"
    )
    repeats: int = Field(
        10,
        ge=1,
        le=10_000,
        description="number of times that each search runs on each data set, with different seeds",
    )
    seed: int = Field(0, ge=0, le=SEED, description="repeat r of every search draws from (seed, r)")
    space: str = Field(
        "divbo", description="configuration space, defined in ensemble_search/spaces/"
    )
    metric: str = Field(
        "error", description="loss that searches and ensembles minimise, defined in metrics/"
    )
    budget: Budget = Budget(evaluations=250)
    limits: Limits = Limits()
    evaluation: Evaluation = Evaluation()
    workers: int = Field(
        1,
        ge=1,
        le=1000,
        description="number of evaluations that a search runs in parallel, if its optimizer "
        "plans several at once; does not change results",
    )
    split: Split = Split()
    openml: OpenML = OpenML()
    report: Report = Report()
    autogluon: AutoGluon | None = Field(
        None, description="also run AutoGluon, to compare with (default: no)"
    )
    tables: Tables | None = Field(
        None, description="make tables of evaluated configurations (default: no)"
    )
    surrogates: Surrogates | None = Field(None, description="evaluate surrogates (default: no)")
    spread: Spread | None = Field(
        None, description="also measure how evenly designs cover a range (default: no)"
    )
    divisions: int | None = Field(
        None,
        ge=2,
        le=1000,
        description="also score the ensembles on this number of random divisions of the "
        "held-out rows into validation and test rows, with the same fits "
        "(default: no)",
    )
    deliver: Deliver | None = Field(
        None, description="also make a folder that predicts new rows (default: no)"
    )

    @cached_property
    def task(self) -> str | None:
        """``classification`` or ``regression``, as the metric; None if the metric is unknown."""
        try:
            return plugins.load("metrics", self.metric).task
        except UserError:
            return None

    def used(self, kind: Literal["search", "ensemble"]) -> list[str]:
        """Names of the searches or ensembles that some method uses, in the order of the methods."""
        return list(dict.fromkeys(getattr(m, kind) for m in self.methods.values()))

    @property
    def searched(self) -> list[str]:
        """Names of the searches that run: methods use them, or tables have their evaluations."""
        added = self.tables.searches if self.tables else []
        return list(dict.fromkeys([*self.used("search"), *added]))

    def split_name(self, repeat: int | str) -> str:
        """Folder of the split that a repeat uses; see ``split.split_name``."""
        return split.split_name(self.split.resample, repeat)

    def train_rows(self, dataset: str) -> dict[str, Any] | None:
        """Return which part of a data set's training rows is used; None for all."""
        part = self.datasets[dataset].train_rows or self.split.train_rows
        return part.settings if part else None

    def drawn(self, dataset: str, name: str) -> dict[str, Any]:
        """Describe how the rows of a split are drawn; see ``split.drawn``."""
        return split.drawn(self.split, name, self.train_rows(dataset))

    @property
    def splits(self) -> list[str]:
        """Folders of the splits that the repeats use, each once."""
        return list(dict.fromkeys(map(self.split_name, range(self.repeats))))


def load(path: Path | str, overrides: dict[str, Any] | None = None) -> Study:
    """Read and check a study file; afterwards, this process uses the study's folders of plugins.

    ``overrides`` replace values of the file key by key (``snakemake --config``). Strings are parsed
    as in a file: ``{"budget": {"evaluations": "50"}}`` is a number. Raises UserError with one line
    per mistake: the file, the key, the problem and the fix.
    """
    return load_extending(path, overrides)[0]


def load_extending(
    path: Path | str, overrides: dict[str, Any] | None = None
) -> tuple[Study, Study | None]:
    """Read and check a study file, and the study that it extends, the latter as in its own file.

    Parameters and errors are those of :func:`load`; the second study is None without ``extends``.
    """
    content, extended = yaml_file.read(Path(path), overrides)
    if extended is None:
        return load_content(content, str(path)), None
    _use_plugins(content, str(path))
    file, base = extended
    other = check(base, str(file))  # first, so that its mistakes are reported as its own
    study = check(content, str(path))
    if study.study.lower() == other.study.lower():
        raise UserError(
            f"{path}: study: '{study.study}' is the name of the study that it extends; "
            "choose another, results are kept by name"
        )
    return study, other


def load_content(content: dict[str, Any], path: str) -> Study:
    """Check the content of a study file, as :func:`load`; messages call it ``path``."""
    _use_plugins(content, path)
    return check(content, path)


def _use_plugins(content: dict[str, Any], path: str) -> None:
    folders = content.get(yaml_file.FOLDERS)
    if not isinstance(folders, list) or not all(isinstance(f, str) and f for f in folders):
        folders = []
    try:
        outside.use(folders)
    except UserError as error:
        raise UserError(*(f"{path}: {yaml_file.FOLDERS}: {p}" for p in error.problems)) from None


def check(content: dict[str, Any], path: str = "study") -> Study:
    """Check the content of a study file; see :func:`load`."""
    try:
        study = Study.model_validate(content)
    except ValidationError as error:
        problems = plugins.explain(error, Study)
    else:
        problems = [problem for check_section in CHECKS for problem in check_section(study)]
    if problems:
        raise UserError(*(f"{path}: {p}" for p in problems))
    return _complete(study)


def _complete(study: Study) -> Study:
    """Fill in the plugins' defaults, so that writing out a default makes no difference."""
    complete: dict[str, dict[str, Any]] = {
        section: {
            name: {
                module.KEY: settings[module.KEY],
                **module.make(study, name).model_dump(mode="json"),
            }
            for name, settings in getattr(study, section).items()
        }
        for section, module in PLUGINS.items()
    }
    task = None if study.task == CLASSIFICATION else study.task  # most files leave it None
    complete["datasets"] = {
        name: dataset.model_copy(update={"task": task}) for name, dataset in study.datasets.items()
    }
    return study.model_copy(update=complete)
