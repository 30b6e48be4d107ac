"""The typed model of a study file: its keys and their meaning."""

import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ensemble_search.data import roles
from ensemble_search.data.sources import (
    BUNDLED,
    LARGEST_ID,
    check_file,
    source_key,
    source_kind,
)
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.plugins import nearest
from ensemble_search.study import yaml_file

#: Names become folders: they start with a letter or digit and cannot leave the results folder.
NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$"
Name = Annotated[str, Field(pattern=NAME)]
#: Folders of results/ that belong to no study.
TAKEN = {"data": "the downloads", "slurm": "the logs of SLURM"}
#: Names that Windows reserves for devices, with any extension.
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
#: Maximum number of jobs in a study: Snakemake plans some hundreds per second.
JOBS = 100_000
#: Largest seed: tables have 64 bits.
SEED = 2**63 - 1
#: Largest OpenML id; there are thousands.
NUMBER = 1_000_000_000
#: Largest limits, far beyond any machine: 32 years, 1 PB.
SECONDS, MEMORY_MB = 1e9, 1_000_000_000
#: Sections whose entries are plugins: their folder, and the key that names the plugin.
PLUGINS = {"searches": ("optimizers", "optimizer"), "ensembles": ("ensembles", "type")}


#: Sections whose entries have free names.
SECTIONS = ("datasets", "searches", "ensembles", "methods")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Columns(_Model):
    """How columns are taken, where it is to be otherwise than their values say."""

    drop: list[str] = Field([], description="left out")
    numeric: list[str] = Field([], description="numbers; what is none is missing")
    categorical: list[str] = Field([], description="categories, numbers too")
    date: list[str] = Field([], description="dates; what is none is missing")


class Dataset(_Model):
    """Where a data set comes from: exactly one of `openml`, `file` and `sklearn`."""

    openml: int | None = Field(
        None, ge=1, le=LARGEST_ID, description="id of the data set at OpenML"
    )
    version: int | None = Field(None, ge=1, le=LARGEST_ID, description="expected version at OpenML")
    md5: str | None = Field(
        None, pattern="^[0-9a-f]{32}$", description="expected MD5 of the ARFF file"
    )
    file: str | None = Field(
        None, min_length=1, description="a CSV, Parquet or ARFF file, relative to the work folder"
    )
    target: str | None = Field(None, min_length=1, description="target column of `file`")
    sklearn: Literal[BUNDLED] | None = Field(None, description="a data set that scikit-learn ships")
    columns: Columns | None = Field(None, description="names of columns that are taken otherwise")

    @field_validator("columns")
    @classmethod
    def _plain(cls, columns: Columns | None) -> Columns | None:
        """Sort columns, and drop the key if it is empty."""
        lists = {role: sorted(names) for role, names in columns or () if names}
        return Columns(**lists) if lists else None

    @property
    def source(self) -> dict[str, Any]:
        """The source as written, without what is not set."""
        return self.model_dump(exclude_none=True, exclude_defaults=True)


class Split(_Model):
    """Stratified split into training, validation and test rows."""

    train: float = Field(0.6, gt=0, lt=1)
    validation: float = Field(0.2, gt=0, lt=1)
    test: float = Field(0.2, gt=0, lt=1)
    resample: Literal["never", "per-repeat"] = Field(
        "never", description="one split a data set, as in the paper, or another for every repeat"
    )
    seed: int = Field(1, ge=0, le=SEED)


class Budget(_Model):
    """How long a search goes on: exactly one of `evaluations` and `seconds`."""

    evaluations: int | None = Field(
        None, ge=1, le=1_000_000, description="evaluated configurations a search"
    )
    seconds: float | None = Field(
        None,
        gt=0,
        le=SECONDS,
        description="seconds (by the clock) of fitting and predicting a search, over all its "
        "evaluations; the last one may go beyond; not deterministic",
    )

    @model_validator(mode="after")
    def _one(self) -> "Budget":
        if (self.evaluations is None) == (self.seconds is None):
            raise ValueError(
                "needs 'evaluations' or 'seconds'"
                if self.seconds is None
                else "takes 'evaluations' or 'seconds', not both; set the other to null"
            )
        return self


class Limits(_Model):
    """What one evaluation may take; beyond it the evaluation fails and the search goes on."""

    seconds: float = Field(
        300,
        gt=0,
        le=SECONDS,
        description="CPU seconds a thread to fit and predict; by the clock: twice that and 5 s, "
        "without the time spent waiting for a processor",
    )
    memory_mb: int = Field(
        4096, ge=512, le=MEMORY_MB, description="resident memory of the worker, in MiB"
    )


class Method(_Model):
    """A row of the tables: what an ensemble makes of a search."""

    search: str
    ensemble: str


