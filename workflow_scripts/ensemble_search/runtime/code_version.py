"""Versions of exactly the code that a result depends on.

Two versions are equal if the syntax trees are equal without comments, docstrings and descriptions
of settings: reformatting or documenting a module does not change its version.
"""

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ensemble_search.runtime import outside
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import write_json

ROOT = Path(__file__).parents[2]
#: What processes read from the files, cached on disk like bytecode: file -> [sha256 of the cache
#: key, code, names]. Parsing the code of a study takes a second.
KEPT = "__pycache__/code-versions.json"
#: These modules store, load, report or name results without affecting them: changes to them do not
#: outdate any result.
NEUTRAL = {
    f"ensemble_search/{name}.py"
    for name in (
        "results/readers",
        "runtime/code_version",
        "runtime/errors",
        "runtime/files",
        "runtime/locks",
        "runtime/outside",
        "runtime/provenance",
        "runtime/shared_files",
        "runtime/signals",
        "search/progress",
    )
}
#: It only names what is imported when a user asks for it, so it counts as empty.
FACADE = Path("ensemble_search/__init__.py")


@outside.cached
def code_version(*modules: str) -> str:
    """Hash the code of modules and of everything in this project that they import.

    This covers everything below ``workflow_scripts``, and parts from outside with their helpers.
    Modules are named as ``ensemble_search.optimizers.bo`` or ``search`` (a script). The version has
    16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for path in sorted(_closure(modules)):
        digest.update(f"{path}\n{_known(path)[0]}\n".encode())
    return digest.hexdigest()[:16]


def files(*modules: str, neutral: bool = False) -> list[str]:
    """List the files, relative to ``workflow_scripts``, that the modules' version covers.

    With ``neutral``, include the neutral modules, too: all files that importing the modules needs.
    """
    return sorted(map(str, _closure(modules, neutral)))


def files_outside(*modules: str) -> list[str]:
    """List the modules' :func:`files` that lie outside ``workflow_scripts``."""
    return [name for name in files(*modules) if not (ROOT / name).is_file()]


def libraries(*modules: str) -> list[str]:
    """List the import names of other packages that the modules' version depends on, sorted.

    Excludes the standard library; includes the packages that parts from outside belong to.
    """
    names = set()
    for path in _closure(modules):
        names |= {name.partition(".")[0] for name in _known(path)[1]}
        names |= {path.parts[0].removesuffix(".py")}
    return sorted(n for n in names - sys.stdlib_module_names if n and not _is_own(n))


def syntax(text: str) -> str:
    """Return the syntax tree of a module's text, without what only people read, as text.

    Unlike unparsed code, it is the same in Python 3.11 to 3.13.
    """
    tree = ast.parse(text)
    for node in _statements(tree):
        _drop_text(node)
    empty = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(tree, **empty).replace(", type_params=[]", "")  # which Python 3.12 adds


