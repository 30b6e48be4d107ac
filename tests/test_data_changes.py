"""Changed data are named in words."""

import json
import os

import pytest

from divbo.data.changes import changed_files, content, remember


def test_a_changed_file_is_named_a_touched_one_is_not(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("a,b\n1,2\n")
    made = tmp_path / "data/file-mine/dataset.json"
    made.parent.mkdir(parents=True)
    made.write_text(json.dumps({"md5": "49c7a6a1b44f1de4a7c5b9b0ba8dba03"}))
    sources = {
        "file-mine": {"file": str(file), "target": "b"},
        "file-other": {"file": "nowhere.csv", "target": "b"},
        "openml-772": {"openml": 772},
    }
    os.utime(made, ns=(0, 10**18))
    os.utime(file, ns=(0, 10**18 + 1))
    (line,) = changed_files(sources, tmp_path / "data")
    assert line.startswith(f"'{file}' has changed")
    import hashlib

    made.write_text(json.dumps({"md5": hashlib.md5(file.read_bytes()).hexdigest()}))
    os.utime(made, ns=(0, 10**18))
    assert changed_files(sources, tmp_path / "data") == []


def test_content_is_looked_at_only_where_a_file_is_newer_than_its_copy(tmp_path):
    file, made = tmp_path / "{a}.csv", tmp_path / "dataset.json"
    assert content(file, tmp_path) == ""
    file.write_text("a,b\n1,2\n")
    found = content(file, tmp_path)
    assert len(found) == 32
    made.write_text(json.dumps({"md5": "as fetched"}))
    os.utime(file, ns=(0, 10**18))
    os.utime(made, ns=(0, 10**18))
    assert content(file, tmp_path) == "as fetched"
    os.utime(file, ns=(0, 10**18 + 1))
    assert content(file, tmp_path) == found
    made.write_text("[]")  # damaged: the file itself tells
    os.utime(made, ns=(0, 2 * 10**18))
    assert content(file, tmp_path) == found


def test_other_data_than_the_last_time(tmp_path):
    first = {"name": "quake", "checksum": "a", "version": 1, "rows": 10, "features": 3}
    assert remember(tmp_path, first) is None
    assert remember(tmp_path, first) is None
    line = remember(tmp_path, first | {"checksum": "b", "version": 2, "rows": 12})
    assert line.startswith("the data of 'quake' are not those of the last time")
    assert "version 1 -> 2, rows 10 -> 12" in line
    assert remember(tmp_path, first | {"checksum": "b", "version": 2, "rows": 12}) is None


def test_a_note_that_is_broken_is_written_anew(tmp_path):
    (tmp_path / "fetched.json").write_text("{")
    assert remember(tmp_path, {"name": "x", "checksum": "a"}) is None
    assert json.loads((tmp_path / "fetched.json").read_text())["checksum"] == "a"


@pytest.mark.parametrize("damaged", ["[]", '"md5"', "5", "[" * 200_000, '{"md5": null}', "\xff"])
def test_damaged_notes_say_nothing_here(tmp_path, damaged):
    """Who reads them for good says what is wrong with them."""
    file = tmp_path / "mine.csv"
    file.write_text("a,b\n1,2\n")
    for name in ("dataset.json", "fetched.json"):
        (tmp_path / "file-mine").mkdir(exist_ok=True)
        (tmp_path / "file-mine" / name).write_text(damaged, encoding="latin-1")
    os.utime(tmp_path / "file-mine/dataset.json", ns=(0, 0))
    assert changed_files({"file-mine": {"file": str(file), "target": "b"}}, tmp_path) == []
    assert remember(tmp_path / "file-mine", {"name": "x", "checksum": "a"}) is None