class OpenML(_Model):
    """How OpenML is reached; none of it changes a result."""

    server: str | None = Field(None, description="address of another server's XML interface")
    cache: str | None = Field(None, description="a filled cache folder of the openml client")
    tries: int = Field(5, ge=1, description="attempts a download, with growing pauses between")
    max_mb: int = Field(
        2000, ge=1, description="largest size of a data set's file, unpacked, in MB (10^6 bytes)"
    )
    max_seconds: float = Field(
        3600, gt=0, description="seconds for a data set, with all tries and pauses"
    )
    min_kb_per_second: float = Field(
        10,
        gt=0,
        description="a try has failed that brings fewer kB (10^3 bytes, unpacked) a second than "
        "this over a minute",
    )

    @field_validator("server")
    @classmethod
    def _address(cls, server: str | None) -> str | None:
        if server is None:
            return None
        from ensemble_search.data.openml_client import ADDRESS  # reading other studies is cheaper

        if not ADDRESS.fullmatch(server):
            raise ValueError("is no address, such as https://openml.example.org/api/v1/xml")
        return server

    @field_validator("cache")
    @classmethod
    def _home(cls, folder: str | None) -> str | None:
        return None if folder is None else os.path.expanduser(folder)


class Report(_Model):
    """What the report shows."""

    reference: str | None = Field(
        None, description="method that the others are compared with (default: DivBO, or the last)"
    )


class Surrogates(_Model):
    """Evaluation of surrogates on random configurations (DivBO paper, Figure 2)."""

    names: list[str] = Field(min_length=1, description="files in ensemble_search/surrogates/")
    datasets: list[str] | None = Field(
        None, min_length=1, description="data sets of the study (default: all)"
    )
    repeats: int = Field(10, ge=1, le=10_000, description="shuffles of the configurations")
    sizes: list[Annotated[int, Field(ge=2, le=100_000)]] = Field(
        list(range(25, 251, 25)), min_length=1, description="configurations to fit on"
    )
    configurations: int = Field(
        300,
        ge=5,
        le=100_000,
        description="random configurations a data set, failed ones not counted",
    )
    held_out: int = Field(
        50, ge=3, le=100_000, description="configurations to predict, the same for all sizes"
    )


class AutoGluon(_Model):
    """AutoGluon itself, once a data set; needs `make autogluon` (or `--sdm conda`)."""

    seconds: float = Field(600, gt=0, le=SECONDS, description="its time limit a data set")


class Study(_Model):
    """A study: methods × data sets × repeats."""

    study: Name = Field(description="name of the study: its results are in results/<study>/")
    extends: str | None = Field(
        None,
        min_length=1,
        description="another study file, relative to this one: keys that are not written here are "
        "its keys, searches and ensembles are added to its own, and searches that are the same "
        "are shared",
    )
    datasets: dict[Name, Dataset] = Field(min_length=1)
    searches: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="name -> `optimizer` and its settings"
    )
    ensembles: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="name -> `type` and its settings"
    )
    methods: dict[Name, Method] = Field(min_length=1)
    repeats: int = Field(
        10, ge=1, le=10_000, description="searches with different seeds a data set"
    )
    seed: int = Field(0, ge=0, le=SEED, description="repeat r of every search draws from (seed, r)")
    space: str = Field(
        "divbo", description="configuration space: a file in ensemble_search/spaces/"
    )
    metric: str = Field(
        "error", description="loss that searches and ensembles minimise: a file in metrics/"
    )
    budget: Budget = Budget(evaluations=250)
    limits: Limits = Limits()
    split: Split = Split()
    openml: OpenML = OpenML()
    report: Report = Report()
    autogluon: AutoGluon | None = Field(
        None, description="also run AutoGluon, to compare with (default: no)"
    )
    surrogates: Surrogates | None = Field(
        None, description="evaluation of surrogates; without it none is evaluated"
    )

    def used(self, kind: Literal["search", "ensemble"]) -> list[str]:
        """Names of the searches or ensembles that some method uses, in the order of the methods."""
        return list(dict.fromkeys(getattr(m, kind) for m in self.methods.values()))

    def split_name(self, repeat: int) -> str:
        """Folder of the split that a repeat uses: ``fixed`` or ``repeat-<r>``."""
        return "fixed" if self.split.resample == "never" else f"repeat-{repeat}"


def load(path: Path | str, overrides: dict[str, Any] | None = None) -> Study:
    """Read and check a study file.

    Parameters
    ----------
    path
        The YAML file.
    overrides
        Values that replace those of the file key by key (``snakemake --config``); strings in them
        are parsed as in a file, so that ``{"budget": {"evaluations": "50"}}`` is a number.

    Raises
    ------
    UserError
        With one line per mistake: the file, the key, the problem and the fix.
    """
    return load_extending(path, overrides)[0]


