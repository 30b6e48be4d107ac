"""The status table: what is read, and what is estimated from it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from ensemble_search.evaluation import table
from ensemble_search.jobs import Jobs
from ensemble_search.results import job_logs, outdated, readers, states, status
from ensemble_search.runtime import files, slurm
from ensemble_search.runtime.locks import lock
from ensemble_search.search import progress as progress_module
from ensemble_search.search.budget import Budget
from ensemble_search.search.journal import Record
from ensemble_search.search.progress import Progress
from ensemble_search.study import model
from support import made_results


def test_work_left_is_estimated_from_the_same_data_set():
    searches = [
        {"dataset": "a", "done": 10, "budget": 10, "seconds": 20.0},
        {"dataset": "a", "done": 0, "budget": 10, "seconds": 0.0},
        {"dataset": "b", "done": 5, "budget": 10, "seconds": 50.0},
        {"dataset": "c", "done": 0, "budget": 3, "seconds": 0.0},
    ]
    assert status.seconds_left(searches) == pytest.approx(10 * 2 + 5 * 10 + 3 * 70 / 15)


def test_the_overview_has_one_line_per_study_with_results(tmp_path):
    for name in (
        "a/searches/wine/bo/0/search.json",
        "a/searches/wine/bo/1/search.json",
        "a/checkpoints/wine/bo/1/progress.json",
        "a/checkpoints/wine/bo/2/progress.json",
        "a/ensembles/wine/bo/best/0/scores.parquet",
        "b/report/index.html",
        "mine/searches/mine/divbo/0/search.json",
        "mine/delivered/mine/DivBO/card.html",
        "data/wine/dataset.json",
        "slurm/log",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    head, *lines, empty, hint = status.overview(tmp_path)
    assert head.split() == ["study", "searches", "done", "unfinished", "ensembles", "report"]
    page = str(tmp_path / "b/report/index.html")
    assert [line.split() for line in lines] == [
        ["a", "2", "1", "1"], ["b", "0", "0", "0", page], ["mine", "1", "0", "1"],
    ]  # fmt: skip
    assert empty == ""
    assert "make status STUDY=" in hint
    assert status.overview(tmp_path / "none") == [f"No study has results below {tmp_path}/none/."]


JOB = {"dataset": "wine", "search": "random", "repeat": 0, "metric": "error"}


def made_record(**seconds):
    """A successful evaluation without predictions."""
    empty = dict.fromkeys(f.name for f in fields(Record))
    return Record(**{**empty, "status": "ok", "error": 0.25, "fidelity": 1.0, **seconds})


@pytest.fixture
def loaded():
    return model.check(
        {
            "study": "s",
            "datasets": {"wine": {"sklearn": "wine"}},
            "searches": {"random": {"optimizer": "random"}},
            "ensembles": {"best": {"type": "best"}},
            "methods": {"RS": {"search": "random", "ensemble": "best"}},
            "budget": {"evaluations": 20},
        }
    )


def test_a_search_waits_stops_and_is_done(tmp_path, loaded):
    part = ("wine", "random", 0)
    assert states.search_state(tmp_path, loaded, *part)["state"] == "waiting"
    folder = tmp_path / "checkpoints/wine/random/0"
    (folder / "abc").mkdir(parents=True)
    (folder / "abc/lock").write_text("")
    progress = {"evaluations": 5, "unit": "evaluations", "done": 5, "budget": 20}
    progress |= {"best_error": 0.25, "failed": 1, "seconds": 10.0}
    (folder / "progress.json").write_text(json.dumps(progress))
    stopped = states.search_state(tmp_path, loaded, *part)
    assert stopped["state"] == "stopped"
    assert status.row(stopped) == ("wine", "random", "0", "stopped", "5/20", "0.2500", "1", "30 s")
    held = lock(folder / "abc/lock", "it")
    assert states.search_state(tmp_path, loaded, *part)["state"] == "running"
    held.close()
    finish(tmp_path, loaded)
    done = states.search_state(tmp_path, loaded, *part)
    assert status.row(done) == ("wine", "random", "0", "done", "20/20", "0.2000", "2", "")
    text = status.total([done])
    assert text == "1 search: 1 done; 20/20 evaluations"


def test_queued_running_and_failed_on_a_cluster(tmp_path, loaded):
    part = ("wine", "random", 0)

    def found(job=None):
        return states.search_state(tmp_path, loaded, *part, job)["state"]

    assert (found("PENDING"), found("RUNNING")) == ("queued", "running")
    log = tmp_path / "logs/search/wine/random/0.log"
    log.parent.mkdir(parents=True)
    log.write_text("12:00:00 wine random repeat 0: 1/20\nerror: no space left\n")
    assert found("PENDING") == "queued", "it is tried again"
    failed = states.search_state(tmp_path, loaded, *part)
    assert (failed["state"], failed["reason"], failed["log"]) == ("failed", "no space left", log)
    log.write_text('Traceback (most recent call last):\n  File "x.py"\nValueError: what\n')
    assert states.search_state(tmp_path, loaded, *part)["reason"] == "ValueError: what"
    log.write_text("12:00:00 wine random repeat 0: 1/20\n")
    assert found() == "waiting", "it was ended from outside"
    assert status.total([failed]) == "1 search: 1 failed; 0/20 evaluations"
    finish(tmp_path, loaded)
    assert found() == found("COMPLETING") == "done"
    assert found("PENDING") == "queued", "it runs again"


def test_jobs_in_the_queue_are_those_of_the_folder(tmp_path, monkeypatch):
    """Of a stand-in for squeue; tests/workflow/test_slurm.py asks the real one."""
    lines = [
        f"7|PENDING|ReqNodeNotAvail, a|rule_search_wildcards_s_wine_random_0|{tmp_path}",
        "8|RUNNING|None|rule_search_wildcards_s_wine_random_0|/elsewhere",
        f"9|RUNNING|None|(null)|{tmp_path}",
    ]
    command = tmp_path / "squeue"
    command.write_text("#!/bin/sh\ncat <<E\n" + "\n".join(lines) + "\nE\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    jobs = slurm.queue(tmp_path)
    name = slurm.search_comment("s", "wine", "random", 0)
    assert [(j.number, j.state, j.comment == name) for j in jobs] == [
        ("7", "PENDING", True),
        ("9", "RUNNING", False),
    ]
    assert status.waiting(jobs) == ["Waiting in SLURM's queue: 1, because of ReqNodeNotAvail, a"]
    usual = [slurm.Job("7", "PENDING", reason, "") for reason in ("Priority", "Resources", "None")]
    assert status.waiting(usual) == []
    command.write_text("#!/bin/sh\nexit 1\n")
    assert slurm.queue(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert slurm.queue(tmp_path) is None


def finish(root, loaded, **change) -> Path:
    """Write the manifest of a finished search, by default with the settings of the study."""
    content = made_results.search_manifest(evaluations=20, status={"ok": 18}, wall_seconds=40.0)
    whole = loaded.model_dump(mode="json")
    content |= {key: whole[key] for key in ("space", "limits", "seed")}
    content |= {"dataset": "wine", "search": "random"}
    if loaded.evaluation.replay:
        content |= {"table": {"folder": "t", "entries": 50, "checksum": "0" * 64}}
    content |= {"settings": loaded.searches["random"], **change}
    path = root / f"searches/wine/random/{content['repeat']}/search.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_a_search_made_with_other_settings_is_outdated_and_still_to_do(tmp_path, loaded):
    finish(tmp_path, loaded, limits={"seconds": 1.0, "memory_mb": 4096})
    found = states.search_state(tmp_path, loaded, "wine", "random", 0)
    assert (found["state"], found["evaluations"]) == ("outdated", 0)
    assert status.total([found]) == "1 search: 1 outdated; 0/20 evaluations"


@pytest.mark.parametrize(("change", "state"), [({}, "stopped"), ({"seed": 7}, "outdated")])
def test_only_a_search_that_starts_over_is_outdated_by_another_budget(
    tmp_path, loaded, change, state
):
    finish(tmp_path, loaded, budget={"evaluations": 10}, **change)
    folder = tmp_path / "checkpoints/wine/random/0"
    folder.mkdir(parents=True)
    progress = {"evaluations": 10, "unit": "evaluations", "done": 10, "budget": 10}
    progress |= {"best_error": 0.25, "failed": 1, "seconds": 10.0}
    (folder / "progress.json").write_text(json.dumps(progress))
    found = states.search_state(tmp_path, loaded, "wine", "random", 0)
    assert (found["state"], found["done"]) == (state, 10 if state == "stopped" else 0)


@pytest.mark.parametrize(("value", "current"), [("members", True), ("normal", False)])
def test_a_setting_that_no_longer_exists_outdates_no_result_with_its_default(value, current):
    study = {"searches": {"s": {"optimizer": "divbo", "beta": 0.05}}, "budget": {}}
    settings = {"optimizer": "divbo", "beta": 0.05, "sampler": value}
    manifest = made_results.search_manifest(settings=settings)
    assert (outdated.search(manifest, study, "s") == "") == current


def test_a_search_on_another_split_or_other_data_is_outdated(tmp_path, loaded):
    def state():
        return states.search_state(tmp_path, loaded, "wine", "random", 0)["state"]

    finish(tmp_path, loaded)
    made_results.write_split(tmp_path, "wine")
    assert state() == "done"
    finish(tmp_path, loaded, fingerprint={"data": "1" * 64})
    assert state() == "outdated"
    finish(tmp_path, loaded)
    path = tmp_path / "splits/wine/fixed/split.json"
    split = json.loads(path.read_text())
    path.write_text(json.dumps(split | {"settings": split["settings"] | {"seed": 7}}))
    assert state() == "outdated"
    path.write_text(json.dumps({k: v for k, v in split.items() if k != "settings"}))
    assert state() == "done", "an older version did not store them"


@pytest.mark.parametrize("key", ["replay", "warm_start"])
def test_a_search_on_another_table_is_outdated(tmp_path, monkeypatch, key):
    """With a table, but not now; without one, but now; and with one that has changed."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results/t/tables/quake/fixed"
    about = {"files": {"a": "b"}}
    used = table.checksum(about)
    with_one = made_results.search_manifest(
        **{"table": {"checksum": used}}
        if key == "replay"
        else {"fingerprint": {"data": "0" * 64, "given": used}}
    )
    without = made_results.search_manifest()
    path = "results/t/tables"
    evaluation = {key: path if key == "replay" else {"bo": path}}
    plain = {"searches": {"bo": {"optimizer": "random"}}, "budget": {}}
    study = plain | {"evaluation": evaluation}
    said = f"made with other settings: evaluation.{key}: "
    assert outdated.search(without, plain, "bo") == outdated.search(with_one, study, "bo") == ""
    assert outdated.search(with_one, plain, "bo") == f"{said}a table there, none here"
    assert outdated.search(without, study, "bo") == f"{said}none there, {path} here"
    folder.mkdir(parents=True)
    (folder / "table.json").touch()
    assert outdated.search(with_one, study, "bo") == "", "a damaged table says nothing"
    monkeypatch.setattr(table, "manifest", lambda place: about)
    assert outdated.search(with_one, study, "bo") == ""
    about["files"] = {"a": "c"}
    changed = outdated.search(with_one, study, "bo")
    assert changed == f"{said}the table in '{path}/quake/fixed' has changed"


