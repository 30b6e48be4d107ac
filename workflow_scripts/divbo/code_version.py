"""A version of exactly the code that a result depends on.

Two versions are equal when the syntax trees, without comments and docstrings, are equal: a
reformatted or better documented module is the same code.
"""

import ast
import functools
import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[1]


@functools.cache
def code_version(*modules: str) -> str:
    """Hash the code of modules and of everything below ``workflow_scripts`` that they import.

    Parameters
    ----------
    modules
        Module names, such as ``divbo.optimizers.bo`` or ``search`` (a script).

    Returns
    -------
    version
        16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for path in sorted(_closure(modules)):
        digest.update(f"{path.relative_to(ROOT)}\n{_code(path)}\n".encode())
    return digest.hexdigest()[:16]


def files(*modules: str) -> list[str]:
    """List the files, relative to ``workflow_scripts``, whose code counts for these modules."""
    return sorted(str(p.relative_to(ROOT)) for p in _closure(modules))


def _closure(modules) -> set[Path]:
    found: set[Path] = set()
    open_ = [p for m in modules for p in _files_of(m)]
    while open_:
        path = open_.pop()
        if path not in found:
            found.add(path)
            open_.extend(_imports(path))
    return found


@functools.cache
def _files_of(module: str) -> tuple[Path, ...]:
    """Files that importing ``module`` executes: the packages above it and itself."""
    parts = module.split(".")
    candidates = [ROOT.joinpath(*parts[: i + 1]) for i in range(len(parts))]
    files_ = []
    for candidate in candidates:
        for path in (candidate / "__init__.py", candidate.with_suffix(".py")):
            if path.is_file():
                files_.append(path)
    return tuple(files_)


@functools.cache
def _tree(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree


@functools.cache
def _code(path: Path) -> str:
    return ast.unparse(_tree(path))


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Files below ``workflow_scripts`` that a file imports, wherever in it the import stands."""
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            found.extend(_files_of(name))
    return tuple(found)
