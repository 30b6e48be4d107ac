"""Optimizers, ensembles, surrogates, spaces and metrics are files, named in a study by file name.

``base.py``, files whose names begin with ``_``, and sub-packages are helpers, not plugins. Several
plugins may share a file: ``runtime/shared_files.py`` lists them. Files may also be outside this
repository: ``runtime/outside.py``.
"""

import difflib
import importlib
import inspect
import re
import reprlib
import traceback
from abc import ABCMeta
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensemble_search.runtime import outside, signals
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.shared_files import SHARED

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

ROOT = Path(__file__).parents[1]
#: Upper limit of integers in the settings of a plugin.
LARGEST = 1_000_000
#: Numbers such as 1e3, which YAML 1.1 reads as text: it requires a decimal point and a sign.
EXPONENT = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")
#: Maximum number of mistakes in a message.
MOST = 20
#: Maximum length of a short word, see :func:`nearest`.
SHORT = 3


def module_name(kind: str, name: str) -> str:
    """Return the module of a plugin: ``ensemble_search.optimizers.bo`` for optimizer ``bo``."""
    return address(kind, name).partition(":")[0]


def address(kind: str, name: str) -> str:
    """Return the module of a plugin and, if several share the module, ``:`` and its class."""
    if module := outside.packaged(kind).get(name):
        return module
    return f"ensemble_search.{kind}.{SHARED.get(kind, {}).get(name, name.replace('-', '_'))}"


def available(kind: str) -> list[str]:
    """List the names of the plugins in folder ``kind``, such as ``optimizers``, sorted."""
    files = (outside.plugin_name(file) for file in _files(kind))
    return sorted({*files, *SHARED.get(kind, ()), *outside.packaged(kind)})


@outside.cached  # like Python's cache of imported modules
def load(kind: str, name: str) -> type:
    """Return the class of the plugin ``name`` of folder ``kind``.

    Raises UserError if there is no such file (the message suggests the nearest name), its name has
    a hyphen, it cannot be imported, or it does not define one public subclass of a base of the
    kind.
    """
    if name in SHARED.get(kind, ()):
        return at(address(kind, name))
    packaged = name in outside.packaged(kind)
    module = imported(module_name(kind, name), None if packaged else _file(kind, name))
    base = importlib.import_module(f"ensemble_search.{kind}.base")
    bases = [c for c in _classes(base) if inspect.isabstract(c)]
    return the_class(module, tuple(bases))


def imported(module: str, file: Path | None = None):
    """Import a module; a UserError names its file (None: the module of a package)."""
    try:
        return importlib.import_module(module)
    except BaseException as error:  # the author's code may raise anything
        if signals.caused(error):
            raise
        raise UserError(f"{_shown(file) if file else module}: {_where(error, file)}") from error


def _file(kind: str, name: str) -> Path:
    """Return the file of a plugin; errors are those of :func:`load`."""
    files = [file for file in _files(kind) if outside.plugin_name(file) == name]
    if not files:
        raise UserError(
            f"no {kind.rstrip('s')} is called '{name}'; {nearest(name, available(kind))}"
        )
    right = f"{name.replace('-', '_')}.py"
    for file in files:
        if file.name == right:
            return file
    raise UserError(f"{kind}/{files[0].name}: rename the file to {right}, to be imported")


def at(place: str) -> type:
    """Return the class at an :func:`address`; without a class in it, see :func:`the_class`."""
    module, _, name = place.partition(":")
    imported = importlib.import_module(module)
    return getattr(imported, name) if name else the_class(imported)


def checked(kind: str, name: str) -> type:
    """Return :func:`load` of a name in the settings, for their validators.

    Raises ValueError as :func:`load`, but with the type that pydantic expects.
    """
    try:
        return load(kind, name)
    except UserError as error:
        raise ValueError(str(error)) from None


def the_class(module, bases: tuple[type, ...] = ()) -> type:
    """Return the one public class that ``module`` itself defines.

    Raises UserError if the module defines no public class, several, or one that is not a complete
    subclass of one of the ``bases``, abstract classes; without bases, any class is valid.
    """
    where = _shown(Path(module.__file__))
    wanted = " or ".join(c.__name__ for c in bases)
    classes = _classes(module)
    if len(classes) != 1:
        found = ", ".join(c.__name__ for c in classes) or "none"
        subclass = f", a subclass of {wanted}" if bases else ""
        raise UserError(
            f"{where}: must define exactly one public class{subclass}; found {found} "
            "(a name that starts with '_' is not public)"
        )
    made = classes[0]
    if bases and not issubclass(made, bases):
        raise UserError(f"{where}: class {made.__name__} must be a subclass of {wanted}")
    if bases and isinstance(made, ABCMeta) and made.__abstractmethods__:
        missing = ", ".join(sorted(made.__abstractmethods__))
        raise UserError(f"{where}: class {made.__name__} must define {missing}")
    return made


def make(kind: str, settings: Any, key: str, where: str) -> Any:
    """Create the plugin that settings describe, such as ``{"type": "selection", "size": 25}``.

    ``settings`` has its name under ``key``, ``optimizer`` or ``type``, and its fields; ``kind`` is
    its folder. Raises UserError if the name is missing or unknown, or settings are unknown or
    wrong: one line each, which begins with ``where`` the settings are in the study.
    """
    from pydantic import ValidationError

    known = available(kind)
    if not isinstance(settings, dict) or not isinstance(settings.get(key), str):
        raise UserError(f"{where}: needs '{key}:', one of {', '.join(known)}")
    name = settings[key]
    if name not in known:
        raise UserError(f"{where}.{key}: there is no '{name}'; {nearest(name, known)}")
    try:
        model = load(kind, name)
        made = model.model_validate({k: v for k, v in settings.items() if k != key})
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except ValidationError as error:
        raise UserError(*explain(error, model, where)) from None
    for field, value in settings.items():
        if type(value) is int and value > LARGEST:
            raise UserError(f"{where}.{field}: at most {LARGEST:,}; found {value}")
    return made


