"""Files are complete or absent, with the same bytes each time; errors take one line."""

import errno
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import (
    Unusable,
    atomic,
    digest,
    read_npy,
    write_json,
    write_npy,
    write_parquet,
    write_rows,
)
from support import PYTHONPATH
from support.writers import WRITERS


@pytest.mark.parametrize("name", WRITERS)
def test_same_object_same_bytes_and_nothing_beside(tmp_path, name):
    writer, obj = WRITERS[name]
    writer(tmp_path / "new" / "folder" / name, obj)
    writer(tmp_path / name, obj)
    first = (tmp_path / name).read_bytes()
    writer(tmp_path / name, obj)
    assert (tmp_path / name).read_bytes() == first
    assert (tmp_path / "new" / "folder" / name).read_bytes() == first
    assert sorted(os.listdir(tmp_path)) == [name, "new"]
    assert os.listdir(tmp_path / "new" / "folder") == [name]


def test_digest_of_a_description():
    """It names folders of stored journals, so it must not change."""
    assert digest({"b": 1, "a": [1, 2.5, "é"]})[:12] == "850477f7e1a9"
    assert digest({"a": [1, 2.5, "é"], "b": 1})[:12] == "850477f7e1a9"


def test_json_reads_back_and_rejects_nan(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"b": 1, "a": [None, "ä"]})
    assert path.read_text(encoding="utf-8") == (
        '{\n  "format": 2,\n  "b": 1,\n  "a": [\n    null,\n    "ä"\n  ]\n}\n'
    )
    with pytest.raises(ValueError):
        write_json(path, {"x": float("nan")})
    assert json.loads(path.read_text())["b"] == 1  # the former file is still whole


def test_npy_reads_back_and_rejects_objects(tmp_path):
    path = tmp_path / "a.npy"
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T  # Fortran order
    write_npy(path, array)
    back = np.load(path, mmap_mode="r", allow_pickle=False)
    assert np.array_equal(back, array) and back.dtype == np.float32
    assert back.flags.c_contiguous
    with pytest.raises(ValueError):
        write_npy(path, np.array([{}, None], dtype=object))
    assert np.array_equal(np.load(path), array)
    assert os.listdir(tmp_path) == ["a.npy"]
    for written, says in (
        (lambda: np.save(path, np.array([{}, None], dtype=object)), "it holds Python objects; sav"),
        (lambda: path.write_text("1,2"), "it is not an array in NumPy's format"),
    ):
        written()
        with pytest.raises(Unusable, match=says):
            read_npy(path)


@pytest.mark.parametrize("link", [None, "nowhere", "folder"])
def test_what_is_in_the_place_of_a_folder_is_named(tmp_path, link):
    folder = tmp_path / "folder"
    folder.write_text("") if link is None else folder.symlink_to(link)
    with pytest.raises(UserError, match=r"^cannot write '.*/b.json': '.*/folder' is not a folder;"):
        write_json(folder / "a/b.json", {})


