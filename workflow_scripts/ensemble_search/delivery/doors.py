"""Names of options in messages, as users of make, the command line or Python write them.

Messages are written for the command line (``--group``, ``--metric=error``) or for a study
(``'columns: {group: [who]}'``, ``'metric: error'``).
"""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from ensemble_search.data import roles

#: Set to one of :data:`DOORS` by what starts the script.
DOOR = "ENSEMBLE_SEARCH_DOOR"
#: Options of the script; some have other names in make and Python.
OPTIONS = ("data", "target", "minutes", "metric", "cores", "name", "group", "time", "fold",
           "weight", "test", "columns", "positive")  # fmt: skip
IN_MAKE, IN_PYTHON = {"name": "ENSEMBLE"}, {"data": "frame"}
#: A text as quoted for a shell.
QUOTED = """'[^']*'(?:"'"'[^']*')*"""
#: An option, perhaps with a value; and a key of a study with its value.
OPTION = re.compile(rf"(?<![\w-])--({'|'.join(OPTIONS)})(?![\w-])(?:=({QUOTED}|[\w.]*\w))?")
KEY = re.compile(r"'?\b(columns|metric): (\{[^{}]*\}|(?<='metric: )[\w-]+)'?")


def _make(option: str, value: Any) -> str:
    name = IN_MAKE.get(option, option.upper())
    return name if value is None else f"{name}={_word(value)}"


def _shell(option: str, value: Any) -> str:
    return f"--{option}" if value is None else f"--{option}={_word(value)}"


def _python(option: str, value: Any) -> str:
    name = IN_PYTHON.get(option, option)
    return name if value is None else f"{name}={value!r}"


def _word(value: Any) -> str:
    """Write a value for a shell, and columns by role as in a study."""
    if isinstance(value, Mapping):
        flow = yaml.safe_dump(
            value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True
        )
        value = flow.strip()
    return shlex.quote(value)


DOORS: dict[str, Callable[[str, Any], str]] = {"make": _make, "shell": _shell, "python": _python}


def written(text: str, door: str) -> str:
    """Return a message with the names of options as at one of :data:`DOORS`."""

    def key(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name == "columns":
            try:
                value = yaml.safe_load(value)
            except yaml.YAMLError:
                return found[0]
            if not value or not all(isinstance(names, list) and names for names in value.values()):
                return found[0]
            role, *more = value
            if role in roles.OF_ROWS and role in OPTIONS and not more:
                name, value = role, str(value[role][0])
        return write(name, value)

    write = DOORS[door]

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        return write(name, shlex.split(value)[0] if value else None)

    text = OPTION.sub(option, text)
    return KEY.sub(key, text)
