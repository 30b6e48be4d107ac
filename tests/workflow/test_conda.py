"""`snakemake --sdm conda` with a stand-in `conda`: what it is asked for, and what runs inside.

No channel is reached, and no package is solved for: docs/environments.md says what that leaves
untested.
"""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.deployment.conda import MIN_CONDA_VER

from support import ROOT
from support.checkout import install

pytestmark = pytest.mark.slow

STUDY = {
    "study": "tiny",
    "datasets": {"wine": {"sklearn": "wine"}},
    "repeats": 1,
    "budget": {"evaluations": 7},
    "searches": {"random": {"optimizer": "random"}},
    "ensembles": {"best": {"type": "best"}},
    "methods": {"RS": {"search": "random", "ensemble": "best"}},
    "autogluon": {"seconds": 5},
}
# Answers as conda does, writes down what it was asked, and makes environments whose python is a
# script that writes down its environment before it becomes this interpreter.
CONDA = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  --version) echo "conda {version}" ;;
  "clean -y --tarballs") ;;
  "info --json") echo '{{"conda_prefix": "{prefix}", "platform": "linux-64"}}' ;;
  "config --get channel_priority --json") echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
  "env create "*)
    for folder in "$@"; do :; done
    mkdir -p "$folder/bin"
    printf '#!/bin/sh\\necho "%s" >> {ran}\\nexec {python} "$@"\\n' "$folder" > "$folder/bin/python"
    chmod +x "$folder/bin/python" ;;
  *) echo "not known: $*" >&2; exit 1 ;;
esac
"""
COMMAND = ("--sdm", "conda", "--cores", "1", "--configfile", "study.yaml")
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'


class Stand:
    """A checkout, and a stand-in for conda."""

    def __init__(self, folder: Path):
        self.folder = folder / "work"
        self.folder.mkdir()
        install(self.folder)
        (self.folder / "study.yaml").write_text(yaml.safe_dump(STUDY))
        self.prefix, self.log, self.ran = folder / "conda", folder / "asked", folder / "ran"
        (self.prefix / "bin").mkdir(parents=True)
        conda = self.prefix / "bin/conda"
        facts = {"log": self.log, "ran": self.ran, "prefix": self.prefix, "python": sys.executable}
        conda.write_text(CONDA.format(version=MIN_CONDA_VER, **facts))
        conda.chmod(conda.stat().st_mode | stat.S_IXUSR)
        (self.prefix / "bin/activate").write_text(ACTIVATE)

    def snakemake(self, *options: str) -> str:
        paths = (self.prefix / "bin", Path(sys.executable).parent, os.environ["PATH"])
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", *COMMAND, *options],
            cwd=self.folder,
            env={**os.environ, "PATH": os.pathsep.join(map(str, paths)), "HOME": str(self.folder)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=1500,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def environments(self) -> dict[str, dict]:
        """Folder -> content of the environment files that were made into environments."""
        found = {}
        for line in self.log.read_text().splitlines():
            if line.startswith("env create "):
                words = line.split()
                file, folder = (Path(words[words.index(k) + 1]) for k in ("--file", "--prefix"))
                found[str(folder)] = yaml.safe_load(file.read_text())
        return found


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    """One job has run in its environment; what there was to say, and a dry run before it."""
    stand = Stand(tmp_path_factory.mktemp("conda"))
    stand.planned = stand.snakemake("--dry-run", "--quiet", "rules")
    stand.before = stand.log.read_text()
    file = "results/tiny/splits/wine/fixed/split.json"
    stand.said = stand.snakemake("--", file)
    stand.file = stand.folder / file
    return stand


def test_a_dry_run_names_every_environment_and_makes_none(stand):
    for file in (ROOT / "envs").glob("*.yaml"):
        assert f"Conda environment envs/{file.name} will be created." in stand.planned, file.name
    assert "create" not in stand.before


def test_only_the_environment_that_is_needed_is_made_from_its_file(stand):
    (made,) = stand.environments().values()
    assert made == yaml.safe_load((ROOT / "envs/ensemble-search.yaml").read_text())


def test_jobs_run_with_the_python_of_the_environment(stand):
    (folder,) = stand.environments()
    assert stand.ran.read_text().splitlines() == [folder] * 2, "fetch and split"
    assert json.loads(stand.file.read_text())["files"]