def test_a_budget_in_seconds(tmp_path, loaded):
    """12 s of suggesting and fitting gave 8 s of fitting: 52 more seconds of it take 78 s."""
    loaded = loaded.model_copy(update={"budget": model.Budget(seconds=60)})
    records = [made_record(fit_seconds=s, suggest_seconds=2.0) for s in (5.0, 3.0)]
    Progress(tmp_path / "checkpoints/wine/random/0", JOB, Budget(seconds=60), [])(records)
    found = states.search_state(tmp_path, loaded, "wine", "random", 0)
    assert status.row(found)[4:] == ("2 in 8/60 s", "0.2500", "", "78 s")
    assert status.total([found]).startswith(
        "1 search: 1 stopped; 8/60 seconds (wall-clock) of fitting; about"
    )
    finish(tmp_path, loaded)
    assert states.search_state(tmp_path, loaded, "wine", "random", 0)["state"] == "stopped"
    finish(tmp_path, loaded, budget={"seconds": 30.0})
    assert states.search_state(tmp_path, loaded, "wine", "random", 0)["state"] == "stopped"
    finish(tmp_path, loaded, budget={"seconds": 60.0})
    done = states.search_state(tmp_path, loaded, "wine", "random", 0)
    assert status.row(done)[3:5] == ("done", "20 in 60/60 s")


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"evaluations": 20}'])
def test_a_damaged_or_foreign_manifest_is_no_finished_search(tmp_path, loaded, text):
    finish(tmp_path, loaded).write_text(text)
    assert states.search_state(tmp_path, loaded, "wine", "random", 0)["state"] == "waiting"


