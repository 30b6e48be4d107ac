"""A study made from its manifest, and tables compared cell by cell; nothing is run."""

import json
from pathlib import Path

import pytest
import yaml

from divbo import manifest, reproduction
from divbo.errors import UserError
from divbo.tasks import Tasks

ROOT = Path(__file__).parents[1]


def test_shared_searches_are_looked_for_where_they_lie():
    record = {
        "study": {
            "datasets": {"a": {}, "b": {}},
            "methods": {"X": {"search": "bo"}, "Y": {"search": "bo"}},
            "repeats": 2,
            "surrogates": {"datasets": ["b"]},
        },
        "homes": {"bo": {"a": {"study": "main", "repeats": 1}}},
    }
    assert [str(path) for path in manifest.searches(record, Path("results/mine"))] == [
        "results/main/searches/a/bo/0/search.json",
        "results/mine/searches/a/bo/1/search.json",
        "results/mine/searches/b/bo/0/search.json",
        "results/mine/searches/b/bo/1/search.json",
        "results/mine/configurations/b/search.json",
    ]


@pytest.mark.parametrize(
    "file", [ROOT / "config.yaml", *(ROOT / "studies").glob("*.yaml")], ids=lambda file: file.stem
)
def test_every_study_comes_back_whole_from_its_manifest(file, tmp_path):
    """After defaults, on top of no other study, through JSON and YAML: the same searches."""
    tasks = Tasks.load(str(file))
    made = {"study": {**json.loads(tasks.record())["study"], "openml": {}}}
    study, _ = reproduction.study(made, ROOT, tmp_path)
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    again = Tasks.load(str(tmp_path / "study.yaml"))
    assert manifest.study_hash(json.loads(again.record())["study"]) == manifest.study_hash(
        made["study"]
    )
    for dataset in tasks.study.datasets:
        for search in tasks.study.used("search"):
            assert again.search(dataset, search, 1) == tasks.search(dataset, search, 1)


def test_data_files_are_those_of_the_original_folder(tmp_path):
    """Relative paths start where the study ran; what is not there is named, in one line."""
    made = {
        "study": {
            "datasets": {"mine": {"file": "data/mine.csv", "target": "y"}},
            "openml": {"cache": str(tmp_path / "gone")},
            "budget": {"evaluations": 3, "seconds": None},
            "extends": "../main.yaml",
        }
    }
    with pytest.raises(UserError, match=r"datasets\.mine\.file: there is no file '.*mine\.csv'"):
        reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/mine.csv").touch()
    study, notes = reproduction.study(made, tmp_path, tmp_path / "reproduced/x")
    assert study["datasets"]["mine"]["file"] == "../../data/mine.csv"
    assert study["openml"]["cache"] is None
    assert "extends" not in study
    assert [note.split(":")[0] for note in notes] == ["openml.cache"]


def test_measured_columns_are_not_compared_but_other_shapes_are(tmp_path):
    files = {
        "a.csv": ("x,cost,cpu_hours\n1,2,3\n", "x,cost,cpu_hours\n1,9,9\n"),
        "b.csv": ("x\n1\n", "x\n1\n2\n"),
        "c.csv": ("x,y\n1,2\n", "x,z\n1,2\n"),
        "d.csv": ("x,y\nok,1\n,2\n", "x,y\nno,1\n3,2.5\n"),
        "time.csv": ("x\n1\n", "x\n2\n"),
    }
    for name, texts in files.items():
        for folder, text in zip(("there", "here"), texts, strict=True):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / name).write_text(text)
    (tmp_path / "there/only.csv").write_text("x\n")
    found = reproduction.compare(tmp_path / "there", tmp_path / "here")
    assert {name: str(result) for name, result in found.items()} == {
        "a.csv": "equal (1 cells)",
        "b.csv": "2 rows; there 1",
        "c.csv": "other columns: x, z; there x, y",
        "d.csv": "3 of 4 cells differ, numbers by up to 0.5",
        "only.csv": "is missing here",
    }
