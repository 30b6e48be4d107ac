"""Evidence of what is measured beside searches: surrogates and designs."""

import json
from pathlib import Path

import numpy as np
import pytest

from ensemble_search.evidence import measured, page
from ensemble_search.evidence import rows as evidence
from ensemble_search.runtime import files
from support import ROOT

RECORDED = json.loads((ROOT / "tests/recorded/numbers.json").read_text(encoding="utf-8"))
STUDY = {
    "study": "tiny",
    "datasets": ["wine"],
    "repeats": 1,
    "methods": {},
    "seed": 0,
    "space": "divbo",
    "metric": "error",
    "limits": {"seconds": 10},
    "split": {"train": 0.6},
    "surrogates": None,
    "spread": None,
}
SURROGATES = {
    "names": ["forest-kernel", "random-forest"],
    "datasets": None,
    "repeats": 1,
    "sizes": [5, 10],
    "configurations": 20,
    "held_out": 5,
}


@pytest.fixture
def designs(tmp_path):
    """Two designs of a sampler, of 1 and of 10 points."""
    study = {**STUDY, "spread": {"sizes": [1, 10], "samples": 2}}
    columns = {
        "size": [1, 1, 10, 10],
        "sample": [0, 1, 0, 1],
        "discrepancy": [0.1, 0.1, 0.001, 0.1],
        "centre": [0.01] * 4,
        "origin": [1.0, 1.0, 0.01, 0.0],
    }
    job = {"sampler": "sobol", "sizes": [1, 10], "samples": 2, "seed": 0}
    files.write_parquet(
        tmp_path / "spread/sobol/spread.parquet",
        columns,
        {"ensemble_search.job": json.dumps(job)},
    )
    return study, measured.rows(study, tmp_path, RECORDED)


def test_designs_by_hand(designs):
    study, rows = designs
    assert [(row["dataset"], row["repeat"], row["method"]) for row in rows] == [
        ("0 to 1", "0", "sobol"),
        ("0 to 1", "1", "sobol"),
    ]
    assert [[float(row[name]) for name in measured.DESIGNS] for row in rows] == [
        [-2, -2, -1],
        [-1, -2, -4],  # 0 counts as 1e-8
    ]
    assert {row["tau"] for row in rows} == {""}
    text = page.page(study, [], rows)
    sd = np.std([0, 1], ddof=1)
    row = f"| 0 to 1 | sobol | 2 | -1.500 ± {sd:.3f} | -2.000 ± 0.000 | -2.500 ± {3 * sd:.3f} |"
    assert row in text
    single = page.page(study, [], rows[:1])
    assert "| 0 to 1 | sobol | 1 | " in single and "nan" not in single


def test_what_is_written_is_read(designs, tmp_path):
    _, rows = designs
    measured.write(tmp_path / "evidence", rows)
    assert measured.read(tmp_path / "evidence") == rows
    measured.write(tmp_path / "none", [])
    assert not (tmp_path / "none").exists()
    assert measured.read(tmp_path / "none") == []


def test_settings_and_recorded_numbers_make_rows_stale(designs):
    study, rows = designs
    other = {**study, "spread": {**study["spread"], "samples": 3}}
    for made, stale in ((study, ""), (other, "yes")):
        merged = evidence.merge(rows, [], measured.numbers(made, RECORDED))
        assert {row["stale"] for row in merged} == {stale}


def test_the_code_of_samplers_makes_rows_stale_but_not_its_comments(designs, tmp_path, monkeypatch):
    study, rows = designs
    text = Path(measured.coverage.__file__).read_text(encoding="utf-8")
    assert "CELLS = 2000" in text
    for other, stale in (
        (f"# A comment.\n{text}", ""),
        (text.replace("CELLS = 2000", "CELLS = 1000"), "yes"),
    ):
        path = tmp_path / "coverage.py"
        path.write_text(other, encoding="utf-8")
        monkeypatch.setattr(evidence.inspect, "getfile", lambda made, path=path: str(path))
        merged = evidence.merge(rows, [], measured.numbers(study, RECORDED))
        assert {row["stale"] for row in merged} == {stale}


def test_surrogates_depend_on_their_own_recorded_numbers():
    study = {**STUDY, "surrogates": SURROGATES}
    before = measured.numbers(study, RECORDED)
    assert set(before) == {
        f"{name}, {size}" for name in SURROGATES["names"] for size in SURROGATES["sizes"]
    }
    changed = {**RECORDED, "surrogate": {**RECORDED["surrogate"], "forest-kernel": {}}}
    after = measured.numbers(study, changed)
    moved = {name for name in before if before[name] != after[name]}
    assert moved == {"forest-kernel, 5", "forest-kernel, 10"}


@pytest.mark.parametrize(
    ("datasets", "first"),
    [
        (["d", "e"], "**1 of 2 data sets** of the study `s` are in `measured.csv`."),
        (["c"], "Measures of the study `s` are in `measured.csv`."),
    ],
)
def test_the_page_of_measures_alone_counts_no_runs(datasets, first):
    study = {"study": "s", "repeats": 1, "datasets": datasets, "methods": {"RS": {}}}
    row = dict.fromkeys(measured.MEASURES, "") | {"dataset": "d", "method": "m", "tau": "0.5"}
    text = page.page(study, [], [row | {"stale": ""}])
    assert text.startswith(first)
    assert "runs" not in text
    assert "No repeat has finished." in page.page(study, [], [row | {"stale": "yes"}])
