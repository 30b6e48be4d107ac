"""The typed model of a study file: what may be written there, and what each line means."""

import csv
import difflib
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from divbo import plugins
from divbo.data.sources import source_key
from divbo.errors import UserError

#: Names become folders: they start with a letter or digit and cannot leave the results folder.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


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
    sklearn: Literal["breast_cancer", "digits", "iris", "wine"] | None = Field(
        None, description="a data set that scikit-learn ships"
    )

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

    evaluations: int = Field(250, ge=1, description="evaluated configurations a search")


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
    """YAML's safe loader that refuses a key that is written twice."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
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
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"{path}: cannot be read: {reason}") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
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
        Values that replace those of the file key by key (``snakemake --config``).

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
        raise UserError(_lines(path, "", error, Study)) from None
    problems = [*_settings(study), *_references(study), *_datasets(study)]
    if problems:
        raise UserError("\nerror: ".join(f"{path}: {p}" for p in problems))
    return study.model_copy(
        update={
            "searches": {n: _complete("optimizers", s, "optimizer")
                         for n, s in study.searches.items()},
            "ensembles": {n: _complete("ensembles", e, "type")
                          for n, e in study.ensembles.items()},
        }
    )  # fmt: skip


def optimizer(settings: dict[str, Any]):
    """Make the optimizer of a search's settings, such as ``{"optimizer": "bo"}``."""
    return _plugin("optimizers", settings, "optimizer")


def _plugin(kind: str, settings: dict[str, Any], key: str):
    rest = {k: v for k, v in settings.items() if k != key}
    return plugins.load(kind, settings[key]).model_validate(rest)


def _complete(kind: str, settings: dict[str, Any], key: str) -> dict[str, Any]:
    """Add the defaults, so that a default that is written out makes no difference."""
    return {key: settings[key], **_plugin(kind, settings, key).model_dump(mode="json")}