def test_who_holds_a_lock_is_found_without_taking_it(tmp_path):
    path = tmp_path / "lock"
    with lock(path, "it"):
        assert states._held(path, 0)
        mine = path.read_text()
    path.write_text(mine[:-2] + "x\n")
    assert not states._held(path, 0), "a later process with the same number"
    path.write_text(f"process {os.getpid()} on {socket.gethostname()}\n")  # its start unknown
    assert states._held(path, 0)
    started = psutil.Process().create_time()
    os.utime(path, (started - 100, started - 100))
    assert not states._held(path, 0), "a later process with the same number"
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    path.write_text(f"process {ended.pid} on {socket.gethostname()}\n")
    assert not states._held(path, 0)
    path.write_text("process 1 on elsewhere\n")
    old = time.time() - 10_000
    os.utime(path, (old, old))
    assert not states._held(path, time.time() - 2000)
    assert states._held(path, time.time() - 10)


def test_asking_for_the_state_does_not_open_the_lock_for_locking(tmp_path, monkeypatch):
    import fcntl

    path = tmp_path / "lock"
    with lock(path, "it"):
        pass
    monkeypatch.setattr(fcntl, "flock", lambda *a: pytest.fail("took the lock"))
    states._held(path, 0)


@pytest.fixture
def stacked(tmp_path, monkeypatch, loaded):
    """A study with an ensemble that fits pipelines; its results go into the working folder."""
    monkeypatch.chdir(tmp_path)
    content = loaded.model_dump(mode="json", exclude_none=True)
    content["ensembles"]["stacking"] = {"type": "stacking"}
    content["methods"]["RS-S"] = {"search": "random", "ensemble": "stacking"}
    content["repeats"] = 1
    return Jobs(model.check(content))