class Counted(str):
    """A key that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_key_that_is_twice_among_many_is_found_in_linear_time():
    keys = [*range(3000), 2999]
    with pytest.raises(ValueError, match="key '2999' twice"):
        files._mapping([(Counted(key), 0) for key in keys])
    assert Counted.compared < 10 * len(keys)


@pytest.mark.parametrize("map_only", [False, True])
def test_a_header_that_pythons_parser_gives_up_at_is_damage(tmp_path, map_only):
    header = b"-" * 9000 + b"1"
    size = len(header).to_bytes(2, "little")
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\1\0" + size + header)
    with pytest.raises(UserError, match="its header does not describe an array"):
        read_npy(tmp_path / "a.npy", map_only)


def test_parquet_of_columns_keeps_types_and_nan(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "f": np.array([1.5, np.nan, np.inf]),
        "g": np.array([1, 2, 3, 4, 5, 6], dtype=np.float32)[::2],
        "i": np.array([3, -1, 2**60]),
        "b": np.array([True, False, True]),
        "s": ["x", None, "z"],
    }
    write_parquet(path, columns)
    table = pq.read_table(path)
    assert [str(t) for t in table.schema.types] == ["double", "float", "int64", "bool", "string"]
    assert table["f"].null_count == 0 and np.isnan(table["f"][1].as_py())
    assert table["g"].to_pylist() == [1, 3, 5]
    assert table["i"].to_pylist() == [3, -1, 2**60]
    assert table["b"].to_pylist() == [True, False, True]
    assert table["s"].to_pylist() == ["x", None, "z"]


def test_parquet_of_a_frame_and_of_a_table(tmp_path):
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}, index=[7, 9])
    write_parquet(tmp_path / "frame.parquet", frame)
    write_parquet(tmp_path / "table.parquet", pa.table({"x": [1, 2], "y": ["a", "b"]}))
    for name in ("frame", "table"):
        assert pq.read_table(tmp_path / f"{name}.parquet").to_pydict() == frame.to_dict("list")


def test_a_failure_in_the_block_leaves_the_former_file_and_no_other(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic(path) as temporary:
        assert temporary.parent == tmp_path and temporary.suffix == ".txt"
        temporary.write_text("half of the n")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_file_appears_only_after_the_block(tmp_path):
    path = tmp_path / "a.txt"
    with atomic(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"


def test_full_disk_is_one_line(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(UserError) as caught, atomic(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(caught.value) == f"cannot write '{path}': No space left on device"


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path):
    (tmp_path / "a").write_text("")
    path = tmp_path / "a" / "b.json"
    with pytest.raises(UserError) as caught:
        write_json(path, 1)
    assert str(caught.value).startswith(f"cannot write '{path}': ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
def test_a_rejected_write_names_the_file(tmp_path, name):
    """The system denies writing past 1000 bytes, as on a full disk."""
    code = """
import resource, sys
from ensemble_search.runtime.errors import run
from support.writers import WRITERS
writer, obj = WRITERS[sys.argv[1]]
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
run(lambda: writer(sys.argv[2], obj))
"""
    (tmp_path / name).write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", code, name, str(tmp_path / name)],
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot write '{tmp_path / name}': ")
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == [name] and (tmp_path / name).read_text() == "old"


def test_files_are_as_readable_as_any_other(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    write_json(tmp_path / "a.json", 1)
    assert (tmp_path / "a.json").stat().st_mode == plain.stat().st_mode


def test_a_relative_path_and_a_string_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_json("a.json", 1)
    assert Path("a.json").read_text() == "1\n"


def test_missing_rows_are_holes(tmp_path):
    """The last one, too; what is mapped can be changed, and the file stays."""
    row = np.random.default_rng(0).random((8192, 2), dtype=np.float32)
    path = tmp_path / "a.npy"
    write_rows(path, [row, None, row + 1, None], row.shape)
    zeros = np.zeros_like(row)
    np.testing.assert_array_equal(np.load(path), [row, zeros, row + 1, zeros])
    assert path.stat().st_blocks * 512 < 2.5 * row.nbytes
    mapped = read_npy(path, map_only=True)
    mapped[1] = np.nan
    assert not np.isnan(np.load(path)).any()
    np.save(tmp_path / "b.npy", np.array([row, zeros, row + 1, zeros]))
    assert path.read_bytes() == (tmp_path / "b.npy").read_bytes()


@pytest.mark.parametrize("sizes", ["reserved", "written", "wrong"])
def test_arrays_written_by_any_python_are_read(tmp_path, sizes):
    """Python writes the size of an array itself or, since 3.11.4, 2^32 - 1 before its real size."""
    path, arrays = tmp_path / "a.npz", {"x": np.arange(6.0), "y": np.array([True])}
    np.savez(path, **arrays)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            size = {"reserved": 2**32 - 1, "written": entry.file_size, "wrong": 7}[sizes]
            struct.pack_into("<II", data, entry.header_offset + 18, size, size)
    path.write_bytes(data)
    if sizes == "wrong":
        with pytest.raises(Unusable, match=r"its directory is wrong about 'x\.npy'"):
            files.read_npz(path)
    else:
        found = files.read_npz(path)
        assert {name: array.tolist() for name, array in found.items()} == {
            name: array.tolist() for name, array in arrays.items()
        }
