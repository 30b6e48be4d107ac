"""Changed data are described in a message."""

import json
import os
import re

import pytest

from ensemble_search.data.fetched import changed_files, content, remember, stamps
from ensemble_search.runtime.files import Unusable


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


def test_content_is_read_unless_time_and_size_are_those_of_the_fetched_file(tmp_path):
    file, made = tmp_path / "{a}.csv", tmp_path / "dataset.json"
    source = {"file": str(file), "target": "b"}
    assert content(source, tmp_path) == ""
    file.write_text("a,b\n1,2\n")
    found = content(source, tmp_path)
    assert len(found) == 32
    os.utime(file, ns=(0, 10**18))
    made.write_text(json.dumps(described("as fetched")))
    assert content(source, tmp_path) == found  # of an older version
    remember(tmp_path, described("as fetched"), stamps(source))
    assert content(source, tmp_path) == "as fetched"
    for time in (10**18 - 1, 10**18 + 1):  # also an older file in its place
        os.utime(file, ns=(0, time))
        assert content(source, tmp_path) == found
    file.write_text("a,b\n1,3\n")  # as many bytes, and the same time
    os.utime(file, ns=(0, 10**18))
    assert content(source, tmp_path) not in ("as fetched", found)
    remember(tmp_path, described("as fetched"), stamps(source))
    assert content(source, tmp_path) == "as fetched"
    made.write_text("[]")  # damaged: the file itself is hashed
    assert len(content(source, tmp_path)) == 32
    file.unlink()
    assert content(source, tmp_path) == ""


def test_other_data_than_the_last_time(tmp_path):
    first = {"name": "quake", "checksum": "a", "version": 1, "rows": 10, "features": 3}
    assert remember(tmp_path, first, []) is None
    assert remember(tmp_path, first, []) is None
    line = remember(tmp_path, first | {"checksum": "b", "version": 2, "rows": 12}, [])
    assert line.startswith("the data of 'quake' are not those of the last time")
    assert "version 1 -> 2, rows 10 -> 12" in line
    assert remember(tmp_path, first | {"checksum": "b", "version": 2, "rows": 12}, []) is None


@pytest.mark.parametrize("damaged", ["[]", '"md5"', "5", "[" * 200_000, '{"md5": null}', "\xff"])
def test_damaged_descriptions_are_named_and_damaged_notes_are_not(tmp_path, damaged):
    file, made = tmp_path / "mine.csv", tmp_path / "file-mine/dataset.json"
    file.write_text("a,b\n1,2\n")
    made.parent.mkdir()
    for name in ("dataset.json", "fetched.json"):
        made.with_name(name).write_text(damaged, encoding="latin-1")
    with pytest.raises(Unusable, match=re.escape(f"'{made}'")):
        changed_files({"file-mine": {"file": str(file), "target": "b"}}, tmp_path)
    assert remember(made.parent, {"name": "x", "checksum": "a"}, []) is None
    assert json.loads(made.with_name("fetched.json").read_text())["checksum"] == "a"