def test_fits_of_ensembles_are_not_done_before_they_are(stacked):
    root = Path("results/s")
    job = next(j for j in states.jobs_after_searches(stacked) if j.rule == "fitted_ensemble")

    def found(unfinished=(), queue=None):
        return states.job_state(job, unfinished, queue or {})

    assert found() == "waiting"
    lock_file = root / "checkpoints/wine/random/0/stacking/fold-1-abc/lock"
    lock_file.parent.mkdir(parents=True)
    with lock(lock_file, "it"):
        assert found() == "running"
    assert found() == "stopped"
    log = root / "logs/ensemble/wine/random/stacking/0.log"
    log.parent.mkdir(parents=True)
    log.write_text("fold-1: 3 of 9 pipelines to fit\nerror: no space left\n")
    assert found() == "failed"
    comment = slurm.comment("fitted_ensemble", "wine", "random", "stacking", 0)
    assert found(queue={comment: "PENDING"}) == "queued"
    assert found(queue={comment: "RUNNING"}) == "running"
    job.output.parent.mkdir(parents=True)
    job.output.touch()
    assert found() == "done"
    assert found({("wine", "random", 0)}) == "waiting", "for its search, which runs again"


def test_status_says_what_is_left_after_the_searches(stacked):
    finish(Path("results/s"), stacked.study)
    log = Path("results/s/logs/ensemble/wine/random/stacking/0.log")
    log.parent.mkdir(parents=True)
    log.write_text("error: no space left\n")
    scores = Path("results/s/ensembles/wine/random/best/0/scores.parquet")
    scores.parent.mkdir(parents=True)
    scores.touch()
    page = Path("results/s/report/index.html")
    page.parent.mkdir(parents=True)
    page.touch()
    lines, problems = status.report(stacked)
    assert problems == []
    assert re.split("  +", lines[0]) == [
        *("data set", "search", "repeat", "state", "evaluations", "best error", "failed", "left")
    ]
    assert lines[1].split() == ["wine", "random", "0", "done", "20/20", "0.2000", "2"]
    assert lines[2:] == [
        "",
        "1 search: 1 done; 20/20 evaluations",
        "2 ensembles: 1 done, 1 failed",
        f"wine random stacking 0: no space left; see {log}",
        f"Report: {page} (of an earlier state)",
    ]
    stacked_scores = Path("results/s/ensembles/wine/random/stacking/0/scores.parquet")
    stacked_scores.parent.mkdir(parents=True)
    stacked_scores.touch()
    assert status.report(stacked)[0][-2:] == ["2 ensembles: 2 done", f"Report: {page}"]


def test_losses_are_called_by_the_metric(tmp_path, stacked, capsys):
    jobs = Jobs(stacked.study.model_copy(update={"metric": "log-loss"}))
    assert "  best log loss  " in status.report(jobs)[0][0]
    Progress(tmp_path, JOB | {"metric": "log-loss"}, Budget(evaluations=9), [])(
        [made_record(fit_seconds=1.0, suggest_seconds=0.0)]
    )
    assert "wine random repeat 0: 1/9, best log loss 0.2500, last ok in" in capsys.readouterr().err


