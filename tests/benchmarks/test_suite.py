"""The benchmark of costs: its works on less, its figures, and the committed page."""

import math
import sys

import numpy as np
import pandas as pd
import pytest

from support import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import costs
import suite

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _less(monkeypatch):
    monkeypatch.setattr(costs, "EVALUATIONS", 20)
    monkeypatch.setattr(costs, "TURNS", 2)
    monkeypatch.setattr(costs, "TABLED", 60)
    monkeypatch.setattr(costs, "REPLAYED", 20)
    monkeypatch.setattr(costs, "DRY_RUN", [*costs.DRY_RUN, "--config", "repeats=1"])


@pytest.mark.parametrize(
    "work",
    [
        ("suggestion", "bo", 20, {"interleave": 0}),
        ("suggestion", "divbo", 20, suite.KERNEL),
        ("suggestion", "divbo", 20, suite.PAIRS),
        ("suggestion", "divbo", 20, suite.KERNEL, "divbo-small", 50, 3, True),
        ("suggestion", "esmbo", 20, {**suite.ESMBO, "candidates": 20, "bootstraps": 5}, "svm"),
        ("dry_run",),
        ("replay",),
        ("start",),
    ],
    ids=str,
)
def test_turns_can_be_repeated(work, tmp_path):
    turn = suite.prepared(ROOT, tmp_path, *work)
    turn()
    turn()


@pytest.mark.parametrize("metric", suite.LOSSES)
def test_plain_numpy_selects_the_same_models(metric, tmp_path):
    ours = costs.selection(ROOT, tmp_path, 61, 2, metric)()
    assert ours["members"] == costs.plain(ROOT, tmp_path, 61, metric)()["members"]
    assert ours["memory"] >= 1


def test_a_worker_does_the_work_in_another_process(tmp_path):
    worker = suite.Worker(ROOT, tmp_path, ("selection", 60, 3, "error"))
    worker.turn()
    results = worker.end("it")
    assert set(results["it.members"]) <= set(range(250))
    assert 0 < results["it"] < 60


def test_a_search_stores_little_more_than_its_predictions(tmp_path):
    evaluated, rows, classes = 18, 720, 10  # two of the twenty fail
    assert costs.storage(ROOT, tmp_path)()["bytes"] < 1.3 * 4 * evaluated * rows * classes


def test_an_ensemble_job_has_a_peak(tmp_path):
    found = costs.ensemble_job(ROOT, tmp_path, 400, 2)()
    assert 10 < found["peak"] < found["asked"]


def test_a_large_table_has_two_classes(tmp_path):
    costs.large_table(tmp_path / "large.csv", 200, 12)
    made = pd.read_csv(tmp_path / "large.csv")
    assert made.shape == (200, 13)
    assert 50 < (made["y"] == "yes").sum() < 150


@pytest.mark.slow
def test_a_delivered_ensemble_predicts_a_large_table(tmp_path):
    suite.prepared(ROOT, tmp_path, "predict", 300)()
    costs.pandas_reads(ROOT, tmp_path)()
    assert len(pd.read_csv(tmp_path / "out.csv")) == 300


def test_snakemake_starts_searches_with_the_largest_inputs_first():
    from snakemake.scheduling.greedy import SchedulerSettings

    small, large = costs.File("small"), costs.File("large")
    sizes = {small: 1, large: 2}
    jobs = [costs.Job(1.0, [small]), costs.Job(1.0, [small]), costs.Job(2.0, [large])]
    in_order = SchedulerSettings(omit_prioritize_by_temp_and_input=True)
    assert costs.end(jobs, 2, in_order, sizes) == 3
    assert costs.end(jobs, 2, SchedulerSettings(), sizes) == 2
    profile = (ROOT / "profiles/default/config.yaml").read_text(encoding="utf-8")
    assert "scheduler: greedy" in profile
    assert "omit-prioritize" not in profile