def load_extending(
    path: Path | str, overrides: dict[str, Any] | None = None
) -> tuple[Study, Study | None]:
    """Read and check a study file, and the study that it extends as in its own file.

    The parameters and errors are those of :func:`load`; the second study is None without
    ``extends``.
    """
    content, extended = yaml_file.read(Path(path), overrides)
    if extended is None:
        return check(content, str(path)), None
    file, base = extended
    other = check(base, str(file))  # first, so that its mistakes are reported as its own
    study = check(content, str(path))
    if study.study.lower() == other.study.lower():
        raise UserError(
            f"{path}: study: '{study.study}' is the name of the study that it extends; "
            "choose another, results are kept by name"
        )
    return study, other


def check(content: dict[str, Any], path: str = "study") -> Study:
    """Check the content of a study file; see :func:`load`."""
    try:
        study = Study.model_validate(content)
    except ValidationError as error:
        problems = plugins.explain(error, Study)
    else:
        problems = [
            *_names(study),
            *_settings(study),
            *_references(study),
            *_datasets(study),
            *_surrogates(study),
            *_jobs(study),
        ]
    if problems:
        raise UserError(*(f"{path}: {p}" for p in problems))
    sections = {section: {n: _complete(study, section, n) for n in getattr(study, section)}
                for section in PLUGINS}  # fmt: skip
    return study.model_copy(update=sections)


def optimizer(settings: dict[str, Any]):
    """Create the optimizer of a search's settings, such as ``{"optimizer": "bo"}``."""
    return plugins.make("optimizers", settings, "optimizer", "search")


def _complete(study: Study, section: str, name: str) -> dict[str, Any]:
    """Add the defaults, so that writing out a default makes no difference."""
    _, key = PLUGINS[section]
    settings = getattr(study, section)[name]
    return {key: settings[key], **_make(study, section, name).model_dump(mode="json")}


def _make(study: Study, section: str, name: str):
    """Create a plugin of the study; the optimizer of a search in use gets the budget."""
    kind, key = PLUGINS[section]
    made = plugins.make(kind, getattr(study, section)[name], key, f"{section}.{name}")
    if section == "ensembles" or name not in study.used("search"):
        return made
    evaluations = study.budget.evaluations
    try:
        made = made.planned(evaluations)
    except UserError as error:
        raise UserError(f"{section}.{name}.{error}") from None
    if made.minimum_evaluations > (evaluations or math.inf):
        raise UserError(
            f"budget.evaluations: {evaluations} is below what search '{name}' needs for its "
            f"initial design and one suggestion, {made.minimum_evaluations}"
        )
    return made


def _names(study: Study) -> list[str]:
    """Check that names are unique folder names, also if case is ignored."""
    names = {"study": [study.study]}
    names |= {section: list(getattr(study, section)) for section in SECTIONS}
    problems = []
    for section, entries in names.items():
        seen: dict[str, str] = {}
        for name in entries:
            where = section if section == "study" else f"{section}.{name}"
            if DEVICES.fullmatch(name):
                problems.append(f"{where}: '{name}' is a device's name on Windows; choose another")
            other = seen.setdefault(name.lower(), name)
            if other != name:
                problems.append(
                    f"{where}: differs from '{other}' in case only, which some file systems do not "
                    "tell apart; choose another name"
                )
    return problems


def _jobs(study: Study) -> list[str]:
    """Check that Snakemake can plan the jobs."""
    datasets, surrogates = len(study.datasets), study.surrogates
    jobs = datasets * study.repeats * (len(study.used("search")) + len(study.methods))
    problems = []
    if jobs > JOBS:
        problems.append(
            f"repeats: {jobs:,} jobs (data sets x repeats x (searches + methods)) are too many for "
            f"one study; at most {JOBS:,}"
        )
    if surrogates:
        jobs = len(surrogates.datasets or study.datasets) * surrogates.repeats
        if (jobs := jobs * len(surrogates.names)) > JOBS:
            problems.append(
                f"surrogates.repeats: {jobs:,} jobs (data sets x repeats x names) are too many for "
                f"one study; at most {JOBS:,}"
            )
    return problems


def _settings(study: Study) -> list[str]:
    """Check the settings of searches and ensembles against their plugins."""
    problems = []
    for key, kind in (("space", "spaces"), ("metric", "metrics")):
        name, known = getattr(study, key), plugins.available(kind)
        if name not in known:
            problems.append(f"{key}: there is no '{name}'; {nearest(name, known)}")
            continue
        try:
            plugin = plugins.load(kind, name)
        except UserError as error:
            problems.append(f"{key}: {error}")
            continue
        if key == "metric" and not plugin.percent:
            shown = [other for other in known if plugins.load(kind, other).percent]
            problems.append(
                f"metric: '{name}' is no share, and reports show losses in percent; "
                f"one of {', '.join(shown)}"
            )
    for section in PLUGINS:
        for name in getattr(study, section):
            try:
                _make(study, section, name)
            except UserError as error:
                problems.extend(error.problems)
    return problems


