"""Optimizers, ensembles, surrogates and spaces are files: a file's name is its name in a study."""

import difflib
import importlib
import inspect
from pathlib import Path

from divbo.errors import UserError

ROOT = Path(__file__).parent


def module_name(kind: str, name: str) -> str:
    """Return the module of plugin ``name``: ``bo`` of ``optimizers`` is ``divbo.optimizers.bo``."""
    return f"divbo.{kind}.{name.replace('-', '_')}"


def available(kind: str) -> list[str]:
    """List the names of the plugins in folder ``kind``, such as ``optimizers``, sorted."""
    files = (ROOT / kind).glob("*.py")
    return sorted(f.stem.replace("_", "-") for f in files if f.stem not in ("__init__", "base"))


def load(kind: str, name: str) -> type:
    """Return the one public class that module ``name`` of folder ``kind`` defines.

    Raises
    ------
    UserError
        If there is no such file; the message names the nearest one that exists.
    """
    names = available(kind)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}"
        raise UserError(f"no {kind.rstrip('s')} is called '{name}'; {hint}")
    return the_class(importlib.import_module(module_name(kind, name)))


def the_class(module) -> type:
    """Return the one public class that ``module`` itself defines.

    Raises
    ------
    TypeError
        If the module defines no public class, or several.
    """
    classes = [
        c
        for n, c in inspect.getmembers(module, inspect.isclass)
        if c.__module__ == module.__name__ and not n.startswith("_")
    ]
    if len(classes) != 1:
        found = ", ".join(c.__name__ for c in classes) or "none"
        raise TypeError(f"{module.__name__} must define exactly one public class; found: {found}")
    return classes[0]