def test_the_log_estimates_what_is_left_once_there_is_progress(tmp_path, capsys, monkeypatch):
    """Successes are counted: after a failure alone nothing can be said."""
    monkeypatch.setattr(progress_module, "INTERVAL", 0)
    progress = Progress(tmp_path, JOB, Budget(evaluations=9, successes=2), [])
    seconds = {"fit_seconds": 1.0, "suggest_seconds": 0.0}
    records = [made_record(status="crash", error=None, **seconds)]
    progress(records)
    assert capsys.readouterr().err.endswith("0/2, best error none, 1 failed, last crash in 1.0 s\n")
    for _ in range(2):
        records.append(made_record(**seconds))
        progress(records)
    first, last = capsys.readouterr().err.splitlines()
    assert re.search(r"1/2, .*, last ok in 1.0 s, \d+ s left$", first)
    assert last.endswith("2/2, best error 0.2500, 1 failed, last ok in 1.0 s, 0 s left")


def test_quick_evaluations_are_reported_once_a_second_and_at_the_end(tmp_path, capsys):
    records = [made_record(fit_seconds=1.0, suggest_seconds=0.0)] * 9
    progress = Progress(tmp_path, JOB, Budget(evaluations=9), [])
    for count in range(1, 10):
        progress(records[:count])
    lines = capsys.readouterr().err.splitlines()
    assert [re.search(r"(\d)/9,", line)[1] for line in (lines[0], lines[-1])] == ["1", "9"]
    assert len(lines) < 9
    assert json.loads((tmp_path / "progress.json").read_text())["done"] == 9


def test_the_last_evaluations_of_a_search_that_failed_count(tmp_path, monkeypatch):
    at_exit = []
    monkeypatch.setattr(progress_module.atexit, "register", at_exit.append)
    progress = Progress(tmp_path, JOB, Budget(evaluations=9), [])
    for count in range(1, 5):
        progress([made_record(fit_seconds=0.1, suggest_seconds=0.0)] * count)
    for function in at_exit:
        function()
    assert json.loads((tmp_path / "progress.json").read_text())["done"] == 4


def test_what_is_no_search_is_named_in_the_status(stacked):
    content = stacked.study.model_dump(mode="json", exclude_none=True)
    content["surrogates"] = {"names": ["forest-kernel"], "repeats": 2}
    content["autogluon"] = {"seconds": 60}
    content["spread"] = {}
    jobs = list(states.jobs_after_searches(Jobs(model.check(content))))
    kinds = [job.kind for job in jobs if job.kind != "ensemble"]
    assert kinds == [
        "set of configurations",
        *2 * ["evaluation of surrogates"],
        *4 * ["spread of designs"],
        "run of AutoGluon",
    ]
    assert {states.job_state(job, (), {}) for job in jobs} == {"waiting"}
    designs = next(job for job in jobs if job.wildcards == ("sobol",))
    designs.output.parent.mkdir(parents=True)
    designs.output.touch()
    assert states.job_state(designs, (), {}) == "done"


def test_divisions_wait_for_their_search(stacked):
    content = stacked.study.model_dump(mode="json", exclude_none=True)
    content["ensembles"] = {"best": {"type": "best"}}
    search = next(iter(content["searches"]))
    content["methods"] = {"one": {"search": search, "ensemble": "best"}}
    content["divisions"] = 5
    study = model.check(content)
    divisions = [j for j in states.jobs_after_searches(Jobs(study)) if j.rule == "divisions"]
    assert [job.wildcards for job in divisions] == states.searches(study)
    job = divisions[0]
    job.output.parent.mkdir(parents=True)
    job.output.touch()
    assert states.job_state(job, (), {}) == "done"
    assert states.job_state(job, [job.wildcards], {}) == "waiting"


def test_ensembles_and_tables_made_with_other_settings_are_outdated(stacked):
    content = stacked.study.model_dump(mode="json", exclude_none=True)
    content["tables"] = {"random": 30}
    root = Path("results/s")

    def found(**change):
        jobs = Jobs(model.check(content | change))
        return {
            job.kind: states.job_state(job, (), {})
            for job in states.jobs_after_searches(jobs)
            if "stacking" not in job.wildcards
        }

    folder = root / "ensembles/wine/random/best/0"
    made_results.write_ensemble(folder, [0.2], [0.2], settings={"type": "best"})
    made_results.write_split(root, "wine")
    shard = made_results.search_manifest(dataset="wine", budget={"evaluations": 30})
    whole = model.check(content).model_dump(mode="json")
    files.write_json(
        root / "shards/wine/fixed/0/search.json",
        shard | {key: whole[key] for key in ("space", "metric", "limits", "seed")},
    )
    (root / "tables/wine/fixed").mkdir(parents=True)
    (root / "tables/wine/fixed/table.json").touch()
    done = dict.fromkeys(("ensemble", "part of tables", "table"), "done")
    old = {"part of tables": "outdated", "table": "outdated"}
    assert found() == done
    assert found(tables={"random": 31}) == done | old
    assert found(seed=5) == done | old
    assert found(tables={"random": 15, "fidelities": [0.5, 1.0]}) == done | old  # also 30
    assert found(split={"seed": 7}) == done | old
    assert found(ensembles=content["ensembles"] | {"best": {"type": "selection"}}) == done | {
        "ensemble": "outdated"
    }


