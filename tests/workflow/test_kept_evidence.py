"""`make evidence`: runs what is missing, and keeps what is there without its results."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import evidence as evidence_script
from ensemble_search.evidence import rows as evidence
from support import ROOT, forks
from support.finished_study import STUDY

pytestmark = pytest.mark.slow


def run(folder: Path, *arguments: str) -> list[str]:
    script = ROOT / "workflow_scripts/evidence.py"
    command = ["python", script, "--study", "study.yaml", "--cores", "1", *arguments]
    environment = forks.environment(folder)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_repeats_are_done_once_and_kept_without_their_results(tmp_path):
    split = {"train": 60, "validation": 60, "resample": "per-repeat"}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({**STUDY, "repeats": 2, "split": split}))
    nothing = run(tmp_path, "--minutes", "0")
    assert nothing == [
        "evidence/tiny: 0 of 2 repeats, 0 rows, 0 stale",
        "  missing: wine, repeat 0",
        "  missing: wine, repeat 1",
    ]
    assert run(tmp_path)[-1] == "evidence/tiny: 2 of 2 repeats, 2 rows, 0 stale"
    file = tmp_path / "evidence/tiny/runs.csv"
    written = file.read_bytes()
    rows = list(csv.DictReader(written.decode().splitlines()))
    assert [(row["dataset"], row["repeat"], row["test_rows"]) for row in rows] == [
        ("wine", "0", "58"),
        ("wine", "1", "58"),
    ]
    assert tuple(rows[0]) == evidence.COLUMNS

    shutil.rmtree(tmp_path / "results")
    assert run(tmp_path) == ["evidence/tiny: 2 of 2 repeats, 2 rows, 0 stale"]
    assert file.read_bytes() == written
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("minutes", ["-1", "nan"])
def test_minutes_are_from_0_on(minutes, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evidence.py", "--study", "no.yaml", f"--minutes={minutes}"])
    with pytest.raises(SystemExit):
        evidence_script.main()
    assert f"--minutes: {minutes} is not a number from 0 on" in capsys.readouterr().err
