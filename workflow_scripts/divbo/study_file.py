"""Study files as text: YAML read strictly, the study that one extends, values on top of it."""

from pathlib import Path
from typing import Any

import yaml

from divbo.errors import UserError

#: Sections in which a study adds to those of the study that it extends; it replaces all others.
ADDED = ("searches", "ensembles")


def read(
    path: Path, overrides: dict[str, Any] | None = None
) -> tuple[dict[str, Any], tuple[Path, dict[str, Any]] | None]:
    """Read a study file, on top of the one that its ``extends`` names.

    Parameters
    ----------
    path
        The YAML file.
    overrides
        Values that replace those of the files key by key.

    Returns
    -------
    content
        The study, with what it inherits.
    extended
        Path and content of the study that it extends, as its own file says; None without one.

    Raises
    ------
    UserError
        If a file cannot be read, or the extended study extends another one itself.
    """
    content, overrides = read_yaml(path), overrides or {}
    extends = {**content, **overrides}.get("extends")
    if extends is None:
        return merged(content, overrides), None
    if not isinstance(extends, str):
        raise UserError(f"{path}: extends: must be text, the path of a study file")
    file = Path(path).parent / extends
    if not file.is_file():
        raise UserError(
            f"{path}: extends: there is no file '{file}'; "
            "the path starts at the folder of the file that it is written in"
        )
    base = read_yaml(file)
    if base.get("extends") is not None:
        raise UserError(
            f"{path}: extends: '{file}' extends a study itself; name that one: "
            f"'{base['extends']}', seen from '{file.parent}'"
        )
    return merged(inherited(content, base), overrides), (file, base)


def inherited(content: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Add what a study inherits from the study ``base``: all but its name."""
    result = {**base, **content}
    if "study" not in content:
        result.pop("study", None)
    for section in ADDED:
        parts = base.get(section), content.get(section)
        if all(isinstance(part, dict) for part in parts):
            result[section] = {**parts[0], **parts[1]}
    return result


def merged(base: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Replace values key by key; text in the new ones is read as in a file."""
    result = dict(base)
    for key, value in overrides.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else _typed(value)
    return result


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
