"""The status table: what is read, and what is guessed from it."""

import json

import pytest

import status
from divbo import study


def test_work_left_is_guessed_from_the_same_data_set():
    states = [
        {"dataset": "a", "evaluations": 10, "budget": 10, "seconds": 20.0},
        {"dataset": "a", "evaluations": 0, "budget": 10, "seconds": 0.0},
        {"dataset": "b", "evaluations": 5, "budget": 10, "seconds": 50.0},
        {"dataset": "c", "evaluations": 0, "budget": 3, "seconds": 0.0},
    ]
    assert status.seconds_left(states) == pytest.approx(10 * 2 + 5 * 10 + 3 * 70 / 15)


@pytest.fixture
def loaded():
    return study.check(
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
    assert status.state(tmp_path, loaded, *part)["state"] == "waiting"
    folder = tmp_path / "checkpoints/wine/random/0"
    (folder / "abc").mkdir(parents=True)
    (folder / "abc/lock").write_text("")
    progress = {"evaluations": 5, "budget": 20, "best_error": 0.25, "failed": 1, "seconds": 10.0}
    (folder / "progress.json").write_text(json.dumps(progress))
    stopped = status.state(tmp_path, loaded, *part)
    assert stopped["state"] == "stopped"
    assert status.row(stopped) == ("wine", "random", "0", "stopped", "5/20", "0.2500", "1", "30 s")
    from divbo.search.journal import lock

    held = lock(folder / "abc/lock", "it")
    assert status.state(tmp_path, loaded, *part)["state"] == "running"
    held.close()
    manifest = {"evaluations": 20, "status": {"ok": 18}, "wall_seconds": 40.0, "best_error": 0.2}
    (tmp_path / "searches/wine/random/0").mkdir(parents=True)
    (tmp_path / "searches/wine/random/0/search.json").write_text(json.dumps(manifest))
    done = status.state(tmp_path, loaded, *part)
    assert status.row(done) == ("wine", "random", "0", "done", "20/20", "0.2000", "2", "")
    text = status.total([done])
    assert text == "1 searches: 1 done; 20/20 evaluations"
