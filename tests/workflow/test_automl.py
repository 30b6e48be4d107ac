"""`make ensemble`: from a table to an ensemble, in a copy of the repository."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import chdir
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import psutil
import pytest
import yaml

import automl
from ensemble_search import table_search
from ensemble_search.delivery import doors
from ensemble_search.delivery.limits import NONE_WITHIN
from ensemble_search.metrics.error import ERROR
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import short
from support import ROOT, forks, markdown
from support.checkout import Checkout

pytestmark = pytest.mark.slow

#: No column divides the rows.
ALIKE = {**dict.fromkeys(automl.ROLES), "columns": "", "test": "", "positive": ""}
#: What the tutorial does in Python: makes a table, shows predictions, and evaluations.
TUTORIAL = markdown.blocks((ROOT / "docs/tutorials/ensemble.md").read_text("utf-8"), "python")


class Automl(Checkout):
    """A copy of the repository with the table of the tutorial: numbers, text, missing values."""

    def __init__(self, folder):
        super().__init__(folder)
        with chdir(folder):
            exec(TUTORIAL[0], {})
        (folder / "articles.csv").rename(folder / "my table.csv")

    def start(self, *options, interrupts=signal.SIG_DFL):
        """Start it; a background job of a shell ignores interrupts, and so may these tests."""
        return subprocess.Popen(
            [
                *("python", "workflow_scripts/automl.py", "--data", "my table.csv"),
                *("--target", "left", "--cores", "1", *options),
            ],
            cwd=self.folder,
            env=forks.environment(self.folder, forked=False),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(signal.signal, signal.SIGINT, interrupts),  # noqa: PLW1509
        )

    def automl(self, *options):
        process = self.start(*options, interrupts=signal.SIG_IGN)
        said, _ = process.communicate(timeout=1500)
        return process.returncode, said

    def mistake(self, *options):
        command = ["python", "workflow_scripts/automl.py", "--data", "my table.csv"]
        return subprocess.run(
            [*command, "--target", "left", "--cores", "1", *options],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
        )

    @property
    def results(self):
        return self.folder / "results/my-table"

    def state(self):
        return json.loads((self.results / "automl.json").read_text())


def running(folder):
    """Processes that work in a folder."""
    found = psutil.process_iter(["cwd", "status"])
    return [p.pid for p in found if p.info["cwd"] == str(folder) and p.info["status"] != "zombie"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Killed and interrupted, then run to the end."""
    made = Automl(tmp_path_factory.mktemp("automl"))
    progress = made.results / "checkpoints/my-table/divbo/0/progress.json"

    def begun():
        process = made.start("--minutes", "1000")
        before = progress.stat().st_mtime_ns if progress.exists() else 0
        while not progress.exists() or progress.stat().st_mtime_ns == before:
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.2)
        return process

    process = begun()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=100)
    deadline = time.monotonic() + 600
    while running(made.folder):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process = begun()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=100)
    made.interrupted = process.returncode, json.loads(progress.read_text())["evaluations"]
    made.journal = sorted(made.results.glob("checkpoints/my-table/divbo/0/*/journal.jsonl"))
    # By now it has searched for longer than this: it ends as soon as there are enough evaluations.
    made.status, made.said = made.automl("--minutes", "0.001")
    return made


@pytest.mark.slow
def test_an_interrupted_search_goes_on(made):
    status, evaluations = made.interrupted
    assert status == 128 + signal.SIGINT
    assert made.status == 0, made.said
    folder = made.results / "searches/my-table/divbo/0"
    manifest = json.loads((folder / "search.json").read_text())
    assert manifest["resumed_after"] >= max(evaluations, 10)
    assert len(made.journal) == 1
    assert sorted(made.results.glob("checkpoints/my-table/divbo/0/*/journal.jsonl")) == made.journal