def test_other_results_made_with_other_settings_are_outdated(stacked):
    content = stacked.study.model_dump(mode="json", exclude_none=True)
    section = {"names": ["forest-kernel"], "repeats": 1, "configurations": 110, "sizes": [50]}
    content["ensembles"] = {"best": {"type": "best"}}
    content["methods"] = {"one": {"search": "random", "ensemble": "best"}}
    content |= {"surrogates": section, "spread": {}, "divisions": 5}
    jobs, root = Jobs(model.check(content)), Path("results/s")

    def found(**change):
        made = states.jobs_after_searches(Jobs(model.check(content | change)))
        return {job.kind: states.job_state(job, (), {}) for job in made if job.kind != "ensemble"}

    made_results.write_split(root, "wine")
    asked = {
        "set of divisions": (
            readers.DIVISIONS,
            lambda dataset, search, repeat: jobs.divisions(search),
        ),
        "evaluation of surrogates": (readers.QUALITY, lambda dataset, *name: jobs.surrogate(*name)),
        "spread of designs": (readers.SPREAD, jobs.spread),
    }
    for job in states.jobs_after_searches(jobs):
        if job.kind == "set of configurations":
            made = json.loads(jobs.configurations("wine"))
            made |= {"settings": made.pop("optimizer")}
            files.write_json(job.output, made_results.search_manifest(**made))
        elif job.kind in asked:
            columns, describe = asked[job.kind]
            table = pa.table({c: pa.array([], kind) for c, kind in columns.items()})
            job.output.parent.mkdir(parents=True)
            files.write_parquet(
                job.output, table, {"ensemble_search.job": describe(*job.wildcards)}
            )

    def old(**change):
        return {kind for kind, state in found(**change).items() if state == "outdated"}

    assert {*found().values()} == {"done"}
    assert old(divisions=6) == {"set of divisions"}
    assert old(spread={"samples": 7}) == {"spread of designs"}
    assert old(surrogates=section | {"sizes": [40]}) == {"evaluation of surrogates"}
    assert old(surrogates=section | {"configurations": 105}) == {
        "set of configurations",
        "evaluation of surrogates",
    }
    assert old(split={"seed": 7}) == {"set of configurations"}
    assert old(seed=5) == {*found()} - {"set of divisions"}


def test_tables_wait_for_their_searches(stacked):
    content = stacked.study.model_dump(mode="json", exclude_none=True)
    content |= {"tables": {"random": 30, "searches": ["random"]}, "repeats": 3}
    content["split"] = {"resample": "per-repeat"}
    jobs = states.jobs_after_searches(Jobs(model.check(content)))
    tables = [job for job in jobs if job.kind == "table"]
    assert [job.after for job in tables] == [[("wine", "random", n)] for n in range(3)]
    tables[1].output.parent.mkdir(parents=True)
    tables[1].output.touch()
    assert states.job_state(tables[1], [("wine", "random", 0)], {}) == "done"
    assert states.job_state(tables[1], [("wine", "random", 1)], {}) == "waiting"


def test_changed_data_are_named_in_the_status(tmp_path, monkeypatch, loaded):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("x,y\n1,a\n2,b\n")
    content = loaded.model_dump(mode="json", exclude_none=True)
    jobs = Jobs(model.check(content | {"datasets": {"m": {"file": "mine.csv", "target": "y"}}}))
    assert not any("DATA" in line for line in status.report(jobs)[0])
    (key,) = jobs.sources
    facts = {"name": "m", "source": {}, "version": None, "md5": "0" * 32, "checksum": "0" * 64}
    facts |= {"rows": 2, "features": 1, "target": "y", "columns": {}, "classes": {}}
    files.write_json(Path("results/data") / key / "dataset.json", facts)
    Path("results/s/report").mkdir(parents=True)
    Path("results/s/report/index.html").touch()
    *_, note, page = status.report(jobs)[0]
    assert note.startswith("note: DATA CHANGED: 'mine.csv' has changed")
    assert page.endswith("(of an earlier state)")