def _references(study: Study) -> list[str]:
    problems = []
    if content := TAKEN.get(name := study.study.lower()):
        problems.append(
            f"study: '{study.study}' is taken: results/{name} has {content}; choose another name"
        )
    if study.openml.cache is not None and not os.path.isdir(study.openml.cache):
        problems.append(f"openml.cache: there is no folder '{study.openml.cache}'")
    pairs: dict[tuple[str, str], str] = {}
    for name, method in study.methods.items():
        for key, known in (("search", study.searches), ("ensemble", study.ensembles)):
            value = getattr(method, key)
            if value not in known:
                plural = {"search": "searches", "ensemble": "ensembles"}[key]
                hint = nearest(value, list(known))
                problems.append(f"methods.{name}.{key}: '{value}' is not among {plural}; {hint}")
        pair = (method.search, method.ensemble)
        if pair in pairs:
            problems.append(
                f"methods.{name}: the same search and ensemble as '{pairs[pair]}'; remove one"
            )
        pairs.setdefault(pair, name)
    reference = study.report.reference
    if reference is not None and reference not in study.methods:
        hint = nearest(reference, list(study.methods))
        problems.append(f"report.reference: '{reference}' is not among methods; {hint}")
    total = study.split.train + study.split.validation + study.split.test
    if abs(total - 1) > 1e-9:
        problems.append(f"split: train + validation + test is {total:.10g}; it must be 1")
    return problems


def _surrogates(study: Study) -> list[str]:
    problems = []
    section = study.surrogates
    if section is None:
        return problems
    known = plugins.available("surrogates")
    for name in section.names:
        if name not in known:
            problems.append(f"surrogates.names: there is no '{name}'; {nearest(name, known)}")
            continue
        try:
            plugins.load("surrogates", name)
        except UserError as error:
            problems.append(f"surrogates.names: {error}")
    for name in section.datasets or []:
        if name not in study.datasets:
            hint = nearest(name, list(study.datasets))
            problems.append(f"surrogates.datasets: '{name}' is not among datasets; {hint}")
    for key in ("names", "datasets", "sizes"):
        values = getattr(section, key) or []
        twice = next((v for i, v in enumerate(values) if v in values[:i]), None)
        if twice is not None:
            problems.append(f"surrogates.{key}: '{twice}' is written twice; keep one")
    largest, held_out = max(section.sizes), section.held_out
    if largest + held_out > section.configurations:
        problems.append(
            f"surrogates.configurations: {section.configurations} are too few to fit on {largest} "
            f"of them and to hold {held_out} out; {largest + held_out} are needed"
        )
    return problems


def _datasets(study: Study) -> list[str]:
    problems = []
    sources: dict[str, str] = {}
    for name, dataset in study.datasets.items():
        where = f"datasets.{name}"
        try:
            source_kind(dataset.source, where)
        except UserError as error:
            problems.extend(error.problems)
            continue
        if dataset.file is not None:
            try:
                names = check_file(dataset.file, dataset.target)
                roles.check_names(dataset.source.get("columns", {}), names, dataset.target)
            except UserError as error:
                problems.extend(f"{where}.{line}" for line in error.problems)
        other = sources.setdefault(source_key(dataset.source), name)
        if study.datasets[other] != dataset:
            problems.append(f"{where}: the same source as '{other}', pinned otherwise")
    return problems


def schema() -> dict[str, Any]:
    """Return the JSON schema of a study file, with the settings of every plugin."""
    result = Study.model_json_schema()
    for section in SECTIONS:
        result["properties"][section]["additionalProperties"] = False  # no other names
    for section, (kind, key) in PLUGINS.items():
        choices = []
        for name in plugins.available(kind):
            choice = plugins.load(kind, name).model_json_schema()
            choice["properties"] = {key: {"const": name}, **choice.get("properties", {})}
            choice["required"] = [key, *choice.get("required", [])]
            choices.append(choice)
        result["properties"][section]["patternProperties"] = {NAME: {"anyOf": choices}}
    # A study that extends another inherits missing keys.
    required = [key for key in result["required"] if key != "study"]
    result["required"] = ["study"]
    result["if"] = {"properties": {"extends": {"type": "string"}}, "required": ["extends"]}
    result["else"] = {"required": required}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result}


if __name__ == "__main__":
    json.dump(schema(), sys.stdout, indent=2, sort_keys=True)
    print()
