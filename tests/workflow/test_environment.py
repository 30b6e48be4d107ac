"""The pinned environments agree with each other and cover what the code imports."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement

from ensemble_search.runtime import code_version
from support import ROOT

pytestmark = pytest.mark.slow

#: conda environment -> requirements and lock for pip with the same versions
ENVIRONMENTS = {"ensemble-search": "requirements", "autogluon": "autogluon"}
# conda-forge's names of packages with another name on the Python package index
CONDA_NAMES = {"matplotlib-base": "matplotlib", "py-xgboost": "xgboost-cpu"}
# packages that have an environment of their own
ELSEWHERE = {"autogluon", "hyperopt", "nevergrad", "openbox", "optuna", "smac"}

each_lock = pytest.mark.parametrize("lock", ENVIRONMENTS.values())
each_environment = pytest.mark.parametrize("name", ENVIRONMENTS)


def requirements(lock: str = "requirements") -> dict[str, str]:
    """Package -> version of a file of requirements, all of whose lines are pins."""
    found = {}
    for line in (ROOT / f"envs/{lock}.in").read_text().splitlines():
        if line and not line.startswith("#"):
            pin = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?==(\d[\w.]*)", line)
            assert pin, f"envs/{lock}.in: '{line}' is not an exact version"
            found[pin[1].lower()] = pin[2]
    return found


def locked(lock: str, python: str) -> dict[str, str]:
    """Package -> version that the lock has for a version of Python."""
    text = (ROOT / f"envs/{lock}.lock").read_text()
    pins = re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)(?: ; (.*?))? *\\?$", text, re.M)
    here = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    return {n.lower(): v for n, v, marker in pins if not marker or Marker(marker).evaluate(here)}


def conda(name: str) -> dict[str, str]:
    """Package -> version of a conda environment, by their names on the Python package index."""
    content = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())
    assert set(content) == {"channels", "dependencies"}
    found = {}
    for line in content["dependencies"]:
        pin = re.fullmatch(r"([a-z0-9._-]+)=(\d+\.\d+\.\d+)", str(line))
        assert pin, f"envs/{name}.yaml: '{line}' is not an exact version"
        found[CONDA_NAMES.get(pin[1], pin[1])] = pin[2]
    return found


@each_lock
@pytest.mark.parametrize("python", ["3.11.0", "3.12.0"])
def test_lock_holds_every_requirement_at_its_version(lock, python):
    versions = locked(lock, python)
    for name, version in requirements(lock).items():
        assert versions[name.replace(".", "-").lower()] == version, f"{name}: run make lock"


@each_lock
def test_every_line_of_the_lock_has_hashes_and_no_host(lock):
    text = (ROOT / f"envs/{lock}.lock").read_text()
    entries = re.split(r"^(?=[\w.-]+(?:\[[\w,-]+\])?==)", text, flags=re.M)[1:]
    assert len(entries) > 20
    assert all("--hash=sha256:" in e for e in entries)
    stray = re.findall(r"^(?!#|    |[\w.-]+(?:\[[\w,-]+\])?==).+$", text, re.M)
    assert stray == [], "neither a pin nor its hashes"
    assert "://" not in text
    assert "--index" not in text


def test_no_environment_slips_in():
    """All files are known here, and every rule that runs something names one of them."""
    assert {path.stem for path in (ROOT / "envs").glob("*.y*ml")} == set(ENVIRONMENTS)
    assert {path.stem for path in (ROOT / "envs").glob("*.lock")} == set(ENVIRONMENTS.values())
    rules = [
        part
        for file in (ROOT / "rules").glob("*.smk")
        for part in re.split(r"^rule ", file.read_text(), flags=re.M)[1:]
    ]
    assert len(rules) > 8
    for text in rules:
        named = re.findall(r'conda:\n\s+"../envs/([\w-]+)\.yaml"', text)
        assert len(named) == 1, text.split(":")[0]
        assert named[0] in ENVIRONMENTS


@each_environment
def test_conda_environment_has_the_same_versions(name):
    channels = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())["channels"]
    assert channels[-1] == "nodefaults"
    assert channels[0] == "conda-forge"
    assert set(channels) <= {"conda-forge", "bioconda", "nodefaults"}
    packages = conda(name)
    versions = locked(ENVIRONMENTS[name], packages.pop("python"))
    for package, version in packages.items():
        assert versions[package.replace(".", "-")] == version, package


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """Top-level packages that statements import, other than the workflow's own and Python's."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    own = {path.stem for path in (ROOT / "workflow_scripts").glob("*")}
    return found - set(sys.stdlib_module_names) - own


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_import_is_required_by_name_in_both_environments():
    distributions = packages_distributions()
    required, packages = requirements(), conda("ensemble-search")
    files = (ROOT / "workflow_scripts").rglob("*.py")
    for package in set().union(*(imported(ast.walk(tree(f))) for f in files)) - ELSEWHERE:
        name = distributions[package][0].lower()
        assert name in required, f"{package} is imported, but envs/requirements.in lacks it"
        assert name in packages, f"{package} is imported, but envs/ensemble-search.yaml lacks it"


def test_what_the_script_of_autogluon_imports_is_in_its_environment():
    """All that it imports itself, and what the modules that it uses import when they are read."""
    scripts = ROOT / "workflow_scripts"
    found = imported(ast.walk(tree(scripts / "run_autogluon.py")))
    for file in code_version.files("run_autogluon"):
        found |= imported(tree(scripts / file).body)
    assert found >= {"autogluon", "numpy", "pandas"}
    names = {"autogluon": "autogluon.tabular"}
    for package in found:
        for packages in (requirements("autogluon"), conda("autogluon")):
            assert names.get(package, package) in packages, package


def test_the_environment_is_the_locked_one():
    from importlib.metadata import version

    for name, pinned in requirements().items():
        assert version(name) == pinned


def test_the_package_installs_in_the_versions_that_are_tested():
    """The ranges of pyproject.toml hold the pinned versions, and name every import."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = chain(*project["optional-dependencies"].values())
    ranges = [Requirement(text) for text in (*project["dependencies"], *extras)]
    required = requirements()
    for part in ranges:
        assert required[part.name.lower()] in part.specifier, part
    named = {part.name.lower() for part in ranges}
    distributions = packages_distributions()
    files = (ROOT / "workflow_scripts/ensemble_search").rglob("*.py")
    for package in set().union(*(imported(ast.walk(tree(f))) for f in files)) - ELSEWHERE:
        assert distributions[package][0].lower() in named, f"{package} is imported"
