"""The typed model of a study file: what may be written there, and what each line means."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from divbo import plugins
from divbo.data.sources import BUNDLED, check_file, source_key, source_kind
from divbo.errors import UserError
from divbo.plugins import nearest

#: Names become folders: they start with a letter or digit and cannot leave the results folder.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME)]
#: Sections whose entries are plugins: their folder, and the key that names the plugin.
PLUGINS = {"searches": ("optimizers", "optimizer"), "ensembles": ("ensembles", "type")}


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Dataset(_Model):
    """Where a data set comes from: exactly one of `openml`, `file` and `sklearn`."""

    openml: int | None = Field(None, ge=1, description="id of the data set at OpenML")
    version: int | None = Field(None, ge=1, description="expected version at OpenML")
    md5: str | None = Field(
        None, pattern="^[0-9a-f]{32}$", description="expected MD5 of the ARFF file"
    )
    file: str | None = Field(
        None, min_length=1, description="a CSV, Parquet or ARFF file, relative to the work folder"
    )
    target: str | None = Field(None, min_length=1, description="target column of `file`")
    sklearn: Literal[BUNDLED] | None = Field(None, description="a data set that scikit-learn ships")

    @property
    def source(self) -> dict[str, Any]:
        """The source as written, without the keys that are not set."""
        return self.model_dump(exclude_none=True)


class Split(_Model):
    """Stratified split into training, validation and test rows."""

    train: float = Field(0.6, gt=0, lt=1)
    validation: float = Field(0.2, gt=0, lt=1)
    test: float = Field(0.2, gt=0, lt=1)
    resample: Literal["never", "per-repeat"] = Field(
        "never", description="one split a data set, as in the paper, or another for every repeat"
    )
    seed: int = Field(1, ge=0)


class Budget(_Model):
    """How long a search goes on."""

    evaluations: int = Field(
        250, ge=1, le=1_000_000, description="evaluated configurations a search"
    )


class Limits(_Model):
    """What one evaluation may take; beyond it the evaluation fails and the search goes on."""

    seconds: float = Field(
        300,
        gt=0,
        description="CPU seconds a thread to fit and predict; by the clock: twice that and 5 s, "
        "without the time spent waiting for a processor",
    )
    memory_mb: int = Field(4096, ge=512, description="resident memory of the worker, in MiB")


class Method(_Model):
    """A row of the tables: what an ensemble makes of a search."""

    search: str
    ensemble: str


class OpenML(_Model):
    """How OpenML is reached; none of it changes a result."""

    server: str | None = Field(None, description="address of another server's XML interface")
    cache: str | None = Field(None, description="a filled cache folder of the openml client")
    tries: int = Field(5, ge=1, description="attempts a download, with growing pauses between")

    @field_validator("cache")
    @classmethod
    def _home(cls, folder: str | None) -> str | None:
        return None if folder is None else os.path.expanduser(folder)


class Report(_Model):
    """What the report shows."""

    reference: str | None = Field(
        None, description="method that the others are compared with (default: DivBO, or the last)"
    )


class Study(_Model):
    """A study: methods × data sets × repeats."""

    study: Name = Field(description="name of the study: its results are in results/<study>/")
    datasets: dict[Name, Dataset] = Field(min_length=1)
    searches: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="name -> `optimizer` and its settings"
    )
    ensembles: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="name -> `type` and its settings"
    )
    methods: dict[Name, Method] = Field(min_length=1)
    repeats: int = Field(10, ge=1, description="searches with different seeds a data set")
    seed: int = Field(0, ge=0, description="repeat r of every search draws from (seed, r)")
    space: str = Field("divbo", description="configuration space: a file in divbo/space/")
    budget: Budget = Budget()
    limits: Limits = Limits()
    split: Split = Split()
    openml: OpenML = OpenML()
    report: Report = Report()

    def used(self, kind: Literal["search", "ensemble"]) -> list[str]:
        """Names of the searches or ensembles that some method uses, in the order of the methods."""
        return list(dict.fromkeys(getattr(m, kind) for m in self.methods.values()))

    def split_name(self, repeat: int) -> str:
        """Folder of the split that a repeat uses: ``fixed`` or ``repeat-<r>``."""
        return "fixed" if self.split.resample == "never" else f"repeat-{repeat}"


class _Loader(yaml.SafeLoader):
    """YAML's safe loader; one line for keys that are no text or stand twice, and broken values."""

    def construct_object(self, node, deep=False):
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            # A date such as 2024-13-45, or a tag such as !!int on something else.
            line = node.start_mark.line + 1
            raise UserError(f"line {line}: a value that cannot be read: {error}") from None

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                raise UserError(f"line {line}: a key must be plain text, no list or mapping")
            if key.value in seen:
                line = key.start_mark.line + 1
                raise UserError(f"line {line}: key '{key.value}' is written twice; keep one")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file safely.

    Raises
    ------
    UserError
        If it is missing, is no mapping, is no YAML, or has a key twice.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        content = yaml.load(text, Loader=_Loader)  # noqa: S506
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"{path}: cannot be read: {reason}") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: not valid YAML: nested too deeply") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = f"the character U+{error.character:04X}"
        raise UserError(f"{path}: line {line}: not valid YAML: {character}; remove it") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise UserError(f"{path}: {where}not valid YAML: {error.problem}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a study is a mapping of keys to values (study, datasets, ...)")
    return content


