"""Sources of data sets: OpenML, a file, or scikit-learn; one function each.

A source is written as in a study: ``{"openml": 772, "version": 1, "md5": "..."}``,
``{"openml": "kc1"}``, ``{"openml_task": 59}``, ``{"file": "mine.csv", "target": "label"}`` or
``{"sklearn": "digits"}``, with ``task: regression`` if it is not for classification. This module
imports nothing heavy, because the workflow uses it for folder names.
"""

import hashlib
import json
import re
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ensemble_search.data import paper_sets, roles
from ensemble_search.data.table_files import FORMATS, readable
from ensemble_search.data.text_files import kind as extension
from ensemble_search.data.text_files import stem
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import CLASSIFICATION, REGRESSION
from ensemble_search.runtime.plugins import nearest

if TYPE_CHECKING:
    import pandas as pd

COMMON = ("columns", "classes", "positive", "task")
KEYS = {
    "openml": {"openml", "version", "md5", "target", *COMMON},
    "openml_task": {"openml_task", "version", "md5", *COMMON},
    "file": {"file", "test", "target", *COMMON},
    "sklearn": {"sklearn", *COMMON},
}
QUOTES = "labels that YAML does not read as text or an integer need quotes"
LARGEST_ID = 10**9
MOST_NAME = 80  # maximum characters of a data set's name at OpenML
#: The data sets that scikit-learn ships, and the tasks for which their targets are suitable.
BUNDLED: dict[str, tuple[str, ...]] = {
    "breast_cancer": (CLASSIFICATION,),
    "diabetes": (REGRESSION,),
    "digits": (CLASSIFICATION, REGRESSION),
    "iris": (CLASSIFICATION,),
    "wine": (CLASSIFICATION,),
}


@dataclass(frozen=True)
class Raw:
    """A data set as in its source."""

    #: All columns, including the target, of shape (n_rows, n_features + 1).
    frame: "pd.DataFrame"
    #: Name of the target column.
    target: str
    #: Name of the data set in the source.
    name: str
    #: The source without pins and absolute paths, as in ``dataset.json``.
    source: dict[str, Any]
    #: OpenML's version, and MD5 of the ARFF or of the user's file; None if not applicable.
    version: int | None = None
    md5: str | None = None
    #: Columns that the source does not mark as features (row ids), with the reason.
    ignored: dict[str, str] = field(default_factory=dict)
    #: Words that the source's reader treated as missing, with counts, by column.
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Number of fractions that lost digits when read, and the first of them, by column.
    rounded: dict[str, tuple[int, str]] = field(default_factory=dict)
    #: Columns of a CSV file that are text because of a value that is not a number.
    worded: list[str] = field(default_factory=list)
    #: Notes for the user on how it was read.
    notes: list[str] = field(default_factory=list)
    #: Roles of columns (``data.roles``) that the source assigns, such as the folds of a task.
    roles: dict[str, list[str]] = field(default_factory=dict)