def explain(error: "ValidationError", model: "type[BaseModel]", where: str = "") -> list[str]:
    """Turn pydantic's errors into one line each, naming the key below ``where``.

    At most :data:`MOST`, and a line that counts the others.
    """
    lines = []
    errors = error.errors(include_url=False)
    for e in errors[:MOST]:
        loc = [repr(str(part))[1:-1] for part in e["loc"] if part != "[key]"]
        key = ".".join(([where] if where else []) + loc) or "study"
        match e["type"]:
            case "extra_forbidden":
                text = f"unknown key; {nearest(loc[-1], _keys(model, loc[:-1]))}"
            case "missing":
                text = "is missing"
            case "string_pattern_mismatch" if "[key]" in e["loc"] or loc == ["study"]:
                text = (
                    f"{e['input']!r} is not a name for a folder: use letters, digits, '.', '_', "
                    "'-', at most 64, the first a letter or digit, the last no dot"
                )
            case "frozen_instance":
                text = "settings are fields of the class, such as 'k: int = 3'; remove its __init__"
            case "too_short" if not e["input"]:
                text = "is empty; it needs at least one entry"
            case "dict_type" | "model_type" | "model_attributes_type":
                text = f"must be a mapping of keys to values; found {_found(e['input'])}"
            case "literal_error":
                known = re.findall("'([^']*)'", e["ctx"]["expected"])
                text = f"must be {e['ctx']['expected']}; found {reprlib.repr(e['input'])}"
                if near := similar(e["input"], known):
                    text += f"; did you mean '{near}'?"
            case "string_type" if "[key]" in e["loc"]:
                text = f"a name must be text: YAML reads it as {_found(e['input'])}; quote it"
            case "string_type" if e["input"] is None or isinstance(e["input"], (dict, list)):
                text = f"must be text; found {_found(e['input'])}"
            case "string_type":
                text = f"must be text: YAML reads it as {_found(e['input'])}; quote it"
            case _:
                text = " ".join(e["msg"].removeprefix("Value error, ").split())
                text = f"{text[0].lower()}{text[1:]}"
                if not isinstance(e["input"], (dict, list)) and not text.endswith("?"):
                    found = repr(e["input"])
                    text += f"; found {found if len(found) <= 80 else found[:77] + '...'}"
                if isinstance(e["input"], str) and EXPONENT.fullmatch(e["input"]):
                    whole = e["type"].startswith("int") and float(e["input"]).is_integer()
                    how = f"{float(e['input']):.0f}" if whole else "it as 1.0e-3 is written"
                    text += f", which YAML reads as text: write {how}"
        lines.append(f"{key}: {text}")
    if more := len(errors) - len(lines):
        lines.append(f"and {more} more mistakes")
    return lines


def _found(value: Any) -> str:
    """Show a value to a reader who thinks in YAML."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return "a list" if isinstance(value, list) else "a mapping"
    return str(value)


def nearest(word: str, known: Sequence[str], free: Sequence[str] | None = None) -> str:
    """Suggest the most similar known word, or list the known words (at most 20).

    Both for a short word, such as ``b0``, if half its characters are equal. ``free`` are the known
    words that may be suggested; by default, all.
    """
    free = known if free is None else free
    if near := similar(word, free):
        return f"did you mean '{near}'?"
    listed = ", ".join(map(str, known[:20])) + (", ..." if len(known) > 20 else "")
    near = similar(word, free, 0.5) if len(str(word)) <= SHORT else None
    return (f"did you mean '{near}'? " if near else "") + f"known: {listed or 'none'}"


def similar(word: Any, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the most similar known word; None if none is similar.

    Case and blanks at the ends do not count; ``cutoff`` is that of ``difflib.get_close_matches``.
    """
    spelt = {str(k).strip().casefold(): str(k) for k in reversed([*known])}
    near = difflib.get_close_matches(str(word).strip().casefold(), spelt, n=1, cutoff=cutoff)
    return spelt[near[0]] if near else None


def _files(kind: str) -> list[Path]:
    files = [*sorted((ROOT / kind).glob("*.py")), *outside.files(kind)]
    return [file for file in files if file.stem != "base" and not file.stem.startswith("_")]


def _shown(file: Path) -> str:
    """Show the path of a file: relative to the package, or its location outside."""
    return f"{file.parent.name}/{file.name}" if file.is_relative_to(ROOT) else outside.shown(file)


def _classes(module) -> list[type]:
    """List the public classes that a module defines itself, without imported ones."""
    members = inspect.getmembers(module, inspect.isclass)
    return [c for n, c in members if c.__module__ == module.__name__ and not n.startswith("_")]


def _where(error: BaseException, file: Path | None) -> str:
    """Describe in one line what an import raised, and on which line of the file."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        text = error.msg
        lines = [error.lineno] if error.filename == str(file) else lines
    at = f"line {lines[-1]}: " if lines else ""
    return f"{at}cannot be imported: {type(error).__name__}: {text}"


def _keys(model: "type[BaseModel]", loc: list[str]) -> list[str]:
    """List the known keys at a place in the study."""
    schema = model.model_json_schema()
    node = schema
    for part in loc:
        entries = list(node.get("patternProperties", {}).values())  # a mapping with free names
        node = node.get("properties", {}).get(part) or (entries[0] if entries else {})
        node = next((n for n in node.get("anyOf", []) if "$ref" in n), node)  # or null
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return list(node.get("properties", {}))