@pytest.mark.slow
def test_the_study_has_the_evaluations_that_fitted_into_the_time(made):
    study = yaml.safe_load((made.results / "study.yaml").read_text())
    folder = made.results / "searches/my-table/divbo/0"
    evaluations = json.loads((folder / "search.json").read_text())["evaluations"]
    assert study["budget"] == {"evaluations": evaluations}
    assert evaluations >= 10
    # The study has all else to do: its report, of which a user of `make ensemble` has no need.
    planned = made.planned("--configfile", "results/my-table/study.yaml")
    assert set(planned) == {"all", "ensemble", "manifest", "report"}


@pytest.mark.slow
def test_the_ensemble_predicts_new_rows(made, capsys):
    said = "90 rows, 'left': 2 classes ('yes' is the positive one), minimising the error, cross-val"
    assert said in made.said
    (command,) = re.findall(r"^use it: +(.*python.*)$", made.said, re.M)
    assert (made.folder / "new.csv").read_text() == "colour,size\nred,3.0\nblue,27.0\nred,\n"
    elsewhere = {**made.environment, "PATH": os.defpath}  # without the project's environment
    done = subprocess.run(command.split(), cwd=made.folder, env=elsewhere, check=False)
    assert done.returncode == 0
    found = pd.read_csv(made.folder / "predictions.csv")
    assert found.left.tolist()[:2] == ["no", "yes"]
    (page,) = re.findall(r"^card: +(.*)$", made.said, re.M)
    card = (made.folder / page).read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    (headline,) = re.findall(r"^Error on the test rows: .*$", made.said, re.M)
    assert headline.partition(";")[0] in card
    assert "caution: There are only 18 test rows" in made.said
    assert "limits of the ensemble: 50 MB, 10 ms per row (deliver.limits in" in made.said
    assert "Requested limits: 50 MB, 10 ms per row; times per row are" in card
    assert not (made.results / "report").exists()
    with chdir(made.folder):
        for show in TUTORIAL[1:]:
            exec(show.replace("articles", "my-table"), {})
    assert "yes" in (said := capsys.readouterr().out) and "config.algorithm" in said


@pytest.mark.slow
def test_a_finished_ensemble_is_not_made_again(made):
    before = (made.results / "study.yaml").stat().st_mtime_ns, made.state()
    status, said = made.automl("--minutes", "0.001")
    assert (status, said.splitlines()[-4:]) == (0, made.said.splitlines()[-4:])
    assert ((made.results / "study.yaml").stat().st_mtime_ns, made.state()) == before


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--target", "lef"], "target: 'my table.csv' has no column 'lef'; did you mean 'left'?"),
        (["--data", "none.csv"], "--data: there is no file 'none.csv'"),
        (["--name", "../up"], "--name: '../up' is not possible"),
        (["--name", "tiny"], "'results/tiny' is of another study; choose another --name, or move"),
        (["--metric", "squared-error"], "squared-error is for numbers"),
        (["--positive", "ye"], "--positive: data set 'my table': target 'left' has no class 'ye'"),
        (["--minutes", "soon"], "'soon' is not a positive number of minutes"),
        (["--minutes", "1e9"], "'1e9' is not a positive number of minutes, up to 100000"),
        (["--cores", "two"], "'two' is not an integer from 1 to 1000"),
        (["--cores", "0"], "--cores: 0 is not between 1 and 1000"),
        (["--columns", "{drop"], "--columns: '{drop' is not a mapping, such as {drop: [id]}"),
        (["--columns", "{numbers: [size]}"], "--columns: unknown key 'numbers'; did you mean"),
        (["--columns", "{drop: [sise]}"], "--columns: drop: there is no column 'sise'; did you"),
        (["--weight", "colour"], "column 'colour' cannot be read as 'numeric'"),
        (["--group", "size", "--columns", "{group: [colour]}"], "--group: --columns has another"),
        (["--group", "size", "--time", "size"], "--columns.time: 'size' is in 'group', too"),
    ],
)
def test_mistakes_cost_a_line(made, options, line):
    (made.folder / "results/tiny").mkdir(exist_ok=True)
    before = made.state()
    done = made.mistake(*options)
    assert done.returncode == 2
    assert line in done.stdout
    assert "Traceback" not in done.stdout
    assert made.state() == before