def source_kind(source: Mapping[str, Any], where: str = "source") -> str:
    """Return the kind of a source, one of :data:`KEYS`, and check its keys and values.

    ``where`` is the source's place in the study, for messages. UserError if there is not exactly
    one kind, a key is unknown, or a value has the wrong type.
    """
    if not isinstance(source, Mapping):
        raise UserError(f"{where}: {source!r} is not a mapping, such as {{openml: 772}}")
    kinds = [kind for kind in KEYS if kind in source]
    if len(kinds) != 1:
        found = " and ".join(kinds) or ", ".join(map(str, source)) or "none"
        raise UserError(f"{where}: needs exactly one of {', '.join(KEYS)}; found {found}")
    kind = kinds[0]
    for key in source:
        if key in KEYS[kind]:
            continue
        if owners := [f"'{k}:'" for k in KEYS if key in KEYS[k]]:
            raise UserError(f"{where}.{key}: goes with {' or '.join(owners)} only")
        raise UserError(f"{where}: unknown key '{key}'; {nearest(key, sorted(KEYS[kind]))}")
    if said := not_openml(source.get("openml", 1)):
        raise UserError(f"{where}.openml: {said}; found {source['openml']!r}")
    for key in ("openml_task", "version"):
        value = source.get(key, 1)
        if type(value) is not int or not 1 <= value <= LARGEST_ID:
            raise UserError(f"{where}.{key}: {value!r} is not an integer from 1 to {LARGEST_ID}")
    for key in ("file", "test", "target", "sklearn", "md5", "task"):
        if key in source and not isinstance(source[key], str):
            raise UserError(f"{where}.{key}: {source[key]!r} is not text")
        if _unencodable(source.get(key, "")):
            raise UserError(f"{where}.{key}: '{source[key]}' is not Unicode text; rename it")
    if kind == "file" and not source.get("target"):
        raise UserError(f"{where}.target: is missing; name the column that is to be predicted")
    roles.check(source.get("columns", {}), f"{where}.columns")
    if "classes" in source:
        _check_classes(source["classes"], f"{where}.classes")
    if "positive" in source and type(source["positive"]) not in (str, int):
        raise UserError(f"{where}.positive: {source['positive']!r} is not a label; {QUOTES}")
    for key in ("classes", "positive"):
        if key in source and source.get("task") == REGRESSION:
            raise UserError(f"{where}.{key}: a regression has no classes; remove the key")
    return kind


def not_openml(value: Any) -> str:
    """Return why a value cannot be an id or name of a data set at OpenML; empty if it can."""
    if isinstance(value, str) and value.isdecimal():
        return "an id has no quotes"
    if isinstance(value, str):
        right = 0 < len(value) <= MOST_NAME and value.isprintable() and not _unencodable(value)
    else:
        right = type(value) is int and 1 <= value <= LARGEST_ID
    return "" if right else f"must be an id, an integer from 1 to {LARGEST_ID}, or a name"


def _check_classes(classes: Any, where: str) -> None:
    """Check that classes are two or more labels or lists of labels, each label once."""
    groups = (
        [c if isinstance(c, list) else [c] for c in classes] if isinstance(classes, list) else []
    )
    labels = [label for group in groups for label in group]
    if len(groups) < 2 or not all(groups) or not all(type(v) in (str, int) for v in labels):
        raise UserError(
            f"{where}: {classes!r} is not a list of two classes or more, such as [[a, b], c]; "
            f"{QUOTES}"
        )
    for label in labels:
        if [*map(str, labels)].count(str(label)) > 1:
            raise UserError(f"{where}: '{label}' is duplicated; keep one")
    names = ["+".join(map(str, group)) for group in groups]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{where}: two classes would be called '{name}'; leave one out")


def _unencodable(text: str) -> bool:
    return text.encode(errors="ignore").decode() != text


def source_key(source: Mapping[str, Any]) -> str:
    """Return the folder name of a source below ``results/data/``.

    ``openml-772``, ``sklearn-digits``, ``file-<stem>-<8 hex digits of paths and target>``, or, for
    a name at OpenML, ``openml-<name>-<8 hex digits of name and version>``. ``columns``,
    ``classes``, ``positive`` and another ``target`` at OpenML append 8 hex digits each;
    ``task: regression`` appends that word. At most 255 characters. Errors are as in
    :func:`source_kind`.
    """
    kind = source_kind(source)
    word = f"-{REGRESSION}" if source.get("task") == REGRESSION else ""
    for key in ("classes", "positive"):
        if key in source:
            word += f"-{hashlib.sha256(json.dumps(source[key]).encode()).hexdigest()[:8]}"
    suffix = roles.suffix(source.get("columns", {})) + word
    if kind == "file":
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(source["file"]).stem)[: 232 - len(word)]
        parts = [source[key] for key in ("file", "target", "test") if key in source]
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return f"file-{stem}-{digest[:8]}{suffix}"
    if target := source.get("target"):
        suffix = f"-{hashlib.sha256(target.encode()).hexdigest()[:8]}{suffix}"
    named = source[kind]
    if kind == "openml" and isinstance(named, str):
        digest = hashlib.sha256(f"{named}\n{source.get('version', '')}".encode()).hexdigest()
        named = f"{re.sub(r'[^A-Za-z0-9._-]', '_', named)}-{digest[:8]}"
    return f"{kind.replace('_', '-')}-{named}{suffix}"


