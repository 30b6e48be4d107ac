"""The workflow as a user runs it, on tiny studies in a copy of the repository."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from support import SCRIPTS, forks
from support.checkout import STUDY, Checkout

pytestmark = pytest.mark.slow

SURROGATES = {
    "names": ["forest-kernel"], "repeats": 1, "sizes": [4], "held_out": 3, "configurations": 7
}  # fmt: skip
#: What every study ends with.
LAST = {"report": 1, "manifest": 1}


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished tiny study, for tests that only look, or copy it first."""
    result = Checkout(tmp_path_factory.mktemp("finished"))
    result.snakemake()
    return result


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of the finished study, with its times, to be changed."""
    shutil.copytree(finished.folder, tmp_path / "copy", copy_function=shutil.copy2)
    result = object.__new__(Checkout)
    result.folder = tmp_path / "copy"
    result.environment = finished.environment
    return result


def test_jobs_of_the_paper_study(checkout):
    """15 data sets x 10 repeats x (6 searches + 10 methods), and what they need; here of two."""
    config = yaml.safe_load((checkout.folder / "config.yaml").read_text(encoding="utf-8"))
    assert config["repeats"] == 10
    assert checkout.planned("--configfile", "config.yaml", "--config", "repeats=2") == {
        "all": 1,
        "ensemble": 300,
        "fetch": 15,
        "manifest": 1,
        "report": 1,
        "search": 180,
        "split": 15,
    }


def test_a_finished_study(finished):
    folder = finished.folder / "results/tiny"
    assert finished.planned() == {}
    observations = pd.read_parquet(folder / "searches/wine/bo/0/observations.parquet")
    assert list(observations.iteration) == list(range(1, 9))
    assert observations.status.eq("ok").sum() >= 6
    assert observations["config.algorithm"].notna().all()
    predictions = np.load(folder / "searches/wine/bo/0/predictions-test.npy", allow_pickle=False)
    assert predictions.shape == (8, 36, 3)
    manifest = json.loads((folder / "searches/wine/bo/0/search.json").read_text())
    assert manifest["evaluations"] == 8
    scores = pd.read_parquet(folder / "ensembles/wine/bo/best/0/scores.parquet")
    best = observations.error.min()
    assert scores.validation_error.iloc[-1] == pytest.approx(best)
    assert "<html" in (folder / "report/index.html").read_text(encoding="utf-8")


#: A plugin of a storage that can do nothing.
STORAGE = """
from snakemake_interface_storage_plugins.storage_object import StorageObjectRead, StorageObjectWrite
from snakemake_interface_storage_plugins.storage_provider import StorageProviderBase

class StorageProvider(StorageProviderBase):
    pass

class StorageObject(StorageObjectRead, StorageObjectWrite):
    pass