def test_other_rows_are_searched_for_the_whole_time(made, monkeypatch):
    monkeypatch.chdir(made.folder)
    progress = made.results / "checkpoints/my-table/divbo/0/progress.json"
    table, stored = made.folder / "my table.csv", progress.read_bytes()
    arguments = {
        "data": table.name,
        "target": "left",
        "metric": "",
        "name": "",
        **ALIKE,
        "minutes": 0.001,
    }
    same = automl.Search(SimpleNamespace(**arguments, cores=1))
    assert (same.searched, progress.exists()) == (made.state()["searched"], True)
    rows = table.read_text()
    try:
        table.write_text(f"{rows}3,red,yes\n")
        other = automl.Search(SimpleNamespace(**arguments, cores=1))
        assert (other.searched, other.again, progress.exists()) == (0, True, False)
        assert "changed since the last call: table: the search starts over" in other.summary
    finally:
        table.write_text(rows)
        progress.write_bytes(stored)


def test_a_damaged_or_lost_state_costs_a_line_or_nothing(made, monkeypatch):
    monkeypatch.chdir(made.folder)
    state = made.results / "automl.json"
    arguments = {"data": "my table.csv", "target": "left", "metric": "", "name": "", **ALIKE}
    options = SimpleNamespace(**arguments, minutes=0.001, cores=1)
    stored = state.read_bytes()
    try:
        for content in ("{}", '{"study": {}, "searched": "x"}', ""):
            state.write_text(content)
            with pytest.raises(UserError, match=r"automl\.json.*remove '.*automl\.json'"):
                automl.Search(options)
        state.unlink()
        found = automl.Search(options)
        assert (found.searched, found.again) == (0, True)
    finally:
        state.write_bytes(stored)


def test_a_wrong_target_can_be_corrected_until_something_is_evaluated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{'ab'[i % 2]},{'cd'[i % 2]}\n" for i in range(60))
    (tmp_path / "mine.csv").write_text(f"x,wrong,right\n{rows}")
    options = {"data": "mine.csv", "metric": "", "name": "", **ALIKE, "minutes": 1, "cores": 1}
    automl.Search(SimpleNamespace(**options, target="wrong"))._write(1000)
    corrected = automl.Search(SimpleNamespace(**options, target="right"))
    assert corrected.study["datasets"]["mine"]["target"] == "right"
    corrected._write(1000)
    corrected.checkpoints.mkdir(parents=True)
    with pytest.raises(UserError, match="has a search with another target; choose"):
        automl.Search(SimpleNamespace(**options, target="wrong"))


