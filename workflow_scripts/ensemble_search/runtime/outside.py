"""Parts from outside the repository: folders that a study names, and installed packages.

A file ``my_parts/optimizers/mine.py`` is imported as ``ensemble_search.optimizers.mine``, as if it
were beside the built-in ones: all other code treats both alike, and nothing depends on the folder's
location. Parts of a package keep the names of their modules; its entry points name them.
"""

import functools
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any

from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.shared_files import SHARED

ROOT = Path(__file__).parents[2]
#: Folders, separated as in ``PATH``. Set from the study; child processes inherit it.
VARIABLE = "ENSEMBLE_SEARCH_PLUGINS"
#: Folder of parts -> package that its files belong to. The groups of entry points are
#: ``ensemble_search.<folder>``.
KINDS = {
    "optimizers": "ensemble_search.optimizers",
    "ensembles": "ensemble_search.ensembles",
    "spaces": "ensemble_search.spaces",
    "surrogates": "ensemble_search.surrogates",
    "metrics": "ensemble_search.metrics",
    "pages": "ensemble_search.report.pages",
    "drivers": "ensemble_search.drivers",
}
#: Importable file names, without ``.py``.
STEM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_caches: list[Any] = []  # from functools


def cached(function: Callable) -> Callable:
    """Cache like ``functools.cache``, until the folders change."""
    made = functools.cache(function)
    _caches.append(made)
    return made


def folders() -> list[Path]:
    """List the folders in use."""
    return [Path(f).absolute() for f in os.environ.get(VARIABLE, "").split(os.pathsep) if f]


def use(paths: Sequence[str]) -> None:
    """Use only these folders, in this process and its child processes.

    Relative paths start at the working directory. Raises UserError: one line per folder or file
    that cannot be used, and per name that is already taken.
    """
    paths = list(dict.fromkeys(os.path.abspath(path) for path in paths))
    if problems := [*_problems(paths)]:
        raise UserError(*problems)
    if [str(folder) for folder in folders()] == paths:
        return
    os.environ.pop(VARIABLE, None)
    if paths:
        os.environ[VARIABLE] = os.pathsep.join(paths)
    _finder.forget()
    for cache in _caches:
        cache.cache_clear()


def use_environment() -> None:
    """Check the folders from the environment variable; errors are those of :func:`use`."""
    try:
        use([str(folder) for folder in folders()])
    except UserError as error:
        raise UserError(*(f"{VARIABLE}: {line}" for line in error.problems)) from None


def files(kind: str) -> list[Path]:
    """List the Python files of a kind in the folders, including helpers."""
    return [file for folder in folders() for file in _parts(folder / kind) if file.is_file()]


def entry_points(kind: str) -> list[metadata.EntryPoint]:
    """List the parts of installed packages: group ``ensemble_search.<kind>``."""
    return [point for point in _entry_points() if point.group == f"ensemble_search.{kind}"]


def packaged(kind: str) -> dict[str, str]:
    """Names and modules of the parts of installed packages."""
    return {point.name: point.value for point in entry_points(kind)}


def names(kind: str) -> list[str]:
    """List the names of the parts of a kind in the folders."""
    return [plugin_name(file) for file in files(kind) if not file.stem.startswith("_")]


def plugin_name(file: PurePath) -> str:
    """Return the name that a study uses for the part in a file."""
    return file.stem.replace("_", "-")


def place(path: PurePath) -> Path | None:
    """Find the file of a module outside this repository; None if there is none.

    ``path`` is as if beside the built-in ones, such as ``ensemble_search/optimizers/mine.py``.
    """
    if name := within(path):
        return next((f for f in (folder / name for folder in folders()) if f.is_file()), None)
    if root := roots().get(path.parts[0].removesuffix(".py")):
        return root / path if (root / path).is_file() else None
    return None


def within(path: PurePath) -> str:
    """Return a file's path in its folder, such as ``optimizers/mine.py``; empty if in none."""
    for kind, package in KINDS.items():
        parts = tuple(package.split("."))
        if path.parts[: len(parts)] == parts:
            return PurePath(kind, *path.parts[len(parts) :]).as_posix()
    return ""


@cached
def roots() -> dict[str, Path]:
    """Find the packages with parts: name of the package or module -> its parent folder."""
    found = {}
    for top in {point.value.partition(".")[0] for point in _entry_points()}:
        spec = importlib.util.find_spec(top)
        if spec and spec.submodule_search_locations:
            found[top] = Path(next(iter(spec.submodule_search_locations))).parent
        elif spec and spec.origin:
            found[top] = Path(spec.origin).parent
    return found


