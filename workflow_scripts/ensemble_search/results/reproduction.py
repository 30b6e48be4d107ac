"""Rerunning a study from its manifest: differences in environments and tables."""

import csv
import importlib.util
import json
import math
import os
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ensemble_search.results import manifest
from ensemble_search.runtime import files, outside, plugins, provenance
from ensemble_search.runtime.errors import UserError
from ensemble_search.study.model import Study
from ensemble_search.study.sections.names import Name

#: Folder for a manifest's code from outside, below the folder in which its study is rerun.
PLUGINS = "plugins"
#: Tables of measurements or of the environment, and such columns in other tables.
IGNORED_TABLES = re.compile(r"time|origins|settings|.*-seconds")
IGNORED_COLUMNS = re.compile(r"(.*_)?(milliseconds|seconds|hours|memory_mb|message)")


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable text")
    return text


Line = Annotated[str, Field(max_length=200), AfterValidator(_printable)]


class _Part(BaseModel):
    # Later versions may add keys; only the keys that are used are checked.
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class Searches(_Part):
    """The software and machines that a study's searches used."""

    ran_with: list[dict[str, Any]]


class Data(_Part):
    """A data set of a study, as in its ``dataset.json``."""

    version: int | None
    md5: Line | None
    checksum: Line
    rows: int
    features: int


class Plugins(_Part):
    """Code from outside that a study uses; see ``manifest.plugins``."""

    files: dict[
        Annotated[
            str,
            Field(max_length=200, pattern=rf"^({'|'.join(outside.KINDS)})(/[A-Za-z_]\w*)+\.py$"),
        ],
        str,
    ]
    packages: dict[Annotated[str, Field(max_length=200, pattern=r"^_?[A-Za-z]\w*$")], Line]


class Manifest(_Part):
    """The keys of a manifest that are used; the study model checks its study."""

    study_hash: Line
    written: Line
    commit: Annotated[str, Field(pattern="^[0-9a-f]{1,64}$")] | None
    dirty: bool | None
    versions: dict[Line, Line]
    machine: dict[Line, Line | int | None]
    searches: Searches
    data: dict[Name, Data]
    shared: dict[str, Any]
    #: Files in one folder.
    tables: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,250}\.csv$")], Line]
    plugins: Plugins | None = None
    study: dict[str, Any]


@dataclass(frozen=True)
class Compared:
    """How two tables compare."""

    cells: int = 0  #: number of cells compared
    differ: int = 0  #: number of cells that differ, as text
    largest: float = 0.0  #: largest absolute difference among numbers that differ; 0 if none do
    reason: str = ""  #: why the cells could not be compared; empty if they were

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differ and not self.reason

    def __str__(self) -> str:
        if self.reason:
            return self.reason
        if self.equal:
            return f"equal ({self.cells} cells)"
        return f"{self.differ} of {self.cells} cells differ, numbers by up to {self.largest:.3g}"


def read(path: Path) -> dict[str, Any]:
    """Read a manifest; UserError if it is missing, damaged or not a manifest.

    Invalid names in it, such as a study ``../x``, are rejected here, before they are used to write
    or read anything.
    """
    bad = f"'{path}' is not a manifest of a study"
    if not os.path.isfile(path):
        raise UserError(
            f"there is no manifest '{path}'; a study's is results/<study>/manifest.json"
        )
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(made, ensure_ascii=False).encode()  # lone surrogates are not valid text
    except (ValueError, RecursionError):
        raise UserError(f"'{path}' is damaged: it is not JSON; take it from its origin") from None
    if not isinstance(made, dict) or not isinstance(made.get("study"), dict):
        raise UserError(f"{bad}, such as results/<study>/manifest.json")
    if (found := made.get("format", files.FORMAT)) != files.FORMAT:
        raise UserError(
            f"'{path}' has the format {found!r}, and this version reads {files.FORMAT}; check out "
            "its commit"
        )
    needed = {name for name, field in Manifest.model_fields.items() if field.is_required()}
    if lacking := needed - set(made):
        raise UserError(f"{bad}: key '{min(lacking)}' is missing")
    _checked(Manifest, made, f"{bad}: ")
    content = _checked(Study, made["study"], f"{bad}: study: ")
    if manifest.study_hash(made["study"]) != made["study_hash"]:
        raise UserError(
            f"'{path}' was changed: its study is not that of its study_hash; take it from its "
            "origin, or run the changed study as a study"
        )
    if set(made["data"]) != set(made["study"]["datasets"]):
        raise UserError(f"{bad}: 'data' are not those of its study")
    code = {"files": {}, "packages": {}, **(made.get("plugins") or {})}
    return {**made, "plugins": code, "study": content.model_dump(mode="json")}


