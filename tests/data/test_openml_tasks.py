"""Tasks and suites of OpenML, from a stand-in for the server and from a cache."""

import json
import subprocess

import numpy as np
import pytest

from ensemble_search.data import normalise, openml_server, openml_tasks, prepare, sources
from ensemble_search.data.rows import PARTS
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model
from support import SCRIPTS, forks
from support.openml_server import serve

pytestmark = pytest.mark.slow

ROWS = 60
ARFF = (
    "@relation r\n@attribute x numeric\n@attribute other {a,b}\n@attribute class {yes,no}\n@data\n"
)
ARFF += "".join(f"{i},{'ab'[i // 2 % 2]},{('yes', 'no')[i % 2]}\n" for i in range(ROWS))
TASK = """<oml:task xmlns:oml="http://openml.org/openml"><oml:task_id>{number}</oml:task_id>
<oml:task_name>Task</oml:task_name><oml:task_type_id>{kind}</oml:task_type_id>
<oml:input name="source_data"><oml:data_set><oml:data_set_id>7</oml:data_set_id>
<oml:target_feature>{target}</oml:target_feature></oml:data_set></oml:input>
<oml:input name="estimation_procedure"><oml:estimation_procedure>
<oml:type>crossvalidation</oml:type><oml:data_splits_url>{url}</oml:data_splits_url>
</oml:estimation_procedure></oml:input></oml:task>"""
SUITE = """<oml:study xmlns:oml="http://openml.org/openml"><oml:id>99</oml:id>
<oml:tasks><oml:task_id>59</oml:task_id><oml:task_id>5</oml:task_id></oml:tasks></oml:study>"""


def splits(fold_of, repeats=2) -> str:
    """A ``datasplits.arff``: in further repeats, rows are in other folds."""
    text = "@relation splits\n@attribute type {TRAIN,TEST}\n@attribute rowid numeric\n"
    text += "@attribute repeat numeric\n@attribute fold numeric\n@data\n"
    for repeat in range(repeats):
        for row, own in enumerate(np.roll(fold_of, repeat)):
            for fold in range(3):
                kind = "TEST" if fold == own else "TRAIN"
                text += f"{kind},{row},{repeat},{fold}\n"
    return text


@pytest.fixture
def server():
    with serve() as own:
        own.add(7, ARFF)
        offer(own)
        own.pages["/api/v1/xml/study/99"] = SUITE
        yield own


def offer(server, number=59, kind="1", target="class", text=None):
    """Offer a task of data set 7."""
    path = f"/files/splits-{number}.arff"
    server.pages[f"/api/v1/xml/task/{number}"] = TASK.format(
        number=number, kind=kind, target=target, url=server.origin + path
    )
    server.pages[path] = splits(np.arange(ROWS) % 3) if text is None else text


def settings(server, **changes):
    return {"server": server.url, "pause": 0.001, **changes}


def read(server, number=59, **source):
    return sources.read({"openml_task": number, **source}, settings(server))


def test_folds_of_a_task_have_the_test_rows(server):
    frame, described = normalise.normalise(read(server))
    assert described["of_rows"]["fold"]["column"] == "fold of task 59"
    assert list(described["columns"]) == ["x", "other"]
    for seed, fold in ((1, 0), (2, 1), (3, 2), (4, 0)):
        options = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": seed}
        inputs, *_ = prepare.make_split(frame, described, options)
        x = {part: getattr(inputs, f"X_{part}")[:, 0] for part in PARTS}
        assert sorted(x["test"]) == list(range(fold, ROWS, 3))
        assert (len(x["train"]), len(x["validation"])) == (30, 10)
    assert server.requests == [
        "/api/v1/xml/task/59",
        "/files/splits-59.arff",
        "/api/v1/xml/data/7",
        "/files/7.arff",
    ]


def test_the_target_of_a_task_may_be_another_column(server):
    offer(server, 60, target="other")
    raw = read(server, 60)
    assert raw.target == "other"
    _, described = normalise.normalise(raw)
    assert list(described["columns"]) == ["x", "class"]


