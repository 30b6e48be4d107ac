"""A copy of the repository in another folder, with a tiny study: what tests of the workflow run."""

import functools
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import yaml

from ensemble_search.runtime.code_version import KEPT, code_version
from support import ROOT, SCRIPTS, forks

PARTS = ["Snakefile", "config.yaml", "rules", "workflow_scripts", "profiles", "studies", "envs"]
TIMES = {"suggest_seconds", "fit_seconds", "cpu_seconds", "predict_seconds", "memory_mb"}
STUDY = {
    "study": "tiny",
    "datasets": {"wine": {"sklearn": "wine"}},
    "repeats": 1,
    "budget": {"evaluations": 8},
    "limits": {"seconds": 60},
    "space": "divbo-small",
    "searches": {"random": {"optimizer": "random"}, "bo": {"optimizer": "bo"}},
    "ensembles": {"best": {"type": "best"}, "selection-5": {"type": "selection", "size": 5}},
    "methods": {
        "RS": {"search": "random", "ensemble": "best"},
        "BO": {"search": "bo", "ensemble": "best"},
        "BO-ES": {"search": "bo", "ensemble": "selection-5"},
    },
}


def install(folder: Path, source: Path = ROOT) -> None:
    """Copy what a user of the workflow needs from a repository, with what is kept of its code."""
    parse()
    for part in PARTS:
        if (source / part).is_dir():
            shutil.copytree(source / part, folder / part, ignore=unfinished)
        else:
            shutil.copy2(source / part, folder / part)


@functools.cache
def parse() -> None:
    """Parse the code here once, instead of in every copy."""
    modules = (path.relative_to(SCRIPTS).with_suffix("") for path in SCRIPTS.rglob("*.py"))
    code_version(*(".".join(module.parts) for module in modules))


def unfinished(folder: str, names: list[str]) -> list[str]:
    """Name the files of a folder that another process may be writing."""
    if Path(folder).name != "__pycache__":
        return []
    return [n for n in names if not n.endswith(".pyc") and n != Path(KEPT).name]


class Checkout:
    """A copy of the repository with a study file, and the commands of a user in it.

    ``forked`` says whether `python` and `snakemake` are the stand-ins of ``support.forks``.
    """

    def __init__(self, folder: Path, forked: bool = True):
        self.folder = folder
        install(folder)
        self.write(STUDY)
        self.environment = forks.environment(folder, forked)

    def write(self, study: dict, name: str = "study.yaml") -> None:
        (self.folder / name).write_text(yaml.safe_dump(study), encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        return ["snakemake", "--cores", "2", "--configfile", "study.yaml", *arguments]

    def snakemake(self, *arguments: str, fails: bool = False) -> str:
        run = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=1500,
            check=False,
        )
        assert (run.returncode != 0) is fails, run.stdout
        return run.stdout

    def run(self, study: dict, *arguments: str) -> None:
        """Write the study, and run it."""
        self.write(study)
        self.snakemake("--quiet", "rules", *arguments)

    def planned(self, *arguments: str) -> dict[str, int]:
        """Jobs by rule that a dry run announces; empty when there is nothing to do."""
        text = self.snakemake("--dry-run", "--quiet", "rules", *arguments)
        if "Nothing to be done" in text:
            return {}
        lines = text.split("count")[1].splitlines()[2:]
        table = [line.split() for line in lines]
        counts = {row[0]: int(row[1]) for row in table if len(row) == 2 and row[1].isdigit()}
        del counts["total"]
        return counts

    def script(self, name: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["python", f"workflow_scripts/{name}.py", *arguments],
            cwd=self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            timeout=600,
            check=False,
        )

    def results(self) -> dict[str, bytes]:
        """What must not depend on time or interruptions, by file."""
        found = {}
        for path in sorted((self.folder / "results").rglob("*")):
            name = str(path.relative_to(self.folder / "results"))
            if "/logs/" in name or "/checkpoints/" in name or "/benchmarks/" in name:
                continue
            if path.name in ("observations.parquet", "scores.parquet"):
                frame = pd.read_parquet(path)
                frame = frame[[name for name in frame if name not in TIMES]]
                found[name] = frame.to_json(double_precision=15).encode()
            elif path.suffix in (".npy", ".npz", ".parquet") or path.name in (
                "dataset.json",
                "split.json",
                "test-error.csv",
            ):
                found[name] = path.read_bytes()
        return found
