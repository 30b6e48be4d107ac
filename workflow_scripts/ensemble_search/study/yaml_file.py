"""Read study files: strict YAML, extended studies, overridden values."""

import difflib
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from ensemble_search.runtime.errors import UserError

#: Sections in which a study adds to the study that it extends; it replaces all others.
ADDED = ("searches", "ensembles")
#: The key with folders of plugins, to which a study also adds.
FOLDERS = "plugins"
#: Limits of a study: bytes of its file; number of values, counting aliases repeatedly; levels.
BYTES, VALUES, LEVELS = 1_000_000, 100_000, 20
#: Maximum length of a number; Python does not print integers of more than 4300 digits.
DIGITS = 100
#: YAML's types of keys: text, the merge key ``<<``, and ``=``, which is text.
KEYS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "merge", "value")}
#: Numbers that YAML and people read differently: 010 is 8, 1:30 is 90, 0b101 is 5, 1_0 is 10.
ODD = re.compile(r"[-+]?(0[0-7_bx].*|.*[:_].*)")


def read(
    path: Path, overrides: dict[str, Any] | None = None
) -> tuple[dict[str, Any], tuple[Path, dict[str, Any]] | None]:
    """Read a study file and merge it with the study that it ``extends``.

    ``overrides`` replace values of the files, key by key. Returns the study, with inherited keys,
    and path and content of the extended study, as in its own file; None if there is none. Raises
    UserError if a file cannot be read, or the extended study extends another one itself.
    """
    path = Path(path)
    content, overrides = _located(read_yaml(path), path), _located(overrides or {}, path)
    try:
        _check_extent(overrides)
    except UserError as error:
        raise UserError(f"--config: {error}") from None
    extends = merged(content, overrides).get("extends")
    if extends is None:
        return merged(content, overrides), None
    if not isinstance(extends, str):
        raise UserError(f"{path}: extends: must be text, the path of a study file")
    file = path.parent / extends
    if not os.path.isfile(file):  # also False for an invalid path
        raise UserError(
            f"{path}: extends: there is no file '{file}'; "
            "the path starts at the folder of the file that it is written in"
        )
    if os.path.samefile(file, path):
        raise UserError(f"{path}: extends: a study cannot extend itself")
    base = _located(read_yaml(file), file)
    if base.get("extends") is not None:
        again = file.parent / str(base["extends"])
        if os.path.exists(again) and os.path.samefile(again, path):
            raise UserError(f"{path}: extends: '{file}' extends this study; remove one of them")
        raise UserError(
            f"{path}: extends: '{file}' extends a study itself; name that one: "
            f"'{base['extends']}', seen from '{file.parent}'"
        )
    return merged(inherited(content, base), overrides), (file, base)