def holds(file: Path) -> bool:
    """Whether a file is in one of the folders, or in a package with parts."""
    own = (root / name for top, root in roots().items() for name in (top, f"{top}.py"))
    return not {file, *file.parents}.isdisjoint([*folders(), *own])


def shown(path: Path) -> str:
    """Show the path of a file: relative to the working directory if it is below it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


@cached
def _entry_points() -> list[metadata.EntryPoint]:
    points = metadata.entry_points()
    found = (p for kind in KINDS for p in points.select(group=f"ensemble_search.{kind}"))
    return sorted(found, key=_key)


def _key(point: metadata.EntryPoint) -> tuple[str, ...]:
    package = point.dist.name if point.dist else ""
    return point.group, point.name, point.value, package  # independent of folder order


def _problems(paths: Sequence[str]) -> Iterator[str]:
    """Yield one line per folder, file or name of a part that cannot be used."""
    for folder in map(Path, paths):
        if os.pathsep in str(folder) or "\0" in str(folder):
            yield f"'{folder}': rename the folder, it may not have '{os.pathsep}' in its path"
        elif not folder.is_dir():
            yield f"there is no folder '{shown(folder)}'"
        elif not any((folder / kind).is_dir() for kind in KINDS):
            known = ", ".join(f"{kind}/" for kind in KINDS)
            yield f"'{shown(folder)}' has none of the folders {known}"
    for kind in KINDS if paths or _entry_points() else ():
        taken = {name: f"the built-in {file.relative_to(ROOT)}" for name, file in _built_in(kind)}
        for file in (f for folder in paths for f in _parts(Path(folder, kind))):
            name, own = plugin_name(file), f"'{shown(file)}'"
            if not STEM.fullmatch(file.stem):
                right = re.sub(r"\W", "_", file.stem, flags=re.ASCII)
                right = f"part_{right}" if right[:1].isdigit() else right
                yield f"{own}: rename it to {right}{file.suffix}, to be imported"
            elif name in taken:
                yield f"{own} has the name of {taken[name]}; rename it"
            taken.setdefault(name, own)
        for point in entry_points(kind):
            module = Path(*point.value.split("."))
            name = plugin_name(module) if kind == "pages" else point.name
            package = point.dist.name if point.dist else "a package"
            own = f"entry point '{point.name}' of {package} ({point.group})"
            top = point.value.partition(".")[0]
            if not all(map(STEM.fullmatch, point.value.split("."))):
                yield f"{own}: its value must be a module; found '{point.value}'"
            elif not re.fullmatch(r"[A-Za-z0-9-]+", point.name):
                yield f"{own}: a name has letters, digits and hyphens only"
            elif (ROOT / top).exists() or (ROOT / f"{top}.py").exists():
                yield f"{own}: its module has the name of '{top}' in workflow_scripts"
            elif name in taken:
                yield f"{own} has the name of {taken[name]}; remove one of them"
            taken.setdefault(name, own)


def _parts(folder: Path) -> list[Path]:
    """Python files and packages in a folder, except its own ``__init__.py``."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [
        path
        for path in found
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").is_file()
    ]


def _built_in(kind: str) -> Iterator[tuple[str, Path]]:
    """Names of the built-in parts of a kind and of their helpers, with their files."""
    folder = ROOT.joinpath(*KINDS[kind].split("."))
    papers = (ROOT / "ensemble_search/papers").glob("*") if kind == "pages" else ()
    for path in (p for where in (folder, *papers) for p in _parts(where)):
        yield plugin_name(path), path
    for name, address in SHARED.get(kind, {}).items():
        yield name, folder / f"{address.partition(':')[0]}.py"


class _Finder:
    """Imports modules from the folders; Python asks it for modules that it did not find itself."""

    def __init__(self):
        self._found: set[str] = set()

    def find_spec(self, name, path=None, target=None):
        """Return the spec of a module in the folders; None if there is none."""
        module = PurePath(*name.split("."))
        if not within(module):
            return None
        for file in (module / "__init__.py", module.with_suffix(".py")):
            if there := place(file):
                self._found.add(name)
                above = [str(there.parent)] if file.name == "__init__.py" else None
                return importlib.util.spec_from_file_location(
                    name, there, submodule_search_locations=above
                )
        return None

    def forget(self) -> None:
        """Forget the modules that were imported."""
        below = tuple(f"{name}." for name in self._found)
        for name in [n for n in sys.modules if f"{n}.".startswith(below)]:
            del sys.modules[name]
        self._found.clear()


_finder = _Finder()
sys.meta_path.append(_finder)