@pytest.mark.parametrize(
    ("study", "line"),
    [
        (None, "'results/mine' is of another study; choose another --name"),
        ("study: mine\ndatasets: quake\n", "'results/mine' has a search with other data; choose"),
        ("study: mine\ndatasets: {mine: quake}\n", "'results/mine' has a search with other data"),
    ],
)
def test_a_folder_that_is_not_of_this_table(study, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/mine").mkdir(parents=True)
    if study:
        (tmp_path / "results/mine/study.yaml").write_text(study)
        (tmp_path / "results/mine/checkpoints/mine/divbo/0").mkdir(parents=True)
    (tmp_path / "mine.csv").write_text("x,y\n" + "1,a\n2,b\n" * 30)
    options = {"data": "mine.csv", "metric": "", "name": "", **ALIKE, "minutes": 1, "cores": 1}
    with pytest.raises(UserError, match=line):
        automl.Search(SimpleNamespace(**options, target="y"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": "{drop: [x]}"}, "roles of columns"),
        ({"group": "z"}, "roles of columns"),
        ({"metric": "log-loss"}, "metric"),
        ({"metric": "log-loss", "columns": "{categorical: [x]}"}, "roles of columns, metric"),
        ({"cores": 2}, "--cores"),
        ({"positive": "a"}, "positive class"),
    ],
)
def test_other_roles_and_metrics_start_the_search_over(tmp_path, monkeypatch, change, said):
    """The notes advise other roles, so a call with them must not fail."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 9},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "mine.csv").write_text(f"x,z,y\n{rows}")
    options = {"data": "mine.csv", "target": "y", "metric": "", "name": "", **ALIKE, "minutes": 1}
    first = automl.Search(SimpleNamespace(**options, cores=1))
    first.searched = 9.0
    first._write(1000)
    assert automl.Search(SimpleNamespace(**options, cores=1)).searched == 9
    first.checkpoints.mkdir(parents=True)
    again = automl.Search(SimpleNamespace(**{**options, "cores": 1, **change}))
    assert (again.searched, again.again) == (0, False)
    assert f"changed since the last call: {said}: the search starts over" in again.summary
    assert "(another --name keeps both)" in again.summary


@pytest.mark.parametrize(
    ("deliver", "line"),
    [
        ({"limits": {"size_mb": "lots"}}, "deliver.limits.size_mb: .*'lots'"),
        ({"limits": {"size_mb": -5}}, "deliver.limits.size_mb: .*greater than 0"),
        ({"limits": {"size_mbb": 5}}, "deliver.limits.*size_mbb.*did you mean"),
        ({"calibrat": True}, "deliver.*calibrat.*did you mean"),
        ({"method": "best-pipeline"}, "deliver.method: must be DivBO; for other deliveries"),
        (3, "deliver: .*3"),
        (None, "deliver.method: must be DivBO"),
    ],
)
def test_mistakes_in_an_edited_study_are_found_before_the_search(
    tmp_path, monkeypatch, deliver, line
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(60)))
    options = {"data": "mine.csv", "target": "y", "metric": "", "name": "", **ALIKE, "cores": 1}
    automl.Search(SimpleNamespace(**options, minutes=1))._write(1000)
    file = tmp_path / "results/mine/study.yaml"
    study = yaml.safe_load(file.read_text())
    study["deliver"] = study["deliver"] | deliver if isinstance(deliver, dict) else deliver
    file.write_text(yaml.safe_dump(study))
    for state in ("kept", "lost"):
        with pytest.raises(UserError, match=f"^results/mine/study.yaml: {line}"):
            automl.Search(SimpleNamespace(**options, minutes=1))
        if state == "kept":
            (tmp_path / "results/mine/automl.json").unlink()


def test_a_search_that_starts_over_says_which_edits_it_replaces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(60)))
    options = {"data": "mine.csv", "target": "y", "metric": "", "name": "", **ALIKE, "minutes": 1}
    automl.Search(SimpleNamespace(**options, cores=1))._write(13)
    replaced = "what study.yaml had for"
    assert replaced not in automl.Search(SimpleNamespace(**options, cores=2)).summary
    file = tmp_path / "results/mine/study.yaml"
    study = yaml.safe_load(file.read_text())
    study["deliver"]["onnx"] = True
    file.write_text(yaml.safe_dump(study))
    assert replaced not in automl.Search(SimpleNamespace(**options, cores=1)).summary
    said = automl.Search(SimpleNamespace(**options, cores=2)).summary
    assert said.endswith("; what study.yaml had for deliver is replaced, too")


def test_more_minutes_keep_the_rows_of_a_large_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(short, "CELLS", 100)
    rows = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(2400))
    (tmp_path / "mine.csv").write_text(f"x,y\n{rows}")
    options = {"data": "mine.csv", "target": "y", "metric": "", "name": "", **ALIKE, "cores": 1}
    first = automl.Search(SimpleNamespace(**options, minutes=1))
    assert "on 69.4 % of the training rows (about 999), so that most take less than 10 s" in (
        first.summary
    )
    first._write(1000)
    more = automl.Search(SimpleNamespace(**options, minutes=100))
    assert (more.again, more.study) == (True, first.study)
    (tmp_path / "mine.csv").write_text(f"x,y\n{rows}1,a\n")
    other = automl.Search(SimpleNamespace(**options, minutes=100))
    assert (other.again, "train_rows" in other.study["split"]) == (False, False)


def test_what_becomes_of_columns_and_what_is_odd_are_known_before_the_search(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"P{7 * i % 30:02d},K{i},{i % 13},{'ab'[7 * i % 30 % 2]}\n" for i in range(300))
    (tmp_path / "mine.csv").write_text(f"who,id,x,y\n{rows}")
    options = {"data": "mine.csv", "target": "y", "metric": "", "name": "", **ALIKE, "cores": 1}
    search = automl.Search(SimpleNamespace(**options, minutes=1))
    assert search.columns == [
        ["who", "category", "", "30 features"],
        ["id", "category", "", "dropped: 240 of 240 values are distinct (names or identifiers)"],
        ["x", "number", "", "1 feature"],
    ]
    (warning,) = search.warnings
    assert warning.startswith("column 'who' may name groups: its 30 values repeat")
    options |= {"columns": "{drop: [id], categorical: [x]}", "group": "who"}
    search = automl.Search(SimpleNamespace(**options, minutes=1))
    assert search.study["datasets"]["mine"]["columns"] == {
        "drop": ["id"], "categorical": ["x"], "group": ["who"]
    }  # fmt: skip
    none = {**options, "columns": "{drop: [], group: []}", "group": ""}
    assert "rows are divided at random" in automl.Search(SimpleNamespace(**none, minutes=1)).summary
    assert search.columns == [
        ["x", "category", "", "13 features"],
        ["who", "category", "", "no feature: group of rows"],
        ["id", "", "", "dropped: the study drops it"],
    ]
    assert search.warnings == []


@pytest.mark.parametrize(
    ("door", "named", "hint"),
    [
        ("make", "GROUP: there is no column 'z'", "COLUMNS='{numeric: [income]"),
        ("shell", "--group: there is no column 'z'", "--columns='{numeric: [income]"),
        ("python", "group: there is no column 'z'", "columns={'numeric': ['income']"),
    ],
)
def test_options_are_named_as_their_user_writes_them(
    tmp_path, monkeypatch, capsys, door, named, hint
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(doors.DOOR, door)
    rows = "".join(f"P{7 * i % 30:02d},{i % 13},{'ab'[7 * i % 30 % 2]}\n" for i in range(300))
    (tmp_path / "mine.csv").write_text(f"who,x,y\n{rows}")
    arguments = ["automl.py", "--data", "mine.csv", "--target", "y", "--cores", "1"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--group", "z"])
    with pytest.raises(UserError, match=f"^{named}; known: who, x$"):
        automl.main()
    assert doors.DOOR not in os.environ  # which jobs inherit
    monkeypatch.setenv(doors.DOOR, door)
    for step in ("go_on", "deliver", "tell"):
        monkeypatch.setattr(automl.Search, step, lambda self: None)
    monkeypatch.setattr(sys, "argv", arguments)
    automl.main()
    said = capsys.readouterr().out
    assert f"to change this, with your columns: {hint}" in said
    group = {"make": "GROUP=who", "shell": "--group=who", "python": "group='who'"}[door]
    assert f"errors are too low: {group} divides by them" in said


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"weight": ["w"]}, "--weight: .*: column 'w': has the weight 0"),
        ({"weight": ["c"]}, "--weight: .*: column 'c' cannot be read as 'numeric'"),
        ({"time": ["c"]}, "--time: .*: column 'c': cannot be the time of the rows"),
        ({"fold": ["c"]}, "--fold: .*: column 'c' cannot be read as 'numeric'"),
        ({"part": ["c"]}, "--columns: .*: column 'c': has the part 'a'"),
        ({"part": ["z"]}, "--columns: part: there is no column 'z'"),
        ({"date": ["c"]}, "--columns: .*: column 'c' cannot be read as 'date'"),
    ],
)
def test_what_is_wrong_with_a_column_names_the_option(tmp_path, columns, said):
    rows = "".join(f"{i},{'ab'[i % 2]},{'yn'[i % 3 == 0]}\n" for i in range(60))
    (tmp_path / "mine.csv").write_text(f"w,c,y\n{rows}")
    with pytest.raises(UserError, match=f"^{said}"):
        short.look_at(str(tmp_path / "mine.csv"), "y", None, columns)


def test_a_table_on_the_terminal_is_aligned():
    shown = automl.aligned([["column", "read as"], ["a\nb", "x" * 99], ["longer name", ""]])
    assert shown.splitlines() == [
        "column       read as",
        f"a\\nb         {'x' * 59}…",
        "longer name",
    ]


def test_limits_that_leave_no_pipeline_are_lifted_unless_somebody_asked_for_them(tmp_path):
    search = object.__new__(automl.Search)
    search.folder, search.again, search.study = tmp_path, True, {}
    file = tmp_path / "study.yaml"
    said = ["member 1 of 1", f"error: {NONE_WITHIN}; the cheapest have size_mb 60"]
    for limits, log, lifted in (
        (short.LIMITS, said, True),
        (short.LIMITS, said[:1], False),
        ({"size_mb": 20}, said, False),
    ):
        file.write_text(yaml.safe_dump({"deliver": {"method": "A", "limits": limits}}))
        assert search._lift_limits(log) == lifted
        assert ("limits" in yaml.safe_load(file.read_text())["deliver"]) != lifted
    assert "limits of the ensemble: 20 MB (" in search.limits()


def test_results_of_before_the_limits_are_not_void(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "mine.csv").write_text(f"x,y\n{rows}")
    options = {"data": "mine.csv", "target": "y", "metric": "", "name": "", **ALIKE, "cores": 1}
    search = automl.Search(SimpleNamespace(**options, minutes=1))
    del search.study["deliver"]["limits"]
    search._write(1000)
    assert automl.Search(SimpleNamespace(**options, minutes=1)).again


def test_changes_of_the_study_file_are_kept(tmp_path):
    search = object.__new__(automl.Search)
    search.folder, search.searched, search.again, search.data = tmp_path, 3.0, False, ""
    search.study = {"study": "mine", "budget": {"evaluations": 1000}, "deliver": {"method": "A"}}
    search._write(1000)
    file = tmp_path / "study.yaml"
    changed = {**search.study, "deliver": {"method": "A", "onnx": True}}
    file.write_text(f"# mine\n{yaml.safe_dump(changed)}")
    search.again = True
    search._write(1000)
    assert file.read_text().startswith("# mine")
    search._write(12)
    assert yaml.safe_load(file.read_text()) == {**changed, "budget": {"evaluations": 12}}


def test_a_file_of_test_rows_belongs_to_the_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "mine.csv").write_text(f"x,y\n{rows}")
    (tmp_path / "more.csv").write_text("y,x\na,1\n")
    (tmp_path / "less.csv").write_text("y\na\n")
    for name, text in (
        ("no-rows", "x,y\n"),
        ("words", "x,y\nred,a\n"),
        ("others", "x,y\n1,c\n"),
        ("unlabelled", "x\n1\n"),
        ("long", "x,y\n1,a,2\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
    options = {"data": "mine.csv", "target": "y", "metric": "", "name": "", **ALIKE, "cores": 1}
    options["minutes"] = 1
    search = automl.Search(SimpleNamespace(**options))
    search._write(1000)
    file = tmp_path / "results/mine/study.yaml"
    for test, counted in (("more.csv", "1 test row,"), ("", "12 test rows,")):
        search = automl.Search(SimpleNamespace(**options | {"test": test}))
        assert search.again and f"; with {counted} the reported" in search.summary
        search._write(1000)
        assert yaml.safe_load(file.read_text())["deliver"].get("test", "") == test
    for test, line in (
        ("less.csv", "--test: 'less.csv' has no column 'x', which the table has"),
        ("none.csv", "--test: there is no file 'none.csv'"),
        ("no-rows.csv", "--test: 'no-rows.csv' has no rows"),
        ("words.csv", "--test: column 'x' of 'words.csv' has no number, unlike that of the table"),
        ("others.csv", "--test: 'others.csv' has no row with a known value of 'y'"),
        ("unlabelled.csv", "target: 'unlabelled.csv' has no column 'y'"),
        ("long.csv", "--test: line 2 of 'long.csv' has 3 fields, the header has 2"),
    ):
        with pytest.raises(UserError, match=line):
            automl.Search(SimpleNamespace(**options | {"test": test}))


@pytest.mark.parametrize(
    ("metric", "told"), [("squared-error", "4.5"), ("absolute-error", "1.5"), ("error", "0.5")]
)
def test_losses_are_told_in_the_unit_of_the_target(metric, told, tmp_path):
    search = object.__new__(automl.Search)
    search.folder, search.metric = tmp_path, plugins.load("metrics", metric)
    (tmp_path / "splits/mine/fixed").mkdir(parents=True)
    (tmp_path / "splits/mine/fixed/split.json").write_text('{"target": {"mean": 1, "std": 3}}')
    assert search._loss(0.5) == told


def test_progress_says_why_a_search_goes_on():
    state = {"evaluations": 3, "failed": 1, "best_error": 0.25}
    search = object.__new__(automl.Search)
    search.minutes, search.searched, search.metric = 1, 20.0, ERROR
    assert (
        search._progress(state) == "3 pipelines, 1 failed, best error 0.25, 40 s of the search left"
    )
    search.searched = 61.0
    assert search._progress(state).endswith("the time is up, but at least 13 pipelines are tried")


def test_what_runs_around_a_search_imports_no_slow_library():
    """Each of these takes a second, which a search of a minute could use."""
    program = "import sys, automl\nfrom ensemble_search.study import short\n"
    program += "from ensemble_search.delivery import build\n"
    program += "given = dict(rows=9, columns=2, metric='error', minutes=1, cores=1)\n"
    program += "short.content('a', 'a.csv', 'y', **given)\nprint(*sys.modules)"
    command = [sys.executable, "-c", program]
    found = subprocess.run(
        command, cwd=Path(automl.__file__).parent, capture_output=True, text=True, check=True
    )
    slow = {"scipy.stats", "ConfigSpace", "sklearn", "onnx", "matplotlib", "joblib"}
    assert not slow & {*found.stdout.split()}


def test_progress_on_a_terminal_whose_width_is_not_known():
    """New terminals have 0 columns until somebody sets their size, as in some containers."""
    leader, follower = os.openpty()
    with os.fdopen(follower, "w") as stream:
        show = table_search.Line(stream)
        show("50 s of the search left")
        show("word " * 30)
        expected = "".join(
            f"\r\x1b[K{text}" for text in ("50 s of the search left", ("word " * 30)[:79])
        )
        said = ""
        while len(said) < len(expected):  # a terminal hands over what it has so far
            said += os.read(leader, 1000).decode()
    os.close(leader)
    assert said == expected
    assert table_search.refit_progress(["member 3 of 5", "checksum 1f"]) == "done"
    assert table_search.refit_progress([]) == "selecting the ensemble from the pipelines"
    assert table_search.refit_progress(["member 3 of 5"]).endswith("all rows: member 3 of 5")


@pytest.mark.parametrize(
    "run",
    [
        "from ensemble_search.runtime import errors; errors.run(lambda: None)",
        "import sys; from snakemake.cli import main; sys.argv[1:] = ['--list-rules']; main()",
    ],
    ids=["script", "workflow"],
)
def test_no_garbage_is_searched_for_at_the_end(run):
    look = "import atexit, gc; atexit.register(lambda: print('frozen:', gc.get_freeze_count()))"
    command = [sys.executable, "-c", f"{look}\n{run}"]
    path = {"PYTHONPATH": str(ROOT / "workflow_scripts")}
    environment = forks.environment(ROOT, forked=False) | path
    found = subprocess.run(
        command, cwd=ROOT, env=environment, text=True, capture_output=True, check=True
    )
    assert int(re.search(r"frozen: (\d+)", found.stdout)[1]) > 1000