def inherited(content: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Add the keys inherited from the study ``base``: all except its name."""
    result = {**base, **content}
    if "study" not in content:
        result.pop("study", None)
    for section in ADDED:
        theirs, own = base.get(section), content.get(section)
        if isinstance(theirs, dict) and isinstance(own, dict):
            result[section] = {**theirs, **own}
    theirs, own = base.get(FOLDERS), content.get(FOLDERS)
    if isinstance(theirs, list) and isinstance(own, list):
        result[FOLDERS] = [*theirs, *(folder for folder in own if folder not in theirs)]
    return result


def _located(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Rewrite paths relative to the working directory.

    Folders of plugins are relative to the study file's folder, as are data files that do not exist
    relative to the working directory.
    """

    def beside(name: Any) -> Any:
        return os.path.normpath(path.parent / name) if isinstance(name, str) and name else name

    def found(source: Any) -> Any:
        if not isinstance(source, dict):
            return source
        here = {key: source[key] for key in ("file", "test") if isinstance(source.get(key), str)}
        return source | {
            key: beside(name)
            for key, name in here.items()
            if not os.path.isfile(name) and os.path.isfile(beside(name))
        }

    content = dict(content)  # if anything is wrong in it, the model reports that
    if isinstance(content.get(FOLDERS), list):
        content[FOLDERS] = [beside(folder) for folder in content[FOLDERS]]
    if "deliver" in content:
        content["deliver"] = found(content["deliver"])
    if isinstance(content.get("datasets"), dict):
        content["datasets"] = {name: found(own) for name, own in content["datasets"].items()}
    return content


def merged(base: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Replace values key by key; strings among the new values are parsed as in a file."""
    result = dict(base)
    for key, value in overrides.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else _typed(value)
    return result


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, with a one-line message for invalid or duplicate keys, invalid values."""

    def get_single_node(self):
        node = super().get_single_node()
        _check_extent(node)  # before merged keys (<<) are copied
        return node

    def construct_object(self, node, deep=False):
        try:
            value = super().construct_object(node, deep)
            if type(value) in (int, float):
                _check_number(node.value, value)
            if isinstance(value, str):
                value.encode()  # "\ud800" is not a character
            return value
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            # A date such as 2024-13-45, or a tag such as !!int on another type.
            line = node.start_mark.line + 1
            raise UserError(f"line {line}: a value that cannot be read: {error}") from None

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise UserError(f"line {line}: a key must be plain text, no list or mapping")
            if key.value in seen:
                raise UserError(f"line {line}: key '{key.value}' is written twice; keep one")
            seen.add(key.value)
            if key.tag not in KEYS:
                read = self.construct_object(key)
                raise UserError(
                    f"line {line}: {key.value}: a name must be text: YAML reads it as {read}; "
                    "quote it"
                )
        return super().construct_mapping(node, deep)


def _check_number(text: str, value: float) -> None:
    if len(text) > DIGITS:
        raise ValueError(f"a number of more than {DIGITS} characters")
    if ODD.fullmatch(text):
        raise ValueError(f"YAML reads {text} as {value}; write that, or quote it if it is text")


def _check_extent(content: Any) -> None:
    """Check the number and depth of nodes or values against the limits of a study."""
    try:
        values, levels = _extent(content, {})
    except RecursionError:
        values = levels = math.inf
    if levels > LEVELS:
        own = "; an alias (*name) may not be part of what it stands for"
        raise UserError(f"nested too deeply: more than {LEVELS} levels{own * math.isinf(levels)}")
    if values > VALUES:
        raise UserError(f"more than {VALUES:,} values, with those that aliases (*name) repeat")


def _extent(part: Any, known: dict[int, tuple[float, float]]) -> tuple[float, float]:
    """Count values and levels below a part; an alias counts at every use."""
    if id(part) not in known:
        known[id(part)] = (math.inf, math.inf)  # recursive
        inner = [_extent(p, known) for p in _parts(part)]
        values, levels = zip(*inner, strict=True) if inner else ((), ())
        known[id(part)] = 1 + sum(values), 1 + max(levels, default=0)
    return known[id(part)]


def _parts(part: Any) -> Iterable[Any]:
    match part:
        case yaml.MappingNode():
            return (node for pair in part.value for node in pair)
        case yaml.SequenceNode():
            return part.value
        case dict():
            return part.values()
        case list():
            return part
    return ()


def _text(path: Path) -> str:
    """Read a study file; reject endless files and pipes."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise UserError("cannot be read: it is not a regular file")
    with path.open("rb") as stream:
        data = stream.read(BYTES + 1)
    if len(data) > BYTES:
        raise UserError(
            f"cannot be read: it has more than {BYTES:,} bytes; a study is a short text"
        )
    return data.decode("utf-8")


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file safely.

    Raises UserError if it is missing, not YAML, not a mapping, too large, or has a duplicate key.
    """
    if path == Path():  # make passes an empty name for a variable without a value
        raise UserError("STUDY (--study): it is empty; name a study file, such as config.yaml")
    try:
        text = _text(Path(path))
        content = yaml.load(text, Loader=_Loader)  # noqa: S506
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text; save it as such"
        near = f"; {_instead_of(path)}" if isinstance(error, FileNotFoundError) else ""
        raise UserError(f"{path}: cannot be read: {reason}{near}") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: nested too deeply: more than {LEVELS} levels") from None
    except (ValueError, OverflowError):  # from chr(), for "\UFFFFFFFF"
        raise UserError(f"{path}: not valid YAML: a character beyond Unicode") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = f"the character U+{error.character:04X}"
        raise UserError(f"{path}: line {line}: not valid YAML: {character}; remove it") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}: " if mark else ""
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise UserError(f"{path}: {where}not valid YAML: {problem}") from None
    if not isinstance(content, dict):
        what = "is empty; it needs" if content is None else "must be a mapping of keys to values:"
        raise UserError(f"{path}: {what} study, datasets, searches, ensembles, methods, ...")
    if "__use_yte__" in content:  # Snakemake would execute Python code in it
        raise UserError(f"{path}: __use_yte__: unknown key; a study is not a template")
    return content


def _instead_of(path: Path) -> str:
    """Name a study file that may be meant by the name of one that does not exist."""
    folder = path.parent if path.parent.is_dir() else Path()
    files = [file for place in (folder, Path("studies")) for file in place.glob("*.yaml")]
    stems = {file.stem: str(file) for file in reversed(files)}
    if near := difflib.get_close_matches(path.stem, stems, n=1):
        return f"did you mean '{stems[near[0]]}'?"
    return "name a study file, such as studies/quickstart.yaml"


def _typed(value: Any) -> Any:
    """Parse numbers, booleans and null as YAML does: Snakemake passes inner values as strings."""
    if isinstance(value, dict):
        return {k: _typed(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_typed(v) for v in value]
    if not isinstance(value, str):
        return value
    if any("\udc80" <= character <= "\udcff" for character in value):
        raise UserError(f"--config: '{value}' is not UTF-8 text")
    try:
        node = yaml.compose(value, Loader=_Loader)
        read = yaml.load(value, Loader=_Loader)  # noqa: S506
    except (yaml.YAMLError, UserError, ValueError, OverflowError, RecursionError):
        return value
    # No comments, tags or document markers: "#1" and "5 #" are text.
    if (node.value if isinstance(node, yaml.ScalarNode) else "") != value.strip():
        return value
    return read if read is None or isinstance(read, (bool, int, float)) else value