StorageProvider.__abstractmethods__ = frozenset()
"""


def test_results_stay_local_with_a_default_storage_provider(finished, tmp_path):
    plugin = tmp_path / "snakemake_storage_plugin_elsewhere/__init__.py"
    make(plugin.parent)
    plugin.write_text(STORAGE, encoding="utf-8")
    cluster = object.__new__(Checkout)
    cluster.folder = finished.folder
    cluster.environment = {**finished.environment, "PYTHONPATH": str(tmp_path)}
    options = ("--default-storage-provider", "elsewhere", "--default-storage-prefix", "/there")
    assert cluster.planned(*options) == {}


@pytest.mark.slow
def test_a_study_with_the_fs_storage_plugin(finished, checkout, tmp_path):
    """All results are local, the same as without it, and none is stored."""
    pytest.importorskip("snakemake_storage_plugin_fs")
    storage = ("--default-storage-provider", "fs", "--default-storage-prefix", f"{tmp_path}/there")
    assert "note: results stay local files" in checkout.snakemake(*storage)
    assert checkout.results() == finished.results()
    assert not (tmp_path / "there").exists()


def test_both_searches_start_from_the_same_random_configurations(finished):
    folder = finished.folder / "results/tiny/searches/wine"
    frames = [
        pd.read_parquet(folder / name / "0/observations.parquet").filter(like="config.").head(5)
        for name in ("random", "bo")
    ]
    pd.testing.assert_frame_equal(*frames)
    assert frames[0]["config.algorithm"].nunique() > 1


def test_the_split_and_test_labels_stay_away_from_searches(finished):
    """The job of a search does not need the labels of the test set."""
    text = finished.snakemake("--dry-run", "--forceall", "-p")
    commands = [line for line in text.splitlines() if "search.py" in line]
    assert commands
    inputs = np.load(
        finished.folder / "results/tiny/splits/wine/fixed/inputs.npz", allow_pickle=False
    )
    assert not [key for key in inputs if key.startswith("y_test")]
    blocks = text.split("rule ")
    searches = [b for b in blocks if b.startswith("search:")]
    assert searches
    assert all("test_labels" not in b for b in searches)


def test_jobs_ask_for_memory_by_the_size_of_the_data(copied):
    path = copied.folder / "results/data/sklearn-wine/dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rows": 10**6, "prepared": 250}))
    os.truncate(copied.folder / "results/tiny/splits/wine/fixed/inputs.npz", 700_000_000)
    text = copied.snakemake("--dry-run", "--forceall")
    asked = dict(re.findall(r"rule (split|search):\n(?:.*\n)*?.*mem_mb=(\d+)", text))
    # A million rows of 250 numbers are 2 GB.
    assert asked["split"] == "3500"
    assert asked["search"] == str(4096 + 2000 + 667)  # MiB


def test_configfile_replaces_the_default_study(finished):
    assert not (finished.folder / "results/paper").exists()
    text = finished.snakemake("--dry-run", "--forceall", "--quiet", "rules")
    assert "search" in text
    assert "openml" not in text


def test_splits_that_were_swapped_are_noticed_before_a_search_starts(copied):
    """Renaming folders leaves their times, so that Snakemake sees no change."""
    splits, search = copied.folder / "results/tiny/splits", "results/tiny/searches/wine/bo/0"
    made = splits / "wine/fixed/split.json"
    times = made.stat()
    made.write_text(made.read_text().replace('"source_checksum": "', '"source_checksum": "0'))
    os.utime(made, ns=(times.st_atime_ns, times.st_mtime_ns))
    shutil.rmtree(copied.folder / search)
    said = copied.snakemake(fails=True)
    assert said.count("\nerror: cannot read 'results/tiny/splits/wine/fixed/split.json': ") == 1
    assert "remove the folder 'results/tiny/splits/wine/fixed' and run the study again" in said
    assert not (copied.folder / search / "search.json").exists()
    shutil.rmtree(splits / "wine/fixed")
    copied.snakemake("--until", "search")
    assert (copied.folder / search / "search.json").exists()


def test_a_larger_budget_continues_and_a_smaller_one_recomputes_nothing(copied):
    before = copied.results()
    copied.write({**STUDY, "budget": {"evaluations": 12}})
    assert copied.planned() == {"all": 1, "search": 2, "ensemble": 3, **LAST}
    copied.snakemake("--until", "ensemble")
    for name in ("random", "bo"):
        log = (copied.folder / f"results/tiny/logs/search/wine/{name}/0.log").read_text()
        assert "continues after 8 evaluations" in log
        assert "9/12" in log
        assert "8/12" not in log
    copied.run(STUDY, "--until", "ensemble")
    assert copied.results() == before
    log = (copied.folder / "results/tiny/logs/search/wine/bo/0.log").read_text()
    assert [line.split(": ")[1][:5] for line in log.splitlines()] == ["conti", "8/8, "]


@contextmanager
def started(checkout) -> Iterator[subprocess.Popen]:
    """Start the workflow, as :func:`start` does; it is killed after the block."""
    process = start(checkout)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def start(checkout) -> subprocess.Popen:
    """Start the workflow in the background; what it prints goes to the file ``said``."""
    with (checkout.folder / "said").open("w") as said:
        return subprocess.Popen(
            checkout.command(),
            cwd=checkout.folder,
            env=forks.environment(checkout.folder, forked=False),
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def kill_when_searching(checkout, process, evaluations: int, kill) -> None:
    """Kill a workflow once its searches have stored so many evaluations."""
    until = time.monotonic() + 600
    journals = checkout.folder / "results/tiny/checkpoints"
    while time.monotonic() < until:
        lines = sum(len(p.read_bytes().splitlines()) for p in journals.rglob("journal.jsonl"))
        if lines >= evaluations:
            break
        time.sleep(0.02)
    assert process.poll() is None, "it had ended before it could be killed"
    kill(process.pid, signal.SIGKILL)
    process.wait()


#: A part of the study: one search, for what starts real processes, whose imports take long.
PART = {**STUDY, "methods": {"BO-ES": STUDY["methods"]["BO-ES"]}}


def check_part(made: dict[str, bytes], whole: dict[str, bytes]) -> None:
    """Compare the results of this part with those of the study."""
    table = "tiny/report/tables/test-error.csv"
    assert {*made.pop(table).splitlines()} <= {*whole.pop(table).splitlines()}
    assert made.items() <= whole.items()
    assert {name.split("/")[1] for name in made} >= {"splits", "searches", "ensembles"}


def test_killed_workflow_continues_with_the_same_command(checkout, finished):
    """All its processes are killed, or Snakemake alone."""
    checkout.write(PART)
    for evaluations, kill in ((1, os.killpg), (4, os.kill)):
        kill_when_searching(checkout, start(checkout), evaluations, kill)
    checkout.snakemake()
    assert checkout.planned() == {}
    check_part(checkout.results(), finished.results())


def wait_for(condition, process) -> None:
    until = time.monotonic() + 600
    while not condition() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    assert process.poll() is None, "it had ended"
    assert condition(), "it has not come so far in ten minutes"


def test_second_workflow_is_rejected_and_ctrl_c_is_no_failure(checkout):
    checkout.write({**STUDY, "budget": {"evaluations": 5000}})  # so that it cannot end before
    said = checkout.folder / "said"
    with started(checkout) as process:
        wait_for(lambda: "Finished jobid" in said.read_text(encoding="utf-8"), process)
        text = checkout.snakemake(fails=True)
        assert f"is being written by process {process.pid} on " in text
        assert "Traceback" not in text
        assert process.poll() is None, "it had ended"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 1, said.read_text(encoding="utf-8")
    text = said.read_text(encoding="utf-8")
    end = text[text.index("Terminating processes on user request") :]
    assert "Stopped, or something failed; what is finished stays." in end
    assert not re.search("Error|Exception|Failed:|non-zero", end), end


def test_ctrl_c_before_the_first_job_is_no_failure(checkout):
    said = checkout.folder / "said"
    with started(checkout) as process:
        wait_for(lambda: "Building DAG" in said.read_text(encoding="utf-8"), process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 1, said.read_text(encoding="utf-8")
    text = said.read_text(encoding="utf-8")
    assert "run the same command again" in text.lower()
    assert "Traceback" not in text


UNSTEADY = """
from pathlib import Path

