"""docs/reruns.md: every row of its table, checked on a finished study.

The table there is the rendering of :data:`ROWS`, which this prints:

    PYTHONPATH=workflow_scripts:tests python tests/workflow/test_reruns.py
"""

import os
import shutil
import subprocess
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

import why
from ensemble_search.jobs import Jobs
from ensemble_search.runtime.errors import UserError
from ensemble_search.study.model import check
from support import ROOT, forks
from support.checkout import PARTS, install

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs/reruns.md"
START, END = "<!-- reruns: start -->", "<!-- reruns: end -->"
DATASETS = ("flowers", "wine")
SEARCHES = ("bo", "divbo", "random")
PAIRS = (("bo", "best"), ("bo", "selection-5"), ("divbo", "selection-5"), ("random", "best"))
STUDY = {
    "study": "tiny",
    "datasets": {"flowers": {"file": "flowers.csv", "target": "kind"}, "wine": {"sklearn": "wine"}},
    "repeats": 1,
    "budget": {"evaluations": 8},
    "limits": {"seconds": 60},
    "space": "divbo-small",
    "searches": {
        "random": {"optimizer": "random"},
        "bo": {"optimizer": "bo"},
        "divbo": {"optimizer": "divbo", "candidates": 200, "local": 5},
    },
    "ensembles": {"best": {"type": "best"}, "selection-5": {"type": "selection", "size": 5}},
    "methods": {
        "RS": {"search": "random", "ensemble": "best"},
        "BO": {"search": "bo", "ensemble": "best"},
        "BO-ES": {"search": "bo", "ensemble": "selection-5"},
        "DivBO": {"search": "divbo", "ensemble": "selection-5"},
    },
}
#: What every study ends with.
LAST = {"report", "manifest"}


class Checkout:
    """A copy of the repository, with a study in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = forks.environment(folder)
        self.environment.pop("PYTHONPATH", None)
        self.study = yaml.safe_load(yaml.safe_dump(STUDY))

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            timeout=1500,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def write(self) -> None:
        (self.folder / "study.yaml").write_text(yaml.safe_dump(self.study), encoding="utf-8")

    def snakemake(self, *options: str) -> str:
        self.write()
        command = ("snakemake", "--configfile", "study.yaml", "--cores", "2", *options)
        return self.run(*command)

    def planned(self, *options: str) -> set[str]:
        """Names of the jobs that a dry run announces, such as ``search wine bo``."""
        self.said = self.snakemake("--dry-run", *options)
        found = set()
        for rule, wildcards, _ in why.jobs(self.said):
            values = dict(w.split("=") for w in wildcards.split(", ") if w)
            values.pop("study", None)
            if values.get("repeat") == "0":
                del values["repeat"]
            if rule == "fetch":  # its folder is named after the source
                values = {"": values["source"].split("-")[1]}
            found.add(" ".join([rule, *values.values()]))
        return found

    def code(self, module: str, text: str = "\nCHANGED = True\n") -> None:
        """Change the code of a module of the library."""
        path = self.folder / "workflow_scripts" / module
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    def touch(self) -> None:
        for path in self.folder.rglob("*"):
            if "results" not in path.parts and ".snakemake" not in path.parts and path.is_file():
                os.utime(path)


def follow(searches=(), ensembles=(), datasets=DATASETS, pairs=PAIRS) -> set[str]:
    """These searches, the jobs of these ensembles, and all that follows from them."""
    found = {f"search {d} {s}" for d in datasets for s in searches}
    found |= {
        f"ensemble {d} {s} {e}"
        for d in datasets
        for s, e in pairs
        if s in searches or e in ensembles
    }
    return found | LAST


EVERYTHING = follow(SEARCHES) | {f"{r} {d}" for r in ("fetch",) for d in DATASETS}
EVERYTHING |= {f"split {d} fixed" for d in DATASETS}


@dataclass
class Row:
    """A row of the table: the change, what reruns (for readers), and exactly which jobs."""

    changed: str
    again: str
    jobs: set[str] | Callable[[Checkout], set[str]]
    change: Callable[[Checkout], object] = lambda c: None
    options: tuple[str, ...] = field(default=())
    says: str = ""

    @property
    def name(self) -> str:
        return self.changed.replace("`", "")


def section(name: str, **values):
    return lambda c: c.study[name].update(values)


def another_branch_and_back(c: Checkout) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    c.run(*git, "init", "-q")
    c.run(*git, "add", *PARTS)
    c.run(*git, "commit", "-qm", "one")
    c.run(*git, "checkout", "-qb", "other")
    for path in (c.folder / "workflow_scripts").rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8") + "\nOTHER = 1\n", encoding="utf-8")
    c.run(*git, "commit", "-qam", "two")
    c.run(*git, "checkout", "-q", "main")


def fresh_clone(c: Checkout) -> None:
    """New files of the repository, with the results and Snakemake's records copied in."""
    old = c.folder
    c.folder = old.parent / f"{old.name}-clone"
    c.folder.mkdir()
    install(c.folder, old)
    c.touch()
    for name in ("results", ".snakemake"):
        shutil.copytree(old / name, c.folder / name, copy_function=shutil.copy2)
    shutil.copy(old / "flowers.csv", c.folder)


