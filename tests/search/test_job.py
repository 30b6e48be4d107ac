"""The arguments of `search.py` and `table.py`: a mistake in them is one line."""

import json
import runpy
import sys

import pytest

from ensemble_search.runtime.errors import UserError
from support import ROOT

JOB = {
    **{"dataset": "d", "search": "random", "repeat": 0, "seed": 1, "space": "divbo-small"},
    **{"metric": "error", "limits": {"seconds": 10, "memory_mb": 2048}},
    **{"budget": {"evaluations": 1}, "optimizer": {"optimizer": "random"}},
}


def script(name):
    return runpy.run_path(str(ROOT / f"workflow_scripts/{name}.py"))


@pytest.fixture(scope="module")
def search():
    return script("search")


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"repeat": None}, "repeat: None is not an integer from 0"),
        ({"repeat": True}, "repeat: True is not an integer from 0"),
        ({"seed": -1}, "seed: -1 is not an integer from 0"),
        ({"repeats": []}, r"repeats: \[\] is not a list of integers"),
        ({"repeats": "01"}, "repeats: '01' is not a list of integers"),
        ({"repeats": [0, 1.5]}, "repeat: 1.5 is not an integer from 0"),
        ({"dataset": []}, r"dataset: \[\] is not text"),
        ({"space": {}}, "space: {} is not text"),
        ({"budget": 5}, "budget: 5 is not a mapping"),
        ({"budget": {}}, "budget: give one of evaluations, fits, seconds, cpu_seconds"),
        ({"budget": {"fits": 1, "seconds": 1}}, "budget: give one of"),
        ({"budget": {"evaluations": 1.5}}, "budget.evaluations: 1.5 is not an integer"),
        ({"budget": {"evaluations": 1, "x": 1}}, "budget: unknown key 'x'"),
        ({"limits": {"seconds": 0, "memory_mb": 1}}, "limits.seconds: 0 is not a number above 0"),
        ({"limits": {"seconds": 1}}, "limits: key 'memory_mb' is missing"),
        ({"limits": {"seconds": "1", "memory_mb": 1}}, "limits.seconds: '1' is not a number"),
        ({"optimizer": "random"}, "optimizer: 'random' is not a mapping"),
    ],
)
def test_a_wrong_job_is_one_line(search, changed, line):
    with pytest.raises(UserError, match=f"^--job: {line}"):
        search["checked"](json.dumps({**JOB, **changed}))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[]", "null", "5"])
def test_what_is_no_job_is_one_line(search, text):
    with pytest.raises(UserError, match=r"^--job: "):
        search["checked"](text)


def test_jobs_of_the_workflow_are_read(search):
    assert search["repeats"](search["checked"](json.dumps(JOB))) == [JOB]
    rest = {key: value for key, value in JOB.items() if key != "repeat"}
    jobs = search["repeats"](search["checked"](json.dumps({**rest, "repeats": [3, 4]})))
    assert jobs == [{**rest, "repeat": 3}, {**rest, "repeat": 4}]


@pytest.mark.parametrize("option", ["threads", "workers"])
def test_threads_and_workers_are_at_least_one(search, monkeypatch, option):
    monkeypatch.setattr(sys, "argv", ["search.py", "--job", json.dumps(JOB), "--split", "s",
        "--checkpoints", "c", "--output", "o", f"--{option}", "0"])  # fmt: skip
    with pytest.raises(UserError, match=f"^--{option}: 0 is not 1 or more"):
        search["main"]()


@pytest.mark.parametrize("option", ["--info=", "--from=", "--output="])
def test_make_without_a_folder_does_not_mean_this_one(monkeypatch, option):
    monkeypatch.setattr(sys, "argv", ["table.py", option])
    with pytest.raises(UserError, match="TABLE, FROM and OUTPUT"):
        script("table")["main"]()


def test_a_fold_is_a_number(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["table.py", "--from=a", "--output=b", "--fold=first"])
    with pytest.raises(UserError, match=r"FOLD .*: 'first' is not an integer from 0"):
        script("table")["main"]()
