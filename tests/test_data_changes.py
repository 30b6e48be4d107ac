"""Changed data are named in words."""

import json
import os

from divbo.data.changes import changed_files, remember


def described(md5: str) -> dict:
    """What dataset.json says of a file."""
    facts = {"name": "mine", "source": {"file": "mine.csv", "target": "b"}, "target": "b"}
    facts |= {"version": None, "md5": md5, "checksum": "0" * 64, "rows": 1, "features": 1}
    return facts | {"columns": {"a": "numeric"}, "classes": {"2": 1}}


def test_a_changed_file_is_named_a_touched_one_is_not(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("a,b\n1,2\n")
    made = tmp_path / "data/file-mine/dataset.json"
    made.parent.mkdir(parents=True)
    made.write_text(json.dumps(described("49c7a6a1b44f1de4a7c5b9b0ba8dba03")))
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

    made.write_text(json.dumps(described(hashlib.md5(file.read_bytes()).hexdigest())))
    os.utime(made, ns=(0, 10**18))
    assert changed_files(sources, tmp_path / "data") == []


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