def originals(made: Mapping[str, Any], folder: Path) -> None:
    """Raise UserError unless the tables of a manifest are in ``folder``, unchanged."""
    for name, checksum in made["tables"].items():
        path = folder / name
        if not os.path.isfile(path):
            raise UserError(
                f"there is no table '{path}' to compare with; keep report/tables/ beside the "
                "manifest"
            )
        if files.sha256(path) != checksum:
            raise UserError(f"'{path}' is not the table that the manifest was written for")
        _read(path)


def study(made: Mapping[str, Any], home: Path, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Create the study of a manifest, to rerun it.

    ``home`` and ``folder`` are the folders in which the study ran, to which paths of data are
    relative, and is rerun. Returns the study with all defaults, without ``deliver`` and ``extends``
    (it recomputes shared searches), and necessary changes, one line each. UserError if a data file
    is missing, or is outside ``home`` and its MD5 is not the manifest's.
    """
    content, notes = dict(made["study"]), []
    content.pop("extends", None)
    if content.pop("deliver", None):
        notes.append("deliver: left out; no table depends on the delivered ensemble")
    content["plugins"] = [PLUGINS] if made["plugins"]["files"] else []
    content["datasets"] = {}
    for name, source in made["study"]["datasets"].items():
        paths = {key: home / source[key] for key in ("file", "test") if source.get(key)}
        for key, file in paths.items():
            if not os.path.isfile(file):
                raise UserError(
                    f"datasets.{name}.{key}: there is no file '{file}'; it is looked for from the "
                    "folder above the manifest's results/, where the study ran"
                )
        # An untrusted manifest may name any file on this machine.
        outside = [f for f in paths.values() if not f.resolve().is_relative_to(home.resolve())]
        sums = map(files.md5, paths.values() if outside else ())
        if outside and files.joined_md5([*sums]) != made["data"][name]["md5"]:
            raise UserError(
                f"datasets.{name}.file: '{outside[0]}' lies outside '{home}', where the study ran, "
                "and is not the file of the manifest"
            )
        here = {key: os.path.relpath(file, folder) for key, file in paths.items()}
        content["datasets"][name] = {**source, **here}
    evaluation = content.get("evaluation", {})
    own = f"results/{content['study']}/tables" if content.get("tables") else None

    def there(key: str, tables: str) -> str:
        if os.path.normpath(tables) == own:
            return tables
        if not os.path.isdir(home / tables):
            raise UserError(f"evaluation.{key}: there are no tables in '{home / tables}'")
        return os.path.relpath(home / tables, folder)

    if evaluation.get("replay"):
        content["evaluation"] = {"replay": there("replay", evaluation["replay"])}
    if given := evaluation.get("warm_start"):
        here = {search: there(f"warm_start.{search}", tables) for search, tables in given.items()}
        content["evaluation"] = {"warm_start": here}
    openml = content["openml"]
    if (cache := openml.get("cache")) and not os.path.isdir(cache):
        content["openml"] = {**openml, "cache": None}
        notes.append(f"openml.cache: there is no folder '{cache}' here; OpenML itself is asked")
    for key in ("seconds", "cpu_seconds"):
        if content["budget"].get(key):
            notes.append(f"budget.{key}: how much fits into it depends on the machine")
    return content, notes


def write_plugins(made: Mapping[str, Any], folder: Path, trusted: bool) -> None:
    """Write a manifest's code from outside below ``folder``, where the study is rerun.

    UserError if it is not ``trusted`` to run here, a package is not installed, or the folder holds
    other code.
    """
    for name, there in made["plugins"]["packages"].items():
        if importlib.util.find_spec(name) is None:
            raise UserError(f"plugins: package '{name}' {there} is not installed here; install it")
    texts, root = made["plugins"]["files"], folder / PLUGINS
    paths = {root / name: text for name, text in texts.items()}
    for path in sorted({*root.rglob("*.py"), *paths}):
        if path not in paths:
            raise UserError(f"'{path}' is not of the manifest; remove it, or name another folder")
        if path.resolve() != folder.resolve() / path.relative_to(folder):
            raise UserError(f"'{path}' is, or lies behind, a link; remove it")
    for path, text in paths.items():
        with files.atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if texts and not trusted:
        raise UserError(
            f"the manifest has code of its own, which would run here: {', '.join(sorted(texts))}; "
            f"read it in '{root}', then run the same command with TRUST=yes (--trust)"
        )


def check_folder(folder: Path, name: str) -> None:
    """Raise UserError if a link would lead results for study ``name`` out of ``folder``."""
    for part in ("study.yaml", ".snakemake", "results", "results/data", f"results/{name}"):
        if (folder / part).is_symlink():
            raise UserError(f"'{folder / part}' is a link; remove it, results are written there")


def differences(made: Mapping[str, Any]) -> list[str]:
    """Describe how code, packages and machine differ from the manifest, one line each."""
    here, lines = provenance.commit(), []
    if made["commit"] != here["commit"]:
        there, now = (own["commit"] or "not known" for own in (made, here))
        lines.append(f"commit: {there} there, {now} here")
    for own, where in ((made, "there"), (here, "here")):
        if own["dirty"]:
            lines.append(f"commit: with uncommitted changes {where}")
    lines += _unlike("", made["versions"], manifest.versions())
    packages = made["plugins"]["packages"]
    lines += _unlike("plugins: ", packages, provenance.further(sorted(packages)))
    lines += _unlike("machine: ", made["machine"], provenance.machine(), but={"host"})
    if (several := len(made["searches"]["ran_with"])) > 1:
        lines.append(
            f"searches: there they ran with {several} different sets of commit, versions and "
            "machine (searches.ran_with in the manifest)"
        )
    return lines


def unlike_data(made: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Describe which data sets differ from the manifest, one line each."""
    lines = []
    for name, there in made["data"].items():
        here = found[name]
        if there["checksum"] != here["checksum"]:
            keys = [k for k in ("version", "md5", "rows", "features") if there[k] != here[k]]
            facts = ", ".join(f"{k} {there[k]} there, {here[k]} here" for k in keys)
            lines.append(f"data of '{name}': another content" + (f" ({facts})" if facts else ""))
    return lines


def compare(there: Path, here: Path) -> dict[str, Compared]:
    """Compare two folders of tables by file name, cell by cell.

    Measured columns and tables are ignored (:data:`IGNORED_COLUMNS`, :data:`IGNORED_TABLES`).
    """
    names = {path.name for folder in (there, here) for path in folder.glob("*.csv")}
    found = {}
    for name in sorted(names):
        if IGNORED_TABLES.fullmatch(Path(name).stem):
            continue
        if not (there / name).is_file():
            found[name] = Compared(reason="is here only")
        elif not (here / name).is_file():
            found[name] = Compared(reason="is missing here")
        else:
            found[name] = _compare(_read(there / name), _read(here / name))
    return found


def _checked(model: type[BaseModel], content: Any, where: str) -> Any:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UserError(where + plugins.explain(error, model)[0]) from None


def _compare(there: list[list[str]], here: list[list[str]]) -> Compared:
    if there[0] != here[0]:
        return Compared(reason=f"other columns: {', '.join(here[0])}; there {', '.join(there[0])}")
    if len(there) != len(here):
        return Compared(reason=f"{len(here) - 1} rows; there {len(there) - 1}")
    cells = [
        pair for rows in zip(there[1:], here[1:], strict=True) for pair in zip(*rows, strict=True)
    ]
    unlike = [pair for pair in cells if pair[0] != pair[1]]
    numbers = [abs(a - b) for a, b in (map(_number, pair) for pair in unlike)]
    largest = max((n for n in numbers if not math.isnan(n)), default=0.0)
    return Compared(len(cells), len(unlike), largest)


def _read(path: Path) -> list[list[str]]:
    """Rows of a CSV file, the header first, without measured columns."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream)) or [[]]
    except (ValueError, csv.Error):
        rows = [[], [""]]
    if any(len(row) != len(rows[0]) for row in rows):
        raise UserError(f"'{path}' is not a table: it must be UTF-8 text, with equally long rows")
    kept = [i for i, name in enumerate(rows[0]) if not IGNORED_COLUMNS.fullmatch(name)]
    return [[row[i] for i in kept] for row in rows]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _unlike(what: str, there: Mapping, here: Mapping, but: Set[str] = frozenset()) -> list[str]:
    keys = [key for key in {**there, **here} if key not in but and there.get(key) != here.get(key)]
    return [
        f"{what}{key}: {there.get(key) or 'none'} there, {here.get(key) or 'none'} here"
        for key in keys
    ]