def better_documented(c: Checkout) -> None:
    for path in (c.folder / "workflow_scripts").rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace('"""', '"""New words. ', 1)
        path.write_text(f"{text}\n\n# a comment\n", encoding="utf-8")


def new_value_in_the_data(c: Checkout) -> None:
    path = c.folder / "flowers.csv"
    path.write_text(path.read_text().replace("5.1", "5.2", 1))
    os.utime(path, (10**9, 10**9))  # older than what was computed from it


def slowest(c: Checkout) -> dict[tuple[str, str], pd.DataFrame]:
    folder = c.folder / "results/tiny/searches"
    return {
        (d, s): pd.read_parquet(folder / d / s / "0/observations.parquet")
        for d in DATASETS
        for s in SEARCHES
    }


def new_method(c: Checkout) -> None:
    c.study["methods"]["RS-ES"] = {"search": "random", "ensemble": "selection-5"}


def new_search(c: Checkout) -> None:
    c.study["searches"]["bo-4"] = {"optimizer": "bo", "initial": 4}
    c.study["methods"]["BO-4"] = {"search": "bo-4", "ensemble": "best"}


def new_ensemble(c: Checkout) -> None:
    c.study["ensembles"]["selection-3"] = {"type": "selection", "size": 3}
    c.study["methods"]["BO-3"] = {"search": "bo", "ensemble": "selection-3"}


def surrogates_added(c: Checkout) -> None:
    small = {"repeats": 2, "sizes": [4], "configurations": 8, "held_out": 4}
    c.study["surrogates"] = {"names": ["forest-kernel"], "datasets": ["wine"], **small}


def third_dataset(c: Checkout) -> None:
    c.study["datasets"]["iris"] = {"sklearn": "iris"}