def test_tables_are_named_in_the_status(stacked):
    content = stacked.study.model_dump(mode="json", exclude_none=True)
    content["surrogates"] = {"names": ["forest-kernel"], "repeats": 1}
    content["tables"] = {"random": 201}
    jobs = list(states.jobs_after_searches(Jobs(model.check(content))))
    kinds = [job.kind for job in jobs if job.kind != "ensemble"]
    assert kinds == [*3 * ["part of tables"], "table", "evaluation of surrogates"]
    assert json.loads(Jobs(model.check(content)).shard("wine", 2))["budget"] == {"evaluations": 1}


@pytest.fixture
def replayed(stacked):
    """A study with two repeats on a table; its first search has been replayed, but not written."""
    evaluation = {"replay": "results/t/tables"}
    content = stacked.study.model_dump(mode="json", exclude_none=True)
    jobs = Jobs(model.check(content | {"repeats": 2, "evaluation": evaluation}))
    records = [made_record(fit_seconds=1.0, suggest_seconds=0.0)] * 20
    Path("results/s").mkdir(parents=True)
    with lock("results/s/.lock", "the study"):
        Progress(Path("results/s/checkpoints/wine/random/0"), JOB, Budget(evaluations=20), [])(
            records
        )
        yield jobs


def test_a_replay_that_runs(replayed):
    lines, _ = status.report(replayed)
    assert [line.split()[3:5] for line in lines[1:3]] == [["running", "20/20"], ["waiting", "0/20"]]
    path = Path("results/s/checkpoints/wine/random/0/progress.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"updated": time.time() - 9999}))
    lines, _ = status.report(replayed)
    assert lines[1].split()[2:5] == ["0-1", "waiting", "0/40"], "it is of an earlier run"


@pytest.mark.parametrize(
    ("budget", "amount", "whole"),
    [
        ({"fits": 12}, "8 in 2.67/12 fits", "3/24 full fits"),
        ({"seconds": 100.0}, "8 in 15/100 s", "15/200 seconds (wall-clock) of fitting"),
        ({"cpu_seconds": 100.0}, "8 in 10/100 CPU s", "10/200 CPU seconds of fitting"),
    ],
)
def test_a_replay_that_used_up_its_table_is_not_shown_at_its_budget(
    replayed, budget, amount, whole
):
    study, root = replayed.study.model_copy(update={"budget": model.Budget(**budget)}), Path("r")
    table = {"folder": "x", "entries": 20, "checksum": "0" * 64}
    made = {"budget": budget, "wall_seconds": 18.0, "suggest_seconds": 3.0, "cpu_seconds": 10.0}
    made_results.write_search(root, "wine", "random", 0, [0.2] * 8, fidelity=1 / 3)
    finish(root, study, evaluations=8, status={"ok": 8}, table=table, **made)
    found = states.search_state(root, study, "wine", "random", 0)
    waits = states.search_state(root, study, "wine", "random", 1)
    assert status.row(found)[3:] == ("done", amount, "0.2000", "", "table used up")
    assert status.total([found, found | {"repeat": 1}]).startswith("2 searches: 2 done; ")
    assert f"; {whole}; about" in status.total([found, waits])
    reached = found | {"done": found["budget"], "used_up": False}
    assert len(status.together([found, found, reached])) == 2
    assert "left" not in status.total([found, reached])


def test_repeats_of_a_replay_are_added_up():
    one = {"dataset": "d", "search": "s", "unit": "evaluations", "budget": 20, "state": "done"}
    one |= {"evaluations": 20, "done": 20, "failed": 1, "seconds": 2.0, "best_error": 0.25}
    states = [one | {"repeat": r, "best_error": 0.25 + 0.5 * (r == 4)} for r in (0, 1, 2, 4)]
    states.append(one | {"repeat": 3, "state": "running", "done": 5, "best_error": None})
    lines = status.table(status.together(states), "error")
    assert lines[1].split() == ["d", "s", "0-2,4", "done", "80/80", "0.3750", "4"]
    assert lines[2].split() == ["d", "s", "3", "running", "5/20", "1", "6", "s"]


def test_a_replay_that_failed_starts_over(replayed):
    logs = Path("results/s/logs/replay/wine/random/0.log")
    ensembles = Path("results/s/logs/replayed_ensemble/wine/random/best/0.log")
    for log in (logs, ensembles):
        log.parent.mkdir(parents=True)
    logs.write_text("wine random repeat 0: 20/20\nerror: the table is damaged\n")
    lines, _ = status.report(replayed)
    assert lines[1].split() == ["wine", "random", "0-1", "failed", "0/40"]
    assert lines[3:5] == [
        "2 searches: 2 failed; 0/40 evaluations",
        "4 ensembles: 4 waiting",
    ]
    assert lines[5:] == [f"wine random 0 and 1 more: the table is damaged; see {logs}"]
    logs.unlink()
    for repeat in range(2):
        finish(Path("results/s"), replayed.study, repeat=repeat)
    ensembles.write_text("error: no space left\n")
    assert (
        f"wine random best 0 and 1 more: no space left; see {ensembles}"
        in (status.report(replayed)[0])
    )


def test_replays_are_found_in_the_queue(replayed, monkeypatch):
    comments = [
        ("last_replay", "wine", "random", ""),
        ("last_replayed_ensemble", "wine", "random", "best", ""),
    ]
    queue = [slurm.Job("7", "PENDING", "Priority", slurm.comment(*comment)) for comment in comments]
    monkeypatch.setattr(slurm, "queue", lambda: queue)
    lines, _ = status.report(replayed)
    assert "2 searches: 2 queued; 20/40 evaluations" in lines[3]
    assert lines[4] == "4 ensembles: 2 queued, 2 waiting"


def test_an_empty_log_on_a_full_disk_says_so(tmp_path, monkeypatch):
    log = tmp_path / "a.log"
    log.write_text("")
    failure = job_logs.Failure("split", (), log)
    assert "said no reason" in job_logs.table([failure])[1]
    monkeypatch.setattr(job_logs.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 0))
    assert "no space is left on the disk of" in job_logs.table([failure])[1]


