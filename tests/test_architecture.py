"""Imports go one way, between folders, to scripts, and between tests; other rules of the house."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from support import ROOT, SCRIPTS, TESTS

pytestmark = pytest.mark.slow

PACKAGE = SCRIPTS / "ensemble_search"
TEST_MODULES = {path.stem for path in TESTS.rglob("*.py") if re.match("test_|conftest", path.name)}


def imported(tree: ast.AST) -> Iterator[str]:
    """All that might be a module in the imports of a file, but for those of type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in node.orelse:
                yield from imported(other)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imported(node)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def arrows() -> dict[str, dict[str, str]]:
    """Folder or module of the package -> those that it imports -> a file that does."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        own = file.relative_to(PACKAGE).parts[0]
        if own == "__init__.py":
            continue
        others = found.setdefault(own, {})
        for name in imported(parse(file)):
            package, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            other += "" if (PACKAGE / other).is_dir() else ".py"
            if package == PACKAGE.name and other != own:
                others[other] = str(file.relative_to(ROOT))
    return found


def drawing() -> tuple[dict[str, set[str]], dict[str, int]]:
    """What docs/architecture.md draws: the same, without the files, and the floor of each."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    block = re.search(r"^```text\n(.*?)^```$", text, re.M | re.S)[1]
    below, floors = {}, {}
    for floor, lines in enumerate(reversed(block.split("\n\n"))):
        for line in lines.splitlines():
            if not line.startswith(" "):
                name = line.split()[0].rstrip("/")
                below[name], floors[name] = set(), floor
            else:
                below[name] |= set(line.partition("->")[2].replace(",", " ").split())
    return below, floors


def test_the_folders_of_the_package_import_each_other_in_no_circle():
    found = arrows()
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
        lines = [f"{a} imports {b} in {found[a][b]}" for a, b in pairwise(circle)]
        pytest.fail("\n".join(lines))


def test_the_drawing_in_the_documentation_shows_the_imports():
    below, floors = drawing()
    found = {name: set(others) for name, others in arrows().items()}
    wrong = [
        f"{name} -> {', '.join(sorted(found.get(name, ())))}, not {', '.join(sorted(others))}"
        for name, others in ({name: set() for name in found} | below).items()
        if name not in below or found.get(name) != others
    ]
    assert not wrong, "docs/architecture.md: " + "; ".join(wrong)
    for name, others in below.items():
        assert all(floors[other] < floors[name] for other in others), f"{name} is too low"


def test_the_package_imports_no_script():
    scripts = {path.stem for path in SCRIPTS.glob("*.py")}
    assert len(scripts) > 8
    for file in PACKAGE.rglob("*.py"):
        found = scripts & {name.partition(".")[0] for name in imported(parse(file))}
        assert not found, file.relative_to(ROOT)


def test_no_test_module_is_imported():
    """Neither by a file of the tests nor by a program that stands in one as a text."""
    wrong = {}
    for file in TESTS.rglob("*.py"):
        tree = parse(file)
        words = {word for name in imported(tree) for word in name.split(".")}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for line in re.findall(r"^ *(?:import|from) .+", node.value, re.M):
                    words |= set(re.findall(r"\w+", line))
        if found := words & TEST_MODULES:
            wrong[file.relative_to(ROOT).as_posix()] = found
    assert wrong == {}


def test_test_modules_lie_in_the_folder_of_what_they_test():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    folders |= {"workflow", "benchmarks"}
    names = defaultdict(list)
    for file in TESTS.rglob("test_*.py"):
        names[file.name].append(file)
        assert file == Path(__file__) or file.parent.name in folders, file
    assert not [files for files in names.values() if len(files) > 1], "two of the same name"


def test_fields_of_dataclasses_are_described_beside_them():
    """By comments ``#:``, not in docstrings, where a description is far from its field."""
    found = [
        f"{file.relative_to(ROOT)}: {part.name}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for part in ast.walk(parse(file))
        if isinstance(part, ast.ClassDef)
        and any(ast.unparse(own).startswith("dataclass") for own in part.decorator_list)
        and "Attributes\n" in (ast.get_docstring(part) or "")
    ]
    assert found == []