SECOND = {f"{job} 1" for job in follow(SEARCHES) - LAST} | LAST
NOTHING: set[str] = set()
ROWS = [
    Row("nothing", "nothing", NOTHING),
    Row("`touch` of every file", "nothing", NOTHING, Checkout.touch),
    Row("`git checkout` of another branch, and back", "nothing", NOTHING, another_branch_and_back),
    Row("a fresh clone, `results/` and `.snakemake/` copied in", "nothing", NOTHING, fresh_clone),
    Row("number of cores", "nothing", NOTHING, options=("--cores", "7")),
    Row(
        "`threads`, `mem_mb` or `runtime` of a rule",
        "nothing",
        NOTHING,
        options=(
            "--set-threads",
            "search=2",
            "--set-resources",
            "search:mem_mb=9",
            "fetch:runtime=9",
        ),
    ),
    Row("profile, executor", "nothing", NOTHING, options=("--workflow-profile", "profiles/slurm")),
    Row("comments, docstrings, layout of any module", "nothing", NOTHING, better_documented),
    Row(
        "one optimizer's module (`random.py`)",
        "its searches and what follows from them",
        follow(["random"]),
        lambda c: c.code("ensemble_search/optimizers/random.py"),
    ),
    Row(
        "a module that two optimizers share (`acquisition.py`)",
        "the searches of both and what follows",
        follow(["bo", "divbo"]),
        lambda c: c.code("ensemble_search/optimizers/_model_based/acquisition.py"),
    ),
    Row(
        "a surrogate's module (`forest_kernel.py`)",
        "the searches and the evaluations that use it",
        follow(["divbo"]),
        lambda c: c.code("ensemble_search/surrogates/forest_kernel.py"),
    ),
    Row(
        "the space's module",
        "all searches and what follows",
        follow(SEARCHES),
        lambda c: c.code("ensemble_search/spaces/divbo_small.py"),
    ),
    Row(
        "a module of the learners",
        "all searches and what follows",
        follow(SEARCHES),
        lambda c: c.code("ensemble_search/learners/classifiers.py"),
    ),
    Row(
        "an ensemble's module (`best.py`)",
        "its jobs",
        follow(ensembles=["best"]),
        lambda c: c.code("ensemble_search/ensembles/best.py"),
    ),
    Row(
        "ensemble selection (`selection.py`)",
        "its jobs, and DivBO's searches, which use it",
        follow(["divbo"], ["selection-5"]),
        lambda c: c.code("ensemble_search/ensembles/selection.py"),
    ),
    Row("an analysis", "the report", LAST, lambda c: c.code("ensemble_search/analysis/ranks.py")),
    Row(
        "a template or style of the report",
        "the report",
        LAST,
        lambda c: c.code("ensemble_search/report/style.css", "\nbody {margin: 0}\n"),
    ),
    Row(
        "a setting of one search",
        "that search and what follows",
        follow(["bo"]),
        section("searches", bo={"optimizer": "bo", "initial": 4}),
    ),
    Row(
        "a setting of one ensemble",
        "its jobs",
        follow(ensembles=["selection-5"]),
        section("ensembles", **{"selection-5": {"type": "selection", "size": 6}}),
    ),
    Row(
        "a new data set",
        "only its jobs",
        {"fetch iris", "split iris fixed"} | follow(SEARCHES, datasets=["iris"]),
        third_dataset,
    ),
    Row(
        "`evaluation.share`, `workers`",
        "nothing",
        NOTHING,
        lambda c: c.study.update(evaluation={"share": True}, workers=2),
    ),
    Row("a new repeat", "only its jobs", SECOND, lambda c: c.study.update(repeats=2)),
    Row(
        "a new search, with a method",
        "only its jobs",
        follow(["bo-4"], pairs=[("bo-4", "best")]),
        new_search,
    ),
    Row(
        "a new ensemble, with a method",
        "only its jobs",
        follow(ensembles=["selection-3"], pairs=[("bo", "selection-3")]),
        new_ensemble,
    ),
    Row(
        "`surrogates` added: one on one data set, two repeats",
        "its evaluations, and the configurations they are made on",
        {"configurations wine", "surrogate wine forest-kernel", "surrogate wine forest-kernel 1"}
        | LAST,
        surrogates_added,
    ),
    Row(
        "a new method",
        "only its ensembles",
        follow(ensembles=["selection-5"], pairs=[("random", "selection-5")]),
        new_method,
    ),
    Row("a method removed", "the report", LAST, lambda c: c.study["methods"].pop("BO-ES")),
    Row("a data set removed", "the report", LAST, lambda c: c.study["datasets"].pop("wine")),
    Row(
        "`report.reference`",
        "the report",
        LAST,
        lambda c: c.study.update(report={"reference": "RS"}),
    ),
    Row(
        "`budget.evaluations` raised",
        "every search, from its last evaluation on",
        follow(SEARCHES),
        section("budget", evaluations=9),
    ),
    Row(
        "`budget.evaluations` lowered",
        "every search, from its journal: nothing is fitted",
        follow(SEARCHES),
        section("budget", evaluations=7),
    ),
    Row(
        "`limits`",
        "every search, from the first evaluation that could end otherwise",
        follow(SEARCHES),
        section("limits", seconds=70, memory_mb=5000),
    ),
    Row(
        "a data file, or `version:`, `md5:` of one from OpenML",
        "its data set's jobs; a line says so",
        {"fetch flowers", "split flowers fixed"} | follow(SEARCHES, datasets=["flowers"]),
        new_value_in_the_data,
        says="DATA CHANGED: 'flowers.csv' has changed",
    ),
    Row(
        "`columns` of a data set",
        "its data set's jobs",
        {"fetch flowers", "split flowers fixed"} | follow(SEARCHES, datasets=["flowers"]),
        lambda c: c.study["datasets"]["flowers"].update(columns={"drop": ["sepal length (cm)"]}),
    ),
    Row(
        "a lost result",
        "it and what follows",
        follow(["bo"], datasets=["wine"]),
        lambda c: shutil.rmtree(c.folder / "results/tiny/searches/wine/bo"),
    ),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The finished study."""
    from sklearn.datasets import load_iris

    result = Checkout(tmp_path_factory.mktemp("reruns") / "study")
    result.folder.mkdir()
    install(result.folder)
    data = load_iris(as_frame=True)
    data.data.assign(kind=data.target_names[data.target]).to_csv(
        result.folder / "flowers.csv", index=False
    )
    result.snakemake("--quiet", "all")
    return result


def copy_of(finished: Checkout, folder: Path) -> Checkout:
    shutil.copytree(finished.folder, folder, copy_function=shutil.copy2)
    return Checkout(folder)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(row, finished, tmp_path):
    checkout = copy_of(finished, tmp_path / "study")
    row.change(checkout)
    expected = row.jobs(checkout) if callable(row.jobs) else row.jobs
    assert checkout.planned(*row.options) == expected
    assert row.says in checkout.said


def test_all_jobs_of_the_example(finished, tmp_path):
    checkout = copy_of(finished, tmp_path / "study")
    assert checkout.planned("--forceall") == EVERYTHING


def table() -> str:
    """The table as docs/reruns.md has it."""
    lines = ["| I changed | runs again |", "|---|---|"]
    return "\n".join([*lines, *(f"| {row.changed} | {row.again} |" for row in ROWS)])


def test_another_version_at_openml_is_fetched_again():
    """What Snakemake compares of a data set holds its pins."""

    def told(**pins):
        return Jobs(check(STUDY | {"datasets": {"quake": {"openml": 772, **pins}}})).source(
            "openml-772"
        )

    assert len({told(), told(version=1), told(version=2), told(md5="0" * 32)}) == 4


def test_the_page_has_the_table():
    text = PAGE.read_text(encoding="utf-8")
    assert text.split(START)[1].split(END)[0].strip() == table()


def test_lowered_limits_evaluate_again_from_the_first_affected_evaluation(finished, tmp_path):
    checkout = copy_of(finished, tmp_path / "study")
    checkout.study["limits"]["seconds"] = 0.001
    checkout.study["datasets"].pop("flowers")
    checkout.study["methods"] = {"RS": {"search": "random", "ensemble": "best"}}
    checkout.snakemake("--quiet", "all", "--until", "search")
    assert checkout.planned() == {"ensemble wine random best"} | LAST
    log = checkout.folder / "results/tiny/logs/search/wine/random/0.log"
    first = slowest(finished)["wine", "random"]
    beyond = (first.cpu_seconds > 0.001) | (first.fit_seconds > 0.002)
    kept = int(beyond.to_numpy().argmax())
    text = log.read_text(encoding="utf-8")
    assert ("starts over" if kept == 0 else f"takes over {kept} of 8") in text
    observations = "results/tiny/searches/wine/random/0/observations.parquet"
    assert (pd.read_parquet(checkout.folder / observations).status == "timeout").any()


def test_why_explains_it(finished, tmp_path):
    checkout = copy_of(finished, tmp_path / "study")
    checkout.study["searches"]["bo"] = {"optimizer": "bo", "initial": 4}
    checkout.code("ensemble_search/ensembles/best.py")
    checkout.write()
    lines = checkout.run("python", "workflow_scripts/why.py", "--study", "study.yaml").splitlines()
    assert "search: 2 jobs" in lines
    settings = "its settings changed: optimizer.initial: 5 before, 4 now"
    assert any(settings in line and "tiny wine bo 0" in line for line in lines)
    assert lines[lines.index("report: 1 job") + 1].endswith(" (tiny)")
    assert any(
        "the code that it depends on changed" in line and "tiny wine random best" in line
        for line in lines
    )


def test_why_calls_a_setting_without_a_value_nothing():
    settings = '{"report": {"reference": null}}', '{"report": {"reference": "RS"}}'
    before, now = (f"'{text}'" for text in settings)
    said = "its settings changed: report.reference: {}"
    for old, new, change in (
        (before, now, "nothing before, RS now"),
        (now, before, "RS before, nothing now"),
    ):
        reason = f"Params have changed since last execution: before: {old} now: {new}"
        assert why.words(reason) == said.format(change)


def test_why_lists_each_mistake_of_a_study_in_a_line(monkeypatch):
    said = SimpleNamespace(returncode=1, stdout="", stderr="Using\nerror: a: one\nerror: b: two\n")
    monkeypatch.setattr(why.subprocess, "run", lambda *_, **__: said)
    with pytest.raises(UserError) as caught:
        why.dry_run("study.yaml", [])
    assert caught.value.problems == ("a: one", "b: two")


def test_why_does_not_call_an_interrupted_job_forced(finished, tmp_path):
    checkout = copy_of(finished, tmp_path / "study")
    checkout.write()
    output = "results/tiny/searches/wine/bo/0/search.json"
    marker = checkout.folder / ".snakemake/incomplete" / urlsafe_b64encode(output.encode()).decode()
    marker.parent.mkdir(exist_ok=True)
    marker.write_text('{"external_jobid": null}', encoding="utf-8")
    said = checkout.run("python", "workflow_scripts/why.py", "--study", "study.yaml")
    reason = "interrupted before it finished, or forced by an option"
    assert f"search: 1 job\n  1 x {reason} (tiny wine bo 0)\n" in said
    assert "it was forced" not in said


if __name__ == "__main__":
    print(table())