def read(
    source: Mapping[str, Any],
    openml: Mapping[str, Any] | None = None,
    beside: Path | None = None,
) -> Raw:
    """Read a data set from its source, as in a study.

    ``openml`` says how OpenML is reached: fields of ``Access``. Downloads are stored temporarily
    beside the path ``beside`` (default: in the temporary folder). UserError if the source is wrong,
    cannot be reached or cannot be read, or if it is one of the DivBO paper's data sets, its size
    differs from the printed one, and no ``md5`` pins it.
    """
    kind = source_kind(source)
    if kind == "openml":
        from ensemble_search.data import openml_client, openml_server

        number, version, md5 = source["openml"], source.get("version"), source.get("md5")
        how = openml_server.access(openml or {})
        if isinstance(number, str):
            number = openml_client.find(number, version, how, beside)
        raw = openml_client.fetch(number, version, md5, how, beside)
        if md5 is None:  # a pinned file is accepted
            paper_sets.check(number, raw)
        return _with_target(raw, source["target"]) if "target" in source else raw
    if kind == "openml_task":
        from ensemble_search.data import openml_client, openml_server, openml_tasks

        how = openml_server.access(openml or {})
        return openml_tasks.fetch(source, how, beside)
    if kind == "file":
        if "test" in source:
            return _with_test_file(source)
        return from_file(source["file"], source["target"], drop=roles.dropped(source))
    return from_sklearn(source["sklearn"])


def _with_target(raw: Raw, target: str) -> Raw:
    """Use another column as the target; the source's target becomes a feature."""
    names = [str(name) for name in raw.frame]
    if target not in names:
        raise UserError(f"target: there is no column '{target}'; {nearest(target, names)}")
    ignored = {name: why for name, why in raw.ignored.items() if name != target}
    return replace(raw, target=target, source={**raw.source, "target": target}, ignored=ignored)


def local_files(source: Mapping[str, Any]) -> list[Path]:
    """Paths of a source's local files: its file, and perhaps one with test rows."""
    return [Path(source[key]) for key in ("file", "test") if source.get(key)]


def from_file(
    name: str, target: str, as_text: Collection[str] = (), drop: Collection[str] = ()
) -> Raw:
    """Read a CSV, Parquet, ARFF or Excel file; a relative path starts at the working directory.

    CSV is UTF-8, else Latin-1, possibly compressed by gzip; the separator is detected from its
    header (``text_files.SEPARATORS``). Empty fields and the words in ``names.MISSING`` are missing
    values, except None in columns of text. Read as text are: the target of a CSV, in which only
    empty fields are missing; columns with values such as ``01``, which would lose their zeros; and
    ``as_text``. Columns in ``drop`` are not used: in a Parquet file, they may have any type.
    UserError if the file cannot be read, has no such target, or a column without a name or with
    that of another.
    """
    from ensemble_search.runtime import files

    path = _existing(name)
    _, reader = FORMATS[extension(path)]
    with readable(path):
        before = _state(path)
        md5 = files.md5(path)
        more = (as_text,) if as_text else ()
        frame = reader(path, target, *more, **_dropping(path, drop))
        if _state(path) != before:
            said = "was changed while it was read; run again when it is whole"
            raise UserError(f"file: '{name}' {said}")
    shown = path.name if path.is_absolute() else path.as_posix()
    source, read = {"file": shown, "target": target}, frame.attrs
    frame.attrs = {}
    return Raw(frame, target, stem(path), source, md5=md5, **read)


