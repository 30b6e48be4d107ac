"""A study gives the same bytes elsewhere: its manifest, and the study run again from it.

The second run is `reproduce.py`, with another number of cores, folder, home, user, locale, time
zone, hash seed and umask, all at once.
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest

import reproduce
from ensemble_search.results import reproduction
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import sha256
from support import checkout
from support.checkout import Checkout

STUDY = {
    **checkout.STUDY,
    "budget": {"evaluations": 7},
    "searches": {
        "random": {"optimizer": "random"},
        "divbo": {"optimizer": "divbo", "candidates": 200, "local": 5},
    },
    "methods": {
        "RS": {"search": "random", "ensemble": "best"},
        "DivBO": {"search": "divbo", "ensemble": "selection-5"},
    },
}
#: Columns of Parquet files and keys of search.json that hold a time or a measurement, or name the
#: place: all that may differ.
COLUMNS = ["suggest_seconds", "fit_seconds", "cpu_seconds", "predict_seconds", "memory_mb"]
KEYS = {
    *(
        "started",
        "finished",
        "job_seconds",
        "wall_seconds",
        "rest_seconds",
        "suggest_seconds",
        "cpu_seconds",
    ),
    *("files", "commit", "dirty"),
}
#: Folders of diaries, and pages that show times and dates; their tables are compared.
DIARIES = {"logs", "benchmarks", "checkpoints", "pages", ".lock", ".snakemake_timestamp"}
DIARIES |= {"fetch.log", "fetch.tsv", "index.html", "manifest.json"}
#: Tables and figures of the report that show times, commits, or the name of the study file.
REPORTED = {"time", "time-to-suggest", "origins", "settings", "inference-time"}
REPORTED |= {"each-data-set-wine", "each-data-set-seconds-wine"}
#: Two whole runs, which take long where little of a processor is left.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
ELSEWHERE = {"USER": "someone", "LOGNAME": "someone", "TZ": "Asia/Kathmandu"}


def locale() -> str:
    """A locale with other rules for letters or numbers, if there is one; else plain C."""
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout
    known = {name.lower().replace("-", ""): name for name in listed.split()}
    return next((known[n] for n in ("tr_tr.utf8", "de_de.utf8") if n in known), "C")


def run(folder: Path, *command, **environment) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**inherited, "PATH": path, "HOME": str(folder), **environment},
        umask=0o077,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    text = done.stdout.decode()
    assert done.returncode == 0, text
    return text


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """Folder of a checkout with the finished study."""
    checkout = Checkout(tmp_path_factory.mktemp("there"))
    checkout.environment |= {"TZ": "UTC", "USER": "me", "LOGNAME": "me"}
    checkout.run(STUDY, "--cores", "1")
    return checkout.folder


@pytest.fixture(scope="module")
def here(there, tmp_path_factory):
    """Folder in which the study was run again from its manifest, and what was said."""
    folder = tmp_path_factory.mktemp("here") / "another folder ä"
    (home := folder.parent / "home").mkdir()
    (temporary := folder.parent / "tmp").mkdir()
    said = run(
        there,
        *("workflow_scripts/reproduce.py", "results/tiny/manifest.json"),
        *("--folder", str(folder), "--cores", "2"),
        LC_ALL=locale(),
        PYTHONHASHSEED="4242",
        **{**ELSEWHERE, "HOME": str(home), "TMPDIR": str(temporary)},
    )
    return folder, said


def content(folder: Path) -> dict[str, object]:
    """Files of the results that must not differ, by name: bytes, without COLUMNS and KEYS."""
    found = {}
    for path in sorted((folder / "results").rglob("*")):
        name = path.relative_to(folder / "results")
        if path.is_dir() or DIARIES & set(name.parts):
            continue
        if "report" in name.parts and path.stem in REPORTED:
            continue
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            found[str(name)] = frame.drop(columns=COLUMNS, errors="ignore").to_json(
                double_precision=15
            )
        elif path.name in ("search.json", "ensemble.json"):
            facts = json.loads(path.read_text(encoding="utf-8"))
            found[str(name)] = {k: v for k, v in facts.items() if k not in KEYS}
        else:
            found[str(name)] = path.read_bytes()
    return found


def test_manifest(there):
    folder = there / "results/tiny"
    made = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert made["versions"]["scikit-learn"] == version("scikit-learn")
    assert made["study"]["searches"]["divbo"]["tau"] == 0.2, "defaults are written out"
    dataset = json.loads((there / "results/data/sklearn-wine/dataset.json").read_text())
    assert made["data"]["wine"]["source"] == {"sklearn": "wine"}
    assert made["data"]["wine"]["checksum"] == dataset["checksum"]
    table = folder / "report/tables/test-error.csv"
    assert made["tables"]["test-error.csv"] == sha256(table)
    frames = [
        pd.read_parquet(folder / f"searches/wine/{search}/0/observations.parquet")
        for search in ("random", "divbo")
    ]
    seconds = sum((f.cpu_seconds + f.suggest_seconds).sum() for f in frames)
    assert made["searches"]["core_hours"] == pytest.approx(seconds / 3600)
    assert made["searches"]["count"] == 2
    assert made["searches"]["evaluations"] == 14
    assert [r["searches"] for r in made["searches"]["ran_with"]] == [2]


def test_all_bytes_are_the_same_elsewhere(there, here):
    expected, found = content(there), content(here[0])
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []
    kinds = {Path(name).suffix for name in expected}
    assert kinds >= {".parquet", ".npy", ".npz", ".json", ".csv", ".svg", ".tex"}


def test_reproduce_compares_the_tables(here):
    assert "All " in here[1]
    assert "tables are equal" in here[1]
    assert "test-error.csv: equal (12 cells)" in here[1]


@pytest.fixture
def again(there, here, tmp_path, monkeypatch):
    """Compare a changed copy of the study with its reproduction; nothing is run for it."""
    shutil.copytree(there / "results/tiny/report", tmp_path / "results/tiny/report")
    file = shutil.copy(there / "results/tiny/manifest.json", tmp_path / "results/tiny")
    monkeypatch.setattr(reproduce, "snakemake", lambda *_: None)

    def call(change=lambda made: None):
        made = json.loads(Path(file).read_text(encoding="utf-8"))
        change(made)
        Path(file).write_text(json.dumps(made), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["reproduce.py", str(file), "--folder", str(here[0])])
        reproduce.main()

    return call


def test_differences_are_listed(again, tmp_path, capsys):
    """Other commit, version and table: each difference is a line, and the exit status is 1."""
    table = tmp_path / "results/tiny/report/tables/test-error.csv"
    frame = pd.read_csv(table)
    frame.loc[0, "mean"] += 0.25
    frame.to_csv(table, index=False, lineterminator="\n")

    def change(made):
        made["commit"] = "abc"
        made["versions"]["numpy"] = "1.0"
        made["tables"]["test-error.csv"] = sha256(table)

    with pytest.raises(SystemExit) as end:
        again(change)
    said = capsys.readouterr().out
    assert end.value.code == 1
    assert "test-error.csv: 1 of 12 cells differ, numbers by up to 0.25\n" in said
    assert "1 of" in said.splitlines()[-1]
    assert "  commit: abc there, " in said
    assert f"  numpy: 1.0 there, {version('numpy')} here\n" in said


def test_other_data_end_it(again, capsys):
    with pytest.raises(SystemExit) as end:
        again(lambda made: made["data"]["wine"].update(checksum="0", rows=179))
    assert end.value.code == 1
    said = capsys.readouterr().out
    assert "data of 'wine': another content (rows 179 there, 178 here)" in said
    assert "cells" not in said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda made: made.pop("data"), "is not a manifest of a study: key 'data' is missing"),
        (lambda made: made["study"].update(seed=7), "its study is not that of its study_hash"),
        (lambda made: made.update(study=[]), "is not a manifest of a study"),
        (lambda made: made["tables"].update({"x.csv": ""}), "there is no table"),
        (lambda made: made["tables"].update({"summary.csv": ""}), "is not the table that"),
    ],
)
def test_files_that_are_no_manifest(again, change, told):
    with pytest.raises(UserError, match=told) as error:
        again(change)
    assert "\n" not in str(error.value)


def test_a_torn_manifest_and_none_at_all(there, tmp_path):
    file = tmp_path / "manifest.json"
    with pytest.raises(UserError, match="there is no manifest"):
        reproduction.read(file)
    file.write_text((there / "results/tiny/manifest.json").read_text(encoding="utf-8")[:-9])
    with pytest.raises(UserError, match="is damaged: it is not JSON"):
        reproduction.read(file)