def _is_own(name: str) -> bool:
    return (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file()


class Guard:
    """Detect changes to code on disk that a running process has already imported.

    Modules imported later, or by a worker that starts later, would be read from the changed files.
    """

    def __init__(self, *modules: str):
        self._paths = sorted(_closure(modules))
        self._stamps = self._look()
        self._code = {path: _known(path)[0] for path in self._paths}

    def check(self) -> None:
        """Check that the code has not changed.

        Raises UserError if it has changed; touching or documenting a file does not count.
        """
        stamps = self._look()
        if stamps == self._stamps:
            return
        for path in self._paths:
            if self._changed(path):
                place = _place(path)
                name = path if place is None or place == ROOT / path else outside.shown(place)
                raise UserError(
                    f"'{name}' was changed while this job ran; run the same command again"
                )
        self._stamps = stamps

    def _changed(self, path: Path) -> bool:
        try:
            return _read(path)[0] != self._code[path]
        except (OSError, SyntaxError, ValueError):  # removed, or partly written
            return True

    def _look(self) -> list[tuple[int, int] | None]:
        places = map(_place, self._paths)
        stats = [place.stat() if place else None for place in places]
        return [s and (s.st_mtime_ns, s.st_size) for s in stats]


def _place(path: Path) -> Path | None:
    """Find a file by its path relative to :data:`ROOT`, or outside; None if it no longer exists."""
    return ROOT / path if (ROOT / path).is_file() else outside.place(path)


def _closure(modules, neutral: bool = False) -> set[Path]:
    found: set[Path] = set()
    open_ = [p for m in modules for p in _files_of(m)]
    while open_:
        path = open_.pop()
        if path not in found and (neutral or path.as_posix() not in NEUTRAL):
            found.add(path)
            open_.extend(_imported_by(path))
    _kept(ROOT / KEPT).keep()
    return found


@outside.cached
def _imported_by(path: Path) -> set[Path]:
    """Files executed by importing a file, except the file itself and further imports of those."""
    return {p for name in _known(path)[1] for p in _files_of(name)}


@outside.cached
def _files_of(module: str) -> tuple[Path, ...]:
    """Files executed by importing ``module``: its parent packages and itself."""
    above, _, name = module.rpartition(".")
    folder = Path(*above.split(".")) if above else Path()
    candidates = (folder / name / "__init__.py", folder / f"{name}.py") if name else ()
    return (*(_files_of(above) if above else ()), *filter(_place, candidates))


def _read(path: Path) -> tuple[str, list[str]]:
    """Read a file's current code, without what only people read, and the names that it imports."""
    place = _place(path) or ROOT / path
    return _kept(ROOT / KEPT).look(path, place.read_text(encoding="utf-8"))


_known = outside.cached(_read)


class _Kept:
    """Code and imports of files, including those cached by earlier processes; see :data:`KEPT`."""

    def __init__(self, path: Path):
        self._path, self._new = path, False
        self._parser = [sys.version, Path(__file__).read_text(encoding="utf-8")]
        self._found = self._load()

    def _load(self) -> dict[str, list]:
        with suppress(OSError, ValueError, AttributeError):
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            # Entries of deleted files are left out.
            return {name: e for name, e in stored.items() if _whole(e) and _place(Path(name))}
        return {}

    def look(self, path: Path, text: str) -> tuple[str, list[str]]:
        """Return code and imported names of a file, relative to :data:`ROOT`, given its text."""
        name = path.as_posix()
        # The parser is part of the key: results of another parser do not count.
        key = hashlib.sha256("\0".join([*self._parser, text]).encode()).hexdigest()
        if self._found.get(name, [None])[0] != key:
            self._found[name], self._new = [key, *_parse(text, path)], True
        return self._found[name][1], self._found[name][2]

    def keep(self) -> None:
        """Store new entries for later processes, if the folder is writable."""
        if self._new:
            self._new = False
            with suppress(UserError):
                write_json(self._path, self._load() | self._found)


_kept = functools.cache(_Kept)


def _whole(entry) -> bool:
    return isinstance(entry, list) and list(map(type, entry)) == [str, str, list]


def _parse(text: str, path: Path) -> tuple[str, list[str]]:
    """Return the code of a text, without what only people read, and the names that it imports.

    Syntax trees are not kept: the garbage collector would traverse them again and again.
    """
    if path == FACADE:
        text = "pass"
    tree = ast.parse(text, str(ROOT / path))
    package = path.parent.parts
    names: list[str] = []
    for node in _statements(tree):
        _drop_text(node)
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            names.extend([module, *(f"{module}.{alias.name}" for alias in node.names)])
    return ast.unparse(tree), names


def _drop_text(node: ast.AST) -> None:
    """Remove what only people read: a docstring, or the description of a setting."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
    elif (
        isinstance(node, ast.AnnAssign)
        and isinstance(call := node.value, ast.Call)
        and ast.unparse(call.func) == "Field"
    ):
        call.keywords = [given for given in call.keywords if given.arg != "description"]


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all statements in it; expressions contain neither imports nor docstrings."""
    yield node
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, block, ()):
            yield from _statements(statement)