def _with_test_file(source: Mapping[str, Any]) -> Raw:
    """Read two files; a column of folds marks the rows of ``test`` as test rows."""
    from ensemble_search.data import test_rows

    file, test, target = source["file"], source["test"], source["target"]
    drop = roles.dropped(source)
    check_test_file(file, test, target, drop)
    parts = from_file(file, target, drop=drop), _of_test(from_file, test, target, drop)
    if differing := test_rows.differing(*parts):
        if extension(file) not in (".csv", ".tsv"):
            name, (first, second) = next(iter(differing.items()))
            raise UserError(
                f"test: column '{name}' of '{test}' holds {second}, that of '{file}' {first}; "
                "write them alike"
            )
        # A column that is text in one file becomes text in both, as if they were one.
        parts = from_file(file, target, differing), from_file(test, target, differing)
    classes = source.get("task") != REGRESSION and not source.get("classes")
    return test_rows.join(*parts, classes)


def _of_test(reader: Callable[..., Any], name: str, target: str, drop: Collection[str]) -> Any:
    """Read the file of test rows; errors name its key."""
    try:
        return reader(name, target, drop=drop)
    except UserError as error:
        lines = (re.sub("^file:", "test:", line) for line in error.problems)
        raise UserError(*lines) from None


def check_test_file(file: str, test: str, target: str, drop: Collection[str] = ()) -> None:
    """Check by headers that a file of test rows has the format and the columns of the other file.

    Errors are as in :func:`check_file`, or that they differ.
    """
    names = check_file(file, target, drop)

    def check(name: str, target: str, drop: Collection[str]) -> list[str]:
        return check_file(name, target, [*drop, *unneeded(name, names)])

    others = _of_test(check, test, target, drop)
    if FORMATS[extension(file)] != FORMATS[extension(test)]:
        raise UserError(f"test: '{test}' must be of the format of '{file}'")
    for one, two, here, there in ((test, file, others, names), (file, test, names, others)):
        if lacking := [name for name in there if name not in here]:
            raise UserError(
                f"test: '{one}' has no column '{lacking[0]}', which '{two}' has; "
                f"{nearest(lacking[0], here)}"
            )


def _state(path: Path) -> tuple:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def check_file(name: str, target: str, drop: Collection[str] = ()) -> list[str]:
    """Check, by its header only, that a file can be read and has the target; return its columns.

    ``drop`` and errors are as in :func:`from_file`, but for errors in rows.
    """
    path = _existing(name)
    header, _ = FORMATS[extension(path)]
    return header(path, target, **_dropping(path, drop))


def unneeded(name: str, needed: Collection[str]) -> list[str]:
    """List the columns of a Parquet file beside those needed, to drop them: any type may be theirs.

    Empty for files of other formats, whose columns have no types. Errors are as in
    :func:`from_file`.
    """
    path = _existing(name)
    if not _dropping(path, needed):
        return []
    import pyarrow.parquet as pq

    with readable(path, "Parquet"), path.open("rb") as stream:
        return [name for name in pq.read_schema(stream).names if name not in needed]


def _dropping(path: Path, drop: Collection[str]) -> dict[str, Collection[str]]:
    """Return the argument of readers that check the types of columns: those of Parquet files."""
    return {"drop": drop} if extension(path) in (".parquet", ".pq") else {}


def _existing(name: str) -> Path:
    path = Path(name)
    if extension(path) not in FORMATS:
        raise UserError(
            f"file: '{name}' must end in .csv, .csv.gz, .tsv, .parquet, .pq, .arff or "
            ".xlsx; convert other formats"
        )
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null character
        said = f"there is no file '{name}' (relative paths start at {Path.cwd()})"
        raise UserError(f"file: {said}") from None
    except OSError as error:
        raise UserError(f"file: '{name}' cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise UserError(f"file: '{name}' is {kind}; a file is needed")
    return path


def from_sklearn(name: str) -> Raw:
    """Load a data set that scikit-learn ships (:data:`BUNDLED`), with names of classes as labels.

    The target of ``diabetes`` is a number. UserError if there is no such data set.
    """
    if name not in BUNDLED:
        raise UserError(f"sklearn: there is no '{name}'; {nearest(name, list(BUNDLED))}")
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = bunch.target
    if "target_names" in bunch:
        labels = pd.Categorical([str(bunch.target_names[code]) for code in labels])
    frame = bunch.data.assign(target=labels)
    return Raw(frame, "target", name, {"sklearn": name})
