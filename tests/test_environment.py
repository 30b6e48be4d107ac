"""The pinned environments agree with each other and cover what the code imports."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
# conda-forge's names of packages that are called otherwise on the Python package index
CONDA_NAMES = {"matplotlib-base": "matplotlib", "py-xgboost": "xgboost-cpu"}
# packages that have an environment of their own: test_autogluon.py
ELSEWHERE = {"autogluon"}


def requirements() -> dict[str, str]:
    """Package -> version of envs/requirements.in."""
    lines = (ROOT / "envs/requirements.in").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {name.lower(): version for name, version in pins}


def locked() -> dict[str, set[str]]:
    """Package -> versions of the lock (several where they depend on the Python version)."""
    found: dict[str, set[str]] = {}
    text = (ROOT / "envs/requirements.lock").read_text()
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.M):
        found.setdefault(name.lower(), set()).add(version)
    return found


def test_lock_holds_every_requirement_at_its_version():
    lock = locked()
    for name, version in requirements().items():
        assert lock[name] == {version}, f"{name}: run make lock"


def test_every_line_of_the_lock_has_hashes_and_no_host():
    text = (ROOT / "envs/requirements.lock").read_text()
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.M)[1:]
    assert entries
    assert all("--hash=sha256:" in e for e in entries)
    assert "://" not in text
    assert "--index" not in text


def test_conda_environment_has_the_same_versions():
    content = yaml.safe_load((ROOT / "envs/divbo.yaml").read_text())
    assert content["channels"][-1] == "nodefaults"
    lock = locked()
    for pin in content["dependencies"]:
        name, version = pin.split("=")
        if name != "python":
            assert lock[CONDA_NAMES.get(name, name)] == {version}, name


def imported() -> set[str]:
    """Top-level packages that the workflow's code imports, other than its own and Python's."""
    found = set()
    for path in (ROOT / "workflow_scripts").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"divbo"}


def test_every_import_is_required_by_name_in_both_environments():
    distributions = packages_distributions()
    required = requirements()
    content = yaml.safe_load((ROOT / "envs/divbo.yaml").read_text())
    names = [pin.split("=")[0] for pin in content["dependencies"]]
    conda = {CONDA_NAMES.get(n, n) for n in names}
    for package in imported() - ELSEWHERE:
        name = distributions[package][0].lower()
        assert name in required, f"{package} is imported, but envs/requirements.in lacks it"
        assert name in conda, f"{package} is imported, but envs/divbo.yaml lacks it"


def test_the_environment_is_the_locked_one():
    from importlib.metadata import version

    for name, pinned in requirements().items():
        assert version(name) == pinned