def _merged(base: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in overrides.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _settings(study: Study) -> list[str]:
    """Check the settings of searches and ensembles against their plugins."""
    problems = []
    if study.space not in (spaces := plugins.available("space")):
        problems.append(f"space: there is no '{study.space}'; {_nearest(study.space, spaces)}")
    for section, kind, key in (
        ("searches", "optimizers", "optimizer"),
        ("ensembles", "ensembles", "type"),
    ):
        for name, settings in getattr(study, section).items():
            where = f"{section}.{name}"
            known = plugins.available(kind)
            if not isinstance(settings.get(key), str):
                problems.append(f"{where}: needs '{key}:', one of {', '.join(known)}")
                continue
            if settings[key] not in known:
                hint = _nearest(settings[key], known)
                problems.append(f"{where}.{key}: there is no '{settings[key]}'; {hint}")
                continue
            try:
                plugin = _plugin(kind, settings, key)
            except ValidationError as error:
                model = plugins.load(kind, settings[key])
                problems.append(_lines("", where, error, model))
                continue
            except UserError as error:
                problems.append(f"{where}: {error}")
                continue
            if section == "searches" and plugin.minimum_evaluations > study.budget.evaluations:
                problems.append(
                    f"budget.evaluations: {study.budget.evaluations} is below what search "
                    f"'{name}' needs for its initial design, {plugin.minimum_evaluations}"
                )
    return problems


def _references(study: Study) -> list[str]:
    problems = []
    pairs: dict[tuple[str, str], str] = {}
    for name, method in study.methods.items():
        for key, known in (("search", study.searches), ("ensemble", study.ensembles)):
            value = getattr(method, key)
            if value not in known:
                plural = {"search": "searches", "ensemble": "ensembles"}[key]
                hint = _nearest(value, list(known))
                problems.append(f"methods.{name}.{key}: '{value}' is not among {plural}; {hint}")
        pair = (method.search, method.ensemble)
        if pair in pairs:
            problems.append(
                f"methods.{name}: the same search and ensemble as '{pairs[pair]}'; remove one"
            )
        pairs.setdefault(pair, name)
    reference = study.report.reference
    if reference is not None and reference not in study.methods:
        hint = _nearest(reference, list(study.methods))
        problems.append(f"report.reference: '{reference}' is not among methods; {hint}")
    total = study.split.train + study.split.validation + study.split.test
    if abs(total - 1) > 1e-9:
        problems.append(f"split: train + validation + test is {total:.10g}; it must be 1")
    return problems


def _datasets(study: Study) -> list[str]:
    problems = []
    sources: dict[str, str] = {}
    for name, dataset in study.datasets.items():
        found = _source(dataset)
        problems.extend(f"datasets.{name}{p}" for p in found)
        if not found:
            other = sources.setdefault(source_key(dataset.source), name)
            if study.datasets[other] != dataset:
                problems.append(f"datasets.{name}: the same source as '{other}', pinned otherwise")
    return problems


def _source(dataset: Dataset) -> list[str]:
    kinds = [k for k in ("openml", "file", "sklearn") if getattr(dataset, k) is not None]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        return [f": needs exactly one of openml, file, sklearn; found {found}"]
    problems = []
    if kinds != ["openml"] and (dataset.version or dataset.md5):
        problems.append(": version and md5 go with 'openml:' only")
    if kinds != ["file"] and dataset.target:
        problems.append(".target: goes with 'file:' only")
    if kinds == ["file"]:
        problems.extend(f".{p}" for p in _file(dataset))
    return problems


def _file(dataset: Dataset) -> list[str]:
    path = Path(dataset.file)
    if not dataset.target:
        return ["target: is missing; name the column that holds the classes"]
    if not path.is_file():
        return [f"file: there is no file '{path}' (relative paths start at {Path.cwd()})"]
    if path.suffix.lower() == ".csv":
        try:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                header = next(csv.reader(stream), [])
        except (OSError, UnicodeDecodeError):
            return [f"file: '{path}' cannot be read as UTF-8 text"]
        if dataset.target not in header:
            hint = _nearest(dataset.target, header)
            return [f"target: '{path}' has no column '{dataset.target}'; {hint}"]
    return []


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(str(word), known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}"


def _lines(path: str, prefix: str, error: ValidationError, model: type[BaseModel]) -> str:
    """Turn pydantic's errors into one line each."""
    lines = []
    for e in error.errors(include_url=False):
        loc = [str(part) for part in e["loc"] if part != "[key]"]
        key = ".".join(([prefix] if prefix else []) + loc) or "study"
        match e["type"]:
            case "extra_forbidden":
                text = f"unknown key; {_nearest(loc[-1], _keys(model, loc[:-1]))}"
            case "missing":
                text = "is missing"
            case "string_pattern_mismatch" if "[key]" in e["loc"] or loc == ["study"]:
                text = (
                    f"'{e['input']}' is no name for a folder: use letters, digits, '.', '_', '-', "
                    "at most 64, the first a letter or digit"
                )
            case "too_short" if not e["input"]:
                text = "is empty; it needs at least one entry"
            case _:
                text = e["msg"].removeprefix("Value error, ")
                text = f"{text[0].lower()}{text[1:]}"
                if not isinstance(e["input"], (dict, list)):
                    text += f"; found {e['input']!r}"
        lines.append(f"{path}: {key}: {text}" if path else f"{key}: {text}")
    return "\nerror: ".join(lines)


def _keys(model: type[BaseModel], loc: list[str]) -> list[str]:
    """List the keys that are known at a place of the study."""
    schema = model.model_json_schema()
    node = schema
    for part in loc:
        entries = list(node.get("patternProperties", {}).values())  # a mapping of free names
        node = node.get("properties", {}).get(part) or (entries[0] if entries else {})
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return list(node.get("properties", {}))


def schema() -> dict[str, Any]:
    """Return the JSON schema of a study file, with the settings of every plugin."""
    result = Study.model_json_schema()
    for section in ("datasets", "searches", "ensembles", "methods"):
        result["properties"][section]["additionalProperties"] = False  # no other names
    for section, kind, key in (
        ("searches", "optimizers", "optimizer"),
        ("ensembles", "ensembles", "type"),
    ):
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