def test_failures_are_overcome_by_further_tries(server):
    server.fail("data", "500")
    server.fail("file", "cut")
    assert read(server).roles == {"fold": ["fold of task 59"]}


def test_a_filled_cache_is_enough(server, tmp_path):
    folder = tmp_path / "org/openml/www"
    (folder / "tasks/59").mkdir(parents=True)
    (folder / "datasets/7").mkdir(parents=True)
    pages = server.pages
    (folder / "tasks/59/task.xml").write_text(pages["/api/v1/xml/task/59"], encoding="utf-8")
    (folder / "tasks/59/datasplits.arff").write_text(pages["/files/splits-59.arff"])
    (folder / "datasets/7/description.xml").write_text(pages["/api/v1/xml/data/7"])
    (folder / "datasets/7/dataset.arff").write_text(ARFF)
    raw = sources.read({"openml_task": 59}, {"cache": str(tmp_path)})
    assert (len(raw.frame), raw.target, server.requests) == (ROWS, "class", [])


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            {"kind": "5"},
            r"OpenML task 59: is neither a classification nor a regression with splits",
        ),
        ({"kind": "2"}, r"OpenML task 59: is a regression, not a classification; choose another"),
        ({"target": "z"}, r"OpenML task 59: its target 'z' is not a column of the data set"),
        ({"text": splits(np.arange(90) % 3)}, r"its splits are not folds of the 60 rows"),
        ({"text": splits(np.zeros(0))}, r"its splits are not folds of the 60 rows"),
        ({"text": splits(np.zeros(9)).replace("rowid", "row")}, r"its splits are not folds of"),
        (
            {"text": splits(np.zeros(9), 1) + splits(np.ones(9), 1).split("@data\n")[1]},
            r"OpenML task 59: a row is in two folds; use its data set instead of the task",
        ),
        ({"text": "nothing"}, r"OpenML task 59: its splits"),
        ({"number": 58}, r"OpenML task 59: .*Unknown dataset"),
    ],
)
def test_tasks_that_cannot_be_used(server, task, message):
    del server.pages["/api/v1/xml/task/59"]
    offer(server, **task)
    with pytest.raises(UserError, match=message) as caught:
        read(server)
    assert "\n" not in str(caught.value)


def test_an_answer_that_is_no_task_is_tried_again(server):
    server.pages["/api/v1/xml/task/59"] = "<html/>"
    with pytest.raises(
        UserError, match=r"no success in 2 tries at .*: the answer is not an OpenML t"
    ):
        sources.read({"openml_task": 59}, settings(server, tries=2))


def test_a_suite_is_listed_as_data_sets(server, tmp_path):
    command = ["python", SCRIPTS / "fetch.py", "--suite", "99"]
    command += ["--openml", json.dumps(settings(server))]
    environment = forks.environment(tmp_path)
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout == ("datasets:\n  task-5: {openml_task: 5}\n  task-59: {openml_task: 59}\n")
    with pytest.raises(UserError, match="OpenML suite -1: ids are integers from 1 on"):
        openml_tasks.suite(-1, openml_server.Access())
    with pytest.raises(UserError, match=r"OpenML suite 98: .*Unknown dataset"):
        openml_tasks.suite(98, openml_server.Access(server=server.url, tries=1))


def test_a_study_of_tasks():
    content = {
        "study": "s",
        "datasets": {"kc1": {"openml_task": 3917}},
        "split": {"resample": 10},
        "repeats": 10,
        "searches": {"random": {"optimizer": "random"}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"RS": {"search": "random", "ensemble": "best"}},
    }
    model.check(content)
    assert sources.source_key({"openml_task": 3917}) == "openml-task-3917"
    numbers = {"train": 100, "validation": 50}
    with pytest.raises(
        UserError, match=r"kc1.openml_task: names the test rows; split needs shares"
    ):
        model.check({**content, "split": numbers})
    content["datasets"]["kc1"]["columns"] = {"time": ["t"]}
    with pytest.raises(UserError, match=r"kc1.openml_task: 'time' and 'fold' both divide the rows"):
        model.check(content)