from ensemble_search.runtime.errors import UserError
from ensemble_search.optimizers.random import RandomSearch as _RandomSearch

class Unsteady(_RandomSearch):
    for_good: bool = False

    def suggest(self, history, rng):
        if self.for_good or not Path("failed-once").exists():
            Path("failed-once").touch()
            raise UserError("no idea what to suggest")
        return super().suggest(history, rng)
"""


def test_a_run_that_failed_ends_with_what_failed_and_why(checkout):
    plugin = checkout.folder / "workflow_scripts/ensemble_search/optimizers/unsteady.py"
    plugin.write_text(UNSTEADY, encoding="utf-8")
    unsteady = {"once": {"optimizer": "unsteady"}}
    unsteady["often"] = {**unsteady["once"], "for_good": True}
    methods = {name: {"search": name, "ensemble": "best"} for name in ("once", "often", "random")}
    searches = {**STUDY["searches"], **unsteady}
    small = {"searches": searches, "methods": methods, "budget": {"evaluations": 2}}
    checkout.write({**STUDY, **small})
    said = checkout.snakemake("--quiet", "rules", "--retries", "1", fails=True)
    end = said[said.index("\nFailed:\n") :].splitlines()[2:]
    assert end[0].split() == ["rule", "job", "log", "reason"]
    log = "results/tiny/logs/search/wine/often/0.log"
    assert end[1] == f"search  tiny wine often 0  {log}  no idea what to suggest"
    assert end[2] == "", "the other's second attempt succeeded"
    assert (checkout.folder / "results/tiny/searches/wine/once/0/search.json").is_file()
    assert (checkout.folder / "results/tiny/searches/wine/random/0/search.json").is_file()


def test_a_job_that_ends_well_without_its_files_is_among_the_failures(checkout):
    (checkout.folder / "workflow_scripts/fetch.py").write_text("", encoding="utf-8")
    said = checkout.snakemake("--quiet", "rules", "--latency-wait", "0", fails=True)
    folder = "results/data/sklearn-wine"
    assert (
        f"\nfetch  sklearn-wine wine  {folder}/fetch.log  it ended without writing "
        f"{folder}/dataset.parquet, {folder}/dataset.json\n"
    ) in said


def test_the_versions_of_snakemake_that_are_asked_for_agree(checkout):
    least = re.search(r'min_version\("([\d.]+)"\)', (checkout.folder / "Snakefile").read_text())[1]
    requirements = (checkout.folder / "envs/requirements.in").read_text()
    pinned = re.search(r"^snakemake==([\d.]+)$", requirements, re.MULTILINE)[1]
    least, pinned = ([int(n) for n in version.split(".")] for version in (least, pinned))
    assert least <= pinned < [10]


def test_bad_study_gets_one_line_and_no_job(checkout):
    checkout.write({**STUDY, "repeaats": 3})
    text = checkout.snakemake(fails=True)
    assert "error: study.yaml: repeaats: unknown key; did you mean 'repeats'?" in text
    assert "Traceback" not in text
    assert not (checkout.folder / "results").exists()


def test_status_and_partial_report_of_a_study_that_has_not_run(checkout):
    run = checkout.script("status", "--study", "study.yaml")
    assert run.returncode == 0, run.stderr
    assert "2 searches: 2 waiting; 0/16 evaluations" in run.stdout
    run = checkout.script("partial_report", "--study", "study.yaml")
    assert run.returncode == 0, run.stderr
    page = "results/tiny/partial-report/index.html"
    assert (checkout.folder / page).is_file()
    assert run.stdout == f"Report on what is finished: {page}\n"


def test_partial_report_drops_the_files_of_removed_methods(tmp_path):
    text = """