def test_the_reason_of_a_traceback_is_the_exception_and_the_authors_line(tmp_path):
    log, script = tmp_path / "a.log", tmp_path / "mine.py"

    def reason(code: str) -> str:
        script.write_text(code)
        with log.open("w") as file:
            print("12:00 begins", file=file, flush=True)
            subprocess.run([sys.executable, script], stderr=file, check=False)
        return job_logs.reason(log)

    odd = (
        "import json\n"
        "class Odd:\n"
        "    def __repr__(self):\n"
        "        raise ValueError('two lines:\\n  the second')\n"
        "try:\n"
        "    {}['first']\n"
        "except KeyError:\n"
        "    json.JSONDecoder(object_hook=lambda _: repr(Odd())).decode('{}')\n"
    )
    assert reason(odd) == f"{script}, line 4: ValueError: two lines: the second"
    odd = odd.replace("raise", "sys.path.append(scripts); import space; space.fail(); raise")
    (tmp_path / "workflow_scripts").mkdir()
    (tmp_path / "workflow_scripts/space.py").write_text("def fail():\n    {}['second']\n")
    odd = f"import sys; scripts = {str(tmp_path / 'workflow_scripts')!r}\n{odd}"
    assert reason(odd) == f"{script}, line 5: KeyError: 'second'"
    said = reason("import json\njson.loads('{')\n")
    assert said.startswith(f"{script}, line 2: json.decoder.JSONDecodeError: Expecting")


def test_the_table_of_failures(tmp_path):
    def failure(name, text=None, message=""):
        log = tmp_path / name
        if text is not None:
            log.write_text(text)
        return job_logs.Failure("search", ("s", "wine", name, "0"), log, message)

    failures = [
        failure("a", "12:00 begins\nerror: no space left\n\n"),
        failure("b", "Traceback (most recent call last):\n  File\nValueError: what\n", "exit 1"),
        failure("c", "12:00 begins\n12:01 goes on\n"),
        failure("d", "12:00 begins\n", "SLURM-job '7' failed,\nstatus: 'OUT_OF_MEMORY'."),
        failure("e"),
    ]
    lines = job_logs.table(failures)
    assert lines[0].split() == ["rule", "job", "log", "reason"]
    assert lines[1] == f"search  s wine a 0  {tmp_path / 'a'}  no space left"
    assert lines[2].endswith("  ValueError: what")
    assert lines[3].endswith(
        "  ended from outside, or said no reason; the last line of its log: 12:01 goes on"
    )
    assert lines[4].endswith("  SLURM-job '7' failed, status: 'OUT_OF_MEMORY'.")
    assert lines[5].endswith("  said no reason; its log is empty")
    many = job_logs.table(failures * 20)
    assert len(many) == 1 + job_logs.SHOWN + 1 and many[-1] == "and 60 more"