def test_every_figure_has_a_work_and_a_title_of_its_own():
    titles = [title for _, title, *_ in suite.FIGURES]
    assert len(set(titles)) == len(titles)
    assert {group for group, *_ in suite.FIGURES} == set(suite.WORKS)
    for group, _, _, value, peer, goal in suite.FIGURES:
        for text in filter(None, (*value.split("/"), peer)):
            assert text.partition(".")[0] in suite.WORKS[group]
        assert not goal or math.isfinite(float(goal.split()[1]))
    for works in suite.WORKS.values():
        assert all(callable(getattr(costs, work[0].replace("-", "_"))) for work in works.values())


ABOUT = {"commit": "abc", "against": "def", "date": "2026-01-01", "machine": "one"}


def test_rows_by_hand():
    found = {"now": {"bo": 0.02, "divbo": 0.03}, "before": {"bo": 0.1}}
    bo, divbo = suite.rows_of("suggestion-250", found, ABOUT)
    assert (bo["now"], bo["before"], bo["goal"], suite.met(bo)) == ("20", "100", "<= 25", "yes")
    assert (divbo["now"], divbo["before"], divbo["against"]) == ("1.5", "", "")
    assert suite.met({"goal": ">= 20", "now": "19"}) == "**no**"
    assert suite.met({"goal": "<= 0.2 peer", "now": "20", "peer": "110"}) == "yes"
    assert suite.met({"goal": "<= 0.2 peer", "now": "20", "peer": "90"}) == "**no**"


def test_what_is_measured_again_replaces_its_rows_only(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    suite.write(suite.rows_of("start", {"now": {"it": 1.2}}, ABOUT))
    suite.write(suite.rows_of("replay", {"now": {"it": 3}}, {**ABOUT, "commit": "123"}))
    suite.write(suite.rows_of("start", {"now": {"it": 0.9}}, ABOUT))
    assert [(row["now"], row["commit"]) for row in suite.read()] == [("3", "123"), ("0.9", "abc")]
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "**1 of 2 goals are met**" in text
    assert (
        "| start of a search to its first suggestion | CPU s | 0.9 |  |  | ≤ 1 | yes | `abc` |"
        in text
    )


@pytest.mark.parametrize(
    ("file", "function", "where"),
    [
        ("/a/workflow_scripts/ensemble_search/spaces/base.py", "sample", "`spaces/base`"),
        ("/a/workflow_scripts/search.py", "main", "`search`"),
        ("/a/lib/python3.11/site-packages/scipy/stats/_entropy.py", "entropy", "scipy"),
        ("/a/lib/python3.11/site-packages/scipy/stats/__init__.py", "<module>", "imports"),
        ("<frozen importlib._bootstrap>", "_load", "imports"),
        ("/usr/lib/python3.11/inspect.py", "signature", "Python's inspect"),
        ("~", "<built-in method exec>", "others"),
    ],
)
def test_places_of_a_profile_by_hand(file, function, where):
    assert suite.place(file, function) == where


def test_a_profile_finds_where_the_time_goes(monkeypatch):
    monkeypatch.setitem(suite.WORKS, "selection", {"error": ("selection", 2000, 2, "error")})
    rows = suite.profile("selection", ABOUT)
    assert any(row["where"].startswith("`ensembles/") for row in rows)
    assert 0.05 <= sum(float(row["share"]) for row in rows) <= 1.05
    assert not costs.PROFILES


def test_the_committed_page_shows_its_figures():
    written = (suite.FOLDER / "README.md").read_text(encoding="utf-8")
    assert written == suite.page(suite.read(), suite.read("profiles.csv")), (
        "run: make bench FIGURES=start"
    )
    known = {(group, title) for group, title, *_ in suite.FIGURES}
    assert {(row["group"], row["figure"]) for row in suite.read()} <= known
    for row in suite.read():
        assert np.isfinite(float(row["now"]))