study: s
datasets: {wine: {sklearn: wine}}
searches: {random: {optimizer: random}}
ensembles: {best: {type: best}}
methods: {RS: {search: random, ensemble: best}}
budget: {evaluations: 20}
"""
    (tmp_path / "study.yaml").write_text(text)
    folder = tmp_path / "results/s/partial-report"
    for name in ("tables/gone.csv", "figures/gone.svg", "notes/kept.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    script = SCRIPTS / "partial_report.py"
    command = ["python", script, "--study", "study.yaml"]
    environment = forks.environment(tmp_path)
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (folder / "index.html").is_file()
    assert (folder / "tables/settings.csv").is_file()
    assert not list(folder.rglob("gone.*"))
    assert (folder / "notes/kept.txt").is_file()


def test_status_of_a_finished_study(finished):
    run = finished.script("status", "--study", "study.yaml")
    assert run.returncode == 0, run.stderr
    assert "2 searches: 2 done; 16/16 evaluations" in run.stdout
    assert "8/8" in run.stdout


def test_a_report_with_a_page_that_could_not_be_made_is_not_done(copied):
    """The other pages are written, and the end of the run names the one that is not."""
    page = copied.folder / "workflow_scripts/ensemble_search/report/pages/broken.py"
    page.write_text('TITLE, ORDER = "Broken", 1\n\n\ndef build(results, publish):\n    1 / 0\n')
    folder = copied.folder / "results/tiny"
    text = copied.snakemake("--quiet", "rules", fails=True)
    assert (
        "1 page of the report could not be made: 'Broken' "
        "(ZeroDivisionError: division by zero); the rest is in "
        "'results/tiny/partial-report/index.html'\n"
    ) in text[text.index("\nFailed:\n") :]
    assert copied.planned() == {"all": 1, **LAST}
    assert not (folder / "report").exists()
    pages = {path.stem for path in (folder / "partial-report/pages").iterdir()}
    assert {"broken", "rank-curves"} <= pages
    partial = copied.script("partial_report", "--study", "study.yaml")
    assert partial.returncode == 2
    note, error = partial.stderr.splitlines()
    assert error.startswith("error: 1 page of the report could not be")
    assert note == "note: details are in results/tiny/logs/partial-report.log"
    assert "line 5, in build" in (folder / "logs/partial-report.log").read_text(encoding="utf-8")
    assert (folder / "partial-report/index.html").is_file()
    page.unlink()
    copied.snakemake("--quiet", "rules")
    assert (folder / "report/index.html").is_file()
    assert copied.planned() == {}


def test_another_split_for_every_repeat(checkout):
    checkout.write({**STUDY, "repeats": 2, "split": {"resample": "per-repeat"}})
    assert checkout.planned()["split"] == 2


def test_folds_and_workers(checkout):
    """A study whose search validates by folds and evaluates side by side; and it continues."""
    study = STUDY | {
        "split": {"folds": 2},
        "workers": 2,
        "surrogates": SURROGATES,
        "searches": {"bo": STUDY["searches"]["bo"]},
        "ensembles": STUDY["ensembles"] | {"stacking": {"type": "stacking", "size": 2}},
        "methods": {
            name: {"search": "bo", "ensemble": name} for name in ("selection-5", "stacking")
        },
    }
    checkout.run(study)
    folder = checkout.folder / "results/tiny"
    predictions = np.load(folder / "searches/wine/bo/0/predictions-validation.npy")
    assert predictions.shape == (8, 142, 3)
    scores = pd.read_parquet(folder / "ensembles/wine/bo/stacking/0/scores.parquet")
    assert 0 <= scores["validation_error"].iloc[-1] < 0.3
    assert not (folder / "checkpoints/wine/bo/stacking").exists()
    quality = folder / "surrogates/wine/forest-kernel/0/quality.parquet"
    assert len(pd.read_parquet(quality)) > 0
    found = checkout.results()
    checkout.write({**study, "workers": 1})
    assert checkout.planned() == {}
    shutil.rmtree(folder / "searches/wine/bo")
    shutil.rmtree(folder / "checkpoints/wine/bo")
    checkout.snakemake("--until", "ensemble")
    assert checkout.results() == found


def test_designs(checkout):
    """One of the samplers is run; the others are jobs of the study as well."""
    checkout.write(STUDY | {"spread": {"sizes": [3], "samples": 2}})
    designs = "results/tiny/spread/uniform/spread.parquet"
    checkout.snakemake("--", designs)
    assert pd.read_parquet(checkout.folder / designs)["size"].tolist() == [3, 3]
    assert checkout.planned()["spread"] == 3


def test_divisions(checkout):
    """A job for each search, and a page of the report; the searches stay as they are."""
    methods = {m: p for m, p in STUDY["methods"].items() if p["search"] == "random"}
    study = {**STUDY, "methods": methods, "divisions": 3}
    checkout.write(study)
    checkout.snakemake()
    folder = checkout.folder / "results/tiny"
    tables = sorted(folder.glob("divisions/*/random/*/divisions.parquet"))
    assert len(tables) == len(study["datasets"]) * study["repeats"]
    assert pd.read_parquet(tables[0])["division"].tolist() == [1, 2, 3] * len(methods)
    checkout.write({**study, "divisions": 4})
    assert checkout.planned()["divisions"] == len(tables)
    assert "search" not in checkout.planned()


def test_an_edit_of_the_evaluator_reruns_the_evaluations(copied):
    path = copied.folder / "workflow_scripts/ensemble_search/evaluation/live.py"
    path.write_text(path.read_text() + "\nCHANGED = True\n", encoding="utf-8")
    copied.snakemake("--until", "search")
    log = (copied.folder / "results/tiny/logs/search/wine/bo/0.log").read_text()
    assert "starts over" in log
    assert "code.evaluation: " in log
    assert "1/8" in log


def test_from_another_folder_and_with_a_space_in_the_path(tmp_path):
    checkout = Checkout(make(tmp_path / "a b"))
    work = make(tmp_path / "work here")
    shutil.copy(checkout.folder / "study.yaml", work)
    snakefile = str(checkout.folder / "Snakefile")
    checkout.folder = work
    checkout.snakemake("-s", snakefile)
    assert (work / "results/tiny/report/index.html").is_file()


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_data_file_may_have_any_name(checkout):
    """It is not read as a wildcard, option, pattern, variable or command; neither is a column."""
    name = "-{ai} {} {{x}} 'c' \"d\" $HOME * `touch made` ; touch made; é\\\n\t%41.csv"
    file, target = checkout.folder / name, "{w} 'y'\n\"$HOME\""
    frame = pd.DataFrame({"x": range(40), "{x}": [1, 2, 3, 4] * 10, target: ["a", "b"] * 20})
    frame.to_csv(file, index=False)
    checkout.run(
        {**STUDY, "datasets": {"any": {"file": name, "target": target}}}, "--until", "split"
    )
    assert not (checkout.folder / "made").exists()
    assert "split" not in checkout.planned()
    file.touch()
    assert "fetch" not in checkout.planned()
    with file.open("a") as stream:
        stream.write("41,2,a\n")
    assert checkout.planned()["fetch"] == 1
    assert (
        "fetch: 1 job\n  1 x its settings changed: content: "
        in checkout.script("why", "--study", "study.yaml").stdout
    )


def test_results_that_is_a_file_or_a_link_to_nothing(checkout):
    results = checkout.folder / "results"
    results.write_text("")
    text = checkout.snakemake(fails=True)
    assert "error: 'results' is a file" in text
    assert "Traceback" not in text
    results.unlink()
    results.symlink_to("elsewhere")
    text = checkout.snakemake(fails=True)
    assert "error: 'results' is a link to 'elsewhere', and there is no such folder" in text


def test_a_checkout_with_braces_in_its_path_is_rejected(tmp_path):
    text = Checkout(make(tmp_path / "a{b}")).snakemake("--dry-run", fails=True)
    assert "a{b}' has braces in its path" in text
    assert "Traceback" not in text


def test_a_renamed_study_file_reruns_nothing(finished):
    shutil.copy(finished.folder / "study.yaml", finished.folder / "renamed.yaml")
    assert finished.planned("--configfile", "renamed.yaml") == {}


#: What `snakemake --lint` may say here, with the reason.
LINTS = {
    # The Snakefile sets it.
    r"Environment variable ENSEMBLE_SEARCH_OPENML used but not asserted .*",
    # A function for the files of one rule stands above that rule.
    r"Mixed rules and functions in same snakefile\.",
    # Snakemake compares parameters between runs. These say how a job runs, and change no result.
    r"Shell command directly uses variable "
    r"(PYTHON|AUTOGLUON_PYTHON|SCRIPTS|SHARE|STUDY|JOBS|NEEDS) .*",
}


def test_lints(finished):
    text = finished.snakemake("--lint", fails=True)
    titles = set(re.findall(r"^    \* (.+?):?$", text, re.MULTILINE))
    assert titles
    assert [t for t in titles if not any(re.match(known, t) for known in LINTS)] == []


@pytest.mark.slow
def test_variables_of_the_environment_change_nothing(finished, checkout):
    checkout.environment |= {
        "PYTHONOPTIMIZE": "2",
        "PYTHONWARNINGS": "error",
        "PYTHONHASHSEED": "7",
        "PYTHONSTARTUP": "/no/such/file",
        "PYTHONIOENCODING": "ascii",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "LC_ALL": "C",
        "COLUMNS": "x",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "garbage",
        "OPENBLAS_NUM_THREADS": "-3",
        "NUMEXPR_MAX_THREADS": "x",
        "TMPDIR": "/no/such/folder",
        "HOME": "/no/such/home",
    }
    checkout.run(PART)
    check_part(checkout.results(), finished.results())
    for name, *options in (("status",), ("why",), ("verify", "--sample", "1"), ("partial_report",)):
        ended = checkout.script(name, "--study", "study.yaml", *options)
        assert ended.returncode == 0, ended.stderr
