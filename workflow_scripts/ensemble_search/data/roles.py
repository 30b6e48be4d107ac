"""Column roles in a study: ``columns: {drop: [...], numeric: [...], ...}``.

This module imports nothing heavy, because it is used to check studies.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.plugins import nearest

#: Roles of columns that are not features, at most one column each: rows of one group are never
#: divided between parts or folds; by time, later rows are held out; weights are how much rows
#: count; the part says whether a row is for training, validation or testing, and the fold in which
#: split it is a test row.
OF_ROWS = ("group", "time", "weight", "part", "fold")
ROLES = ("drop", "numeric", "categorical", "date", "text", *OF_ROWS)
#: Pairs of roles that a column may have: the time of the rows can also be a feature.
BOTH = ({"time", "date"}, {"time", "numeric"})


def check(columns: Any, where: str) -> None:
    """Check that roles are lists of names, each in one role or two of ``BOTH``.

    ``where`` is the key of the roles. UserError with one line per mistake.
    """
    if not isinstance(columns, Mapping):
        raise UserError(f"{where}: {columns!r} is not a mapping, such as {{drop: [id]}}")
    problems: list[str] = []
    seen: dict[str, set[str]] = {}
    for role, names in columns.items():
        if role not in ROLES:
            problems.append(f"{where}: unknown key '{role}'; {nearest(role, ROLES)}")
        elif not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            problems.append(f"{where}.{role}: {names!r} is not a list of names, such as [id]")
        elif role in OF_ROWS and len(names) > 1:
            problems.append(f"{where}.{role}: {', '.join(names)} are {len(names)}; name one column")
        else:
            for name in names:
                others = seen.setdefault(name, set()) - {role}
                seen[name].add(role)
                if names.count(name) > 1:
                    problems.append(f"{where}.{role}: '{name}' is listed twice; keep one")
                elif others and {*others, role} not in BOTH:
                    other = min(others, key=list(columns).index)
                    problems.append(f"{where}.{role}: '{name}' is in '{other}', too; keep one")
    if problems:
        raise UserError(*dict.fromkeys(problems))


def check_names(columns: Mapping[str, Sequence[str]], names: Sequence[str], target: str) -> None:
    """Check that columns with a role are among ``names``, and do not include the target.

    UserError with one line, starting with the key, per invalid column; or if no feature is left.
    """
    known, problems = set(names), []
    for role, listed in columns.items():
        for name in listed:
            if name == target:
                problems.append(f"columns.{role}: '{name}' is the target; name another column")
            elif name not in known:
                features = [n for n in names if n != target]
                hint = nearest(name, features)
                problems.append(f"columns.{role}: there is no column '{name}'; {hint}")
    unused = {name for role in ("drop", *OF_ROWS) for name in columns.get(role, ())}
    unused -= {name for role in ("date", "numeric") for name in columns.get(role, ())}
    if not problems and known and known <= {target, *unused}:
        key = "columns.drop" if columns.get("drop") else "columns" if unused else "target"
        problems.append(f"{key}: no column beside the target '{target}' is left")
    if problems:
        raise UserError(*problems)


def pairs(columns: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs of a column and its role."""
    return [(name, role) for role, names in columns.items() for name in names]


def written(role: str, *names: str) -> str:
    """How a study assigns a role to columns, ``columns: {drop: [id]}``; quoted if need be."""
    return f"columns: {{{role}: [{', '.join(map(_in_yaml, names))}]}}"


def _in_yaml(name: str) -> str:
    import yaml

    try:
        plain = yaml.safe_load(f"[{name}]") == [name]
    except yaml.YAMLError:
        plain = False
    return name if plain else json.dumps(name, ensure_ascii=False)


def dropped(source: Mapping[str, Any]) -> Sequence[str]:
    """Names of the columns that a source, as in a study, drops."""
    return source.get("columns", {}).get("drop", ())


def suffix(columns: Mapping[str, Sequence[str]]) -> str:
    """Return a name suffix for the roles that apply to a source; empty without roles."""
    roles = sorted(pairs(columns))
    return f"-{hashlib.sha256(json.dumps(roles).encode()).hexdigest()[:8]}" if roles else ""
