"""Print docs/reference.md, the parts that a study can name; ``make reference`` writes the file."""

import inspect
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ensemble_search.runtime import errors, plugins, shares
from ensemble_search.study.model import PLUGINS
from ensemble_search.study.schema import schema

HEAD = """# Reference: study keys, optimizers, ensembles, surrogates, metrics, spaces

Written by `make reference` from the classes and their docstrings. A setting of an optimizer or
ensemble is a key beside `optimizer:` or `type:`, such as `bo: {optimizer: bo, local: 20}`. Without
a default here, a key or setting is null, or the description says what it is. `why` is the column of
that name in `observations.parquet`: the reason for a suggestion."""
KEYS = """## Study keys

The keys of a [study](studies.md). `split.train` is the key `train` below `split:`; `<name>` is a
name of your choice."""
#: Kinds of parts that have no settings in a study.
NAMED = ("surrogates", "metrics")


def page() -> str:
    """Return the page: every built-in part, with its description and settings, in Markdown."""
    whole = schema()
    properties = whole["properties"]
    parts = [HEAD, KEYS, "\n".join(_table(_keys(whole, whole), "key"))]
    for section, module in PLUGINS.items():
        parts.append(f"## {module.KIND.capitalize()}")
        (choices,) = properties[section]["patternProperties"].values()
        known = {
            choice["properties"].pop(module.KEY)["const"]: choice for choice in choices["anyOf"]
        }
        settings = {name: choice["properties"] for name, choice in known.items()}
        for name, own in settings.items():
            parts += [f"### `{name}`", _described(module.KIND, name)]
            base = _base(module.KIND, name, settings)
            new = {k: about for k, about in own.items() if settings.get(base, {}).get(k) != about}
            if base:
                parts.append(f"All settings of [`{base}`](#{base})" + (", and:" if new else "."))
            parts.append("\n".join(_table(new)) if new else "" if base else "No settings.")
    for kind in NAMED:
        parts.append(f"## {kind.capitalize()}")
        for name in plugins.available(kind):
            parts += [f"### `{name}`", _described(kind, name)]
    parts.append("## Spaces")
    for name in plugins.available("spaces"):
        parts += [f"### `{name}`", _described("spaces", name), *_spaces(name)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _described(kind: str, name: str) -> str:
    """Return a class's docstring in Markdown, without the sections that describe its fields."""
    text = inspect.getdoc(plugins.load(kind, name)) or ""
    text = re.split(r"\n\n\w+\n---", text)[0]
    return re.sub(r"(?::\w+:)?`+([^`]+)`+", r"`\1`", text)


def _base(kind: str, name: str, settings: dict[str, Any]) -> str:
    """Find the plugin with the most settings that this one is derived from."""
    derived = plugins.load(kind, name)
    bases = [n for n in settings if n != name and issubclass(derived, plugins.load(kind, n))]
    return max(bases, key=lambda n: len(settings[n]), default="")


def _keys(of: Any, whole: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return the keys below a part of the schema, such as ``split.train``, with their schemas."""
    if "$ref" in of:
        of = whole["$defs"][of["$ref"].rpartition("/")[2]]
    found: dict[str, Any] = {}
    for choice in of.get("anyOf", ()):
        found |= _keys(choice, whole, path)
    for name, value in of.get("properties", {}).items():
        key = path + name
        if value.get("description"):
            found.setdefault(key, value)
        if key not in PLUGINS:  # plugins have their own tables of settings
            found |= _keys(value, whole, f"{key}.")
    for value in of.get("patternProperties", {}).values():
        found |= _keys(value, whole, f"{path}<name>.")
    return found


def _table(settings: dict[str, Any], of: str = "setting") -> Iterator[str]:
    """Write the rows of a table."""
    yield f"| {of} | default | meaning |"
    yield "|---|---|---|"
    for name, about in settings.items():
        default = about.get("default")
        value = json.dumps(default).strip('"')
        if len(value) > 10 and isinstance(default, float):
            value = shares.name(default)  # 1/27
        shown = "" if default is None else f"`{value}`"
        yield f"| `{name}` | {shown} | {about['description']} |"


def _spaces(name: str) -> Iterator[str]:
    """Describe the hyperparameters of a space, for each of its tasks."""
    kind = plugins.load("spaces", name)
    for task in kind.tasks:
        space = kind().for_task(task)
        rows: dict[str, list[str]] = {}
        for h in space.define().values():
            operator, _, own = h.name.rpartition(":")
            text = f"`{own}`: {_domain(h)}" if operator else _domain(h)
            rows.setdefault(operator or own, []).append(text)
        lines = [f"| {task} | range (default) |", "|---|---|"]
        yield "\n".join([*lines, *(f"| `{key}` | {'; '.join(own)} |" for key, own in rows.items())])


def _domain(h: Any) -> str:
    """Describe the values and the default of a ConfigSpace hyperparameter."""
    if hasattr(h, "lower"):
        text = f"{h.lower:.4g} to {h.upper:.4g}" + (", logarithmic" if h.log else "")
        return f"{text} ({h.default_value:.4g})"
    values = getattr(h, "choices", None) or getattr(h, "sequence", None) or [h.default_value]
    steps = [b - a for a, b in pairwise(values)] if isinstance(values[0], float | int) else []
    if len(values) > 5 and steps and max(steps) - min(steps) < 1e-9:
        text = f"{values[0]:g} to {values[-1]:g} in steps of {steps[0]:.4g}"
    else:
        text = ", ".join(map(str, values))
    return f"{text} ({h.default_value})" if len(values) > 1 else text


def main() -> None:
    """Print the page."""
    print(page(), end="")


if __name__ == "__main__":
    errors.run(main)
