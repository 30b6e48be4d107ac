"""The package as pip installs it: with its workflow, outside a checkout."""

import shutil
import subprocess
import sys
import zipfile

import pytest
import yaml

from support import ROOT, checkout

pytestmark = pytest.mark.slow

LOOK = """
import site
site.addsitedir({place!r})
import ensemble_search
from ensemble_search.delivery import fitting
assert ensemble_search.fit is fitting.fit
print(fitting.SCRIPT)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Install a wheel, whose ``.pth`` file Python reads in folders of packages only."""
    source, place = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("packages")
    checkout.install(source)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy2(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    made = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", place, source]
    subprocess.run(made, check=True, timeout=600)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".pyc")]
        archive.extractall(place)
    return place


def test_the_package_finds_its_workflow(place, tmp_path):
    command = [sys.executable, "-I", "-c", LOOK.format(place=str(place))]
    said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout.strip() == str(place / "ensemble_search_workflow/workflow_scripts/automl.py")


def test_the_workflow_is_whole(place, tmp_path):
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(checkout.STUDY), encoding="utf-8")
    snakefile = place / "ensemble_search_workflow/Snakefile"
    command = [sys.executable, "-I", "-m", "snakemake", "--snakefile", snakefile]
    command += ["--configfile", "study.yaml", "--cores", "1", "--dry-run"]
    run = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "manifest" in run.stdout
