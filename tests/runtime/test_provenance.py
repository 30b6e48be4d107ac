"""Provenance: the commit that results are stored with."""

import shutil
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version

import pytest

from ensemble_search.runtime import provenance

pytestmark = pytest.mark.slow


def test_commit_is_that_of_the_own_repository_and_new_files_are_dirty(tmp_path, monkeypatch):
    def git(*arguments, cwd):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *name, *arguments], cwd=cwd, check=True, capture_output=True)

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    own = tmp_path / "own"
    scripts = own / "workflow_scripts/ensemble_search/runtime"
    scripts.mkdir(parents=True)
    shutil.copy(provenance.__file__, scripts)
    (own / "Snakefile").touch()
    monkeypatch.setattr(provenance, "__file__", str(scripts / "provenance.py"))
    nothing = {"commit": None, "dirty": None}
    assert provenance.commit() == nothing
    git("init", "-q", cwd=own)
    git("add", ".", cwd=own)
    git("commit", "-qm", "one", cwd=own)
    assert len(provenance.commit()["commit"]) == 40
    assert provenance.commit()["dirty"] is False
    (own / "results.txt").touch()
    assert provenance.commit()["dirty"] is False
    (scripts / "plugin.py").touch()
    assert provenance.commit()["dirty"] is True
    (own / ".git").rename(tmp_path / ".git")
    git("add", ".", cwd=tmp_path)
    git("commit", "-qm", "two", cwd=tmp_path)
    assert provenance.commit() == nothing


def test_moments_of_the_past(monkeypatch):
    now, clock = time.monotonic(), datetime.now(UTC)
    for seconds in (0, 1000):
        written = datetime.fromisoformat(provenance.past(now - seconds))
        assert abs((clock - written).total_seconds() - seconds) <= 60


def test_a_process_is_not_older_for_a_clock_that_was_set(monkeypatch):
    before, clock = provenance.process_started(), time.time
    monkeypatch.setattr(time, "time", lambda: clock() + 1e8)
    assert abs(provenance.process_started() - before) < 60


def test_versions_of_further_libraries():
    """By import name, whatever the package is called; without those of every search."""
    found = provenance.further(["numpy", "pydantic", "sklearn", "xgboost", "no_such_module"])
    assert found == {"xgboost": version("xgboost-cpu"), "no_such_module": "no package"}
    assert list(provenance.versions(["xgboost"]))[-1] == "xgboost"