def load(path: Path | str, overrides: dict[str, Any] | None = None) -> Study:
    """Read and check a study file.

    Parameters
    ----------
    path
        The YAML file.
    overrides
        Values that replace those of the file key by key (``snakemake --config``); text in them is
        read as in a file, so that ``{"budget": {"evaluations": "50"}}`` gives a number.

    Raises
    ------
    UserError
        With one line for every mistake: the file, the key, what is wrong, what would be right.
    """
    return check(_merged(read_yaml(Path(path)), overrides or {}), str(path))


def check(content: dict[str, Any], path: str = "study") -> Study:
    """Check the content of a study file; see :func:`load`."""
    try:
        study = Study.model_validate(content)
    except ValidationError as error:
        problems = plugins.explain(error, Study)
    else:
        problems = [*_settings(study), *_references(study), *_datasets(study)]
    if problems:
        raise UserError(plugins.AND.join(f"{path}: {p}" for p in problems))
    return study.model_copy(
        update={
            section: {n: _complete(*plugin, s) for n, s in getattr(study, section).items()}
            for section, plugin in PLUGINS.items()
        }
    )


def optimizer(settings: dict[str, Any]):
    """Make the optimizer of a search's settings, such as ``{"optimizer": "bo"}``."""
    return plugins.make("optimizers", settings, "optimizer", "search")


def _complete(kind: str, key: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Add the defaults, so that a default that is written out makes no difference."""
    made = plugins.make(kind, settings, key, key)
    return {key: settings[key], **made.model_dump(mode="json")}


def _merged(base: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in overrides.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else _typed(value)
    return merged


def _typed(value: Any) -> Any:
    """Read numbers, booleans and null as YAML does: Snakemake hands inner values over as text."""
    if isinstance(value, dict):
        return {k: _typed(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_typed(v) for v in value]
    if not isinstance(value, str):
        return value
    try:
        read = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        return value
    return read if read is None or isinstance(read, (bool, int, float)) else value


def _settings(study: Study) -> list[str]:
    """Check the settings of searches and ensembles against their plugins."""
    problems = []
    if study.space not in (spaces := plugins.available("space")):
        problems.append(f"space: there is no '{study.space}'; {nearest(study.space, spaces)}")
    else:
        try:
            plugins.load("space", study.space)
        except UserError as error:
            problems.append(f"space: {error}")
    for section, (kind, key) in PLUGINS.items():
        for name, settings in getattr(study, section).items():
            try:
                plugin = plugins.make(kind, settings, key, f"{section}.{name}")
            except UserError as error:
                problems.extend(str(error).split(plugins.AND))
                continue
            if section == "searches" and plugin.minimum_evaluations > study.budget.evaluations:
                problems.append(
                    f"budget.evaluations: {study.budget.evaluations} is below what search "
                    f"'{name}' needs for its initial design and one suggestion, "
                    f"{plugin.minimum_evaluations}"
                )
    return problems


def _references(study: Study) -> list[str]:
    problems = []
    if study.study.lower() == "data":
        problems.append(
            f"study: '{study.study}' is taken: results/data has the downloads; choose another name"
        )
    if study.openml.cache is not None and not Path(study.openml.cache).is_dir():
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


def _datasets(study: Study) -> list[str]:
    problems = []
    sources: dict[str, str] = {}
    for name, dataset in study.datasets.items():
        where = f"datasets.{name}"
        try:
            source_kind(dataset.source, where)
        except UserError as error:
            problems.append(str(error))
            continue
        if dataset.file is not None:
            try:
                check_file(dataset.file, dataset.target)
            except UserError as error:
                problems.append(f"{where}.{error}")
        other = sources.setdefault(source_key(dataset.source), name)
        if study.datasets[other] != dataset:
            problems.append(f"{where}: the same source as '{other}', pinned otherwise")
    return problems


def schema() -> dict[str, Any]:
    """Return the JSON schema of a study file, with the settings of every plugin."""
    result = Study.model_json_schema()
    for section in ("datasets", "searches", "ensembles", "methods"):
        result["properties"][section]["additionalProperties"] = False  # no other names
    for section, (kind, key) in PLUGINS.items():
        choices = []
        for name in plugins.available(kind):
            choice = plugins.load(kind, name).model_json_schema()
            choice["properties"] = {key: {"const": name}, **choice.get("properties", {})}
            choice["required"] = [key, *choice.get("required", [])]
            choices.append(choice)
        result["properties"][section]["patternProperties"] = {NAME: {"anyOf": choices}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result}


if __name__ == "__main__":
    json.dump(schema(), sys.stdout, indent=2, sort_keys=True)
    print()
