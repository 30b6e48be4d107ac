import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from divbo.data import normalise, sources
from divbo.errors import UserError

SCRIPTS = Path(__file__).parents[1] / "workflow_scripts"

CSV = """größe,colour,flag,label
1.5,red,True,01
2,,False,02
?,"a,b",True,01
NA,None,False,02
5,red,,01
6,blue,True,02
"""


@pytest.fixture
def csv_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def read(source):
    return normalise.normalise(sources.read(source))


def test_keys_name_folders():
    assert sources.source_key({"openml": 772, "version": 2, "md5": "0" * 32}) == "openml-772"
    assert sources.source_key({"sklearn": "digits"}) == "sklearn-digits"
    digest = hashlib.sha256(b"data/my file.csv\nlabel").hexdigest()[:8]
    key = sources.source_key({"file": "data/my file.csv", "target": "label"})
    assert key == f"file-my_file-{digest}"
    keys = {
        sources.source_key({"file": f, "target": t})
        for f in ("a/x.csv", "b/x.csv", "a/x.arff")
        for t in ("y", "z")
    }
    assert len(keys) == 6


def test_the_module_imports_nothing_heavy():
    code = "import sys, divbo.data.sources; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SCRIPTS
    )
    assert "divbo.data.sources" in done.stdout.split()
    assert not {"numpy", "pandas", "sklearn", "openml", "arff"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "needs exactly one of openml, file, sklearn; found none"),
        ({"openml": 1, "sklearn": "iris"}, "found openml and sklearn"),
        ({"openml": 1, "versoin": 1}, "unknown key 'versoin'; did you mean 'version'?"),
        ({"openml": "quake"}, "openml: 'quake' is no whole number from 1"),
        ({"openml": True}, "openml: True is no whole number"),
        ({"openml": 1, "version": 0}, "version: 0 is no whole number"),
        ({"openml": 1, "md5": 5}, "md5: 5 is no text"),
        ({"file": "a.csv"}, "target: is missing"),
        ([1], r"source: \[1\] is no mapping"),
    ],
)
def test_wrong_sources_are_refused(source, message):
    with pytest.raises(UserError, match=message):
        sources.read(source)


def test_csv(csv_file):
    frame, described = read({"file": "mine.csv", "target": "label"})
    assert described["columns"] == {
        "größe": "numeric",
        "colour": "categorical",
        "flag": "boolean",
    }
    # Labels keep their leading zeros; the word None is a value, NA and ? are not.
    assert described["classes"] == {"01": 3, "02": 3}
    assert frame["colour"].isna().tolist() == [False, True, False, False, False, False]
    assert frame["colour"].tolist()[2:4] == ["a,b", "None"]
    assert frame["größe"].isna().sum() == 2
    assert described["missing"] == 4
    assert described["name"] == "mine"
    assert described["source"] == {"file": "mine.csv", "target": "label"}
    assert described["md5"] == hashlib.md5(csv_file.read_bytes()).hexdigest()


def test_numbers_of_a_csv_are_read_exactly(tmp_path):
    numbers = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250)
    lines = [f"{number!r},{'ab'[i % 2]}" for i, number in enumerate(numbers.tolist())]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *lines]))
    frame, _ = read({"file": str(tmp_path / "a.csv"), "target": "y"})
    assert frame["x"].tolist() == numbers.tolist()


def test_no_absolute_path_is_written(csv_file):
    _, described = read({"file": str(csv_file), "target": "label"})
    assert str(csv_file.parent) not in json.dumps(described)
    assert described["source"]["file"] == "mine.csv"


def test_csv_parquet_and_arff_give_the_same_content(tmp_path):
    arff = "@relation r\n@attribute x numeric\n@attribute c {b,a}\n@attribute y {v,u}\n@data\n"
    rows = [(0.1, "a", "u"), (None, "b", "v"), (3.0, None, "u")] * 3
    arff += "".join(",".join("?" if v is None else str(v) for v in r) + "\n" for r in rows[:-1])
    arff += "3.0,?,v\n"
    frame = pd.DataFrame([*rows[:-1], (3.0, None, "v")], columns=["x", "c", "y"])
    (tmp_path / "a.arff").write_text(arff)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.astype({"c": "category"}).to_parquet(tmp_path / "b.parquet")
    sums = {
        read({"file": str(path), "target": "y"})[1]["checksum"]
        for path in sorted(tmp_path.iterdir())
    }
    assert len(sums) == 1
    (tmp_path / "c.csv").write_text((tmp_path / "a.csv").read_text().replace("0.1", "0.2", 1))
    assert read({"file": str(tmp_path / "c.csv"), "target": "y"})[1]["checksum"] not in sums


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = tmp_path / "bom.csv"
    path.write_text("x,y\n" + "1,a\n2,b\n" * 3, encoding="utf-8-sig")
    assert list(read({"file": str(path), "target": "y"})[0]) == ["x", "y"]
    path.write_text("y,x\n" + "a,1\nb,2\n" * 3, encoding="utf-8-sig")
    assert list(read({"file": str(path), "target": "y"})[0]) == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "'.*a.csv' is empty"),
        ("a.csv", b"x,label\n", "data set 'a': has no rows"),
        ("a.csv", b"x,label\n1,a,3\n2,b,4\n", "line 2 of '.*' has 3 fields, the header has 2"),
        ("a.csv", b"x,label\n1,a\n\n1\n", "line 4 of '.*' has 1 fields, the header has 2"),
        ("a.csv", b"x,label\n\xff\xfe,a\n", "cannot be read as CSV: .*UTF-8"),
        ("a.csv", b"x,x,label\n1,2,a\n", "has two columns called 'x'; rename one"),
        ("a.csv", b",x,label\n0,2,a\n", "column 1 of '.*' has no name"),
        ("a.csv", b"x,lable\n2,a\n", "has no column 'label'; did you mean 'lable'?"),
        ("a.csv", b"x;label\n2;a\n", "has no column 'label'; did you mean|known: x;label"),
        ("a.csv", b'x,label\n"2,a\n', "cannot be read as CSV"),
        ("a.arff", b"", "cannot be read as ARFF: there is no line @data"),
        (
            *("a.arff", b"@relation r\n@attribute label numeric\n@data\nabc\n"),
            "cannot be read as ARFF: line 4: 'abc' of attribute 'label' is no number",
        ),
        ("a.parquet", b"PAR1", "cannot be read as Parquet"),
        ("a.xlsx", b"", "must end in .csv, .parquet or .arff"),
        ("b.csv", b"x,label\n2,a\n", "there is no file '.*a.csv'"),
    ],
)
def test_files_that_cannot_be_used_are_refused_with_a_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    asked = "a.csv" if name == "b.csv" else name
    with pytest.raises(UserError, match=message) as caught:
        read({"file": str(tmp_path / asked), "target": "label"})
    assert "\n" not in str(caught.value)


def test_duplicate_parquet_columns(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_arrays([pa.array([1, 2])] * 2, names=["x", "x"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UserError, match="two columns called 'x'"):
        read({"file": str(tmp_path / "a.parquet"), "target": "x"})


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), {"setosa": 50, "versicolor": 50, "virginica": 50}),
        ("breast_cancer", (569, 30), {"benign": 357, "malignant": 212}),
        ("wine", (178, 13), {"class_0": 59, "class_1": 71, "class_2": 48}),
        ("digits", (1797, 64), None),
    ],
)
def test_sklearn(name, shape, classes):
    frame, described = read({"sklearn": name})
    assert (described["rows"], described["features"]) == shape
    assert set(described["columns"].values()) == {"numeric"}
    if classes:
        assert described["classes"] == classes
    else:
        assert list(described["classes"]) == list("0123456789")
    assert described["source"] == {"sklearn": name}
    assert list(frame)[-1] == described["target"] == "target"


def test_sklearn_refuses_what_it_does_not_ship():
    with pytest.raises(UserError, match=r"there is no 'digit'; did you mean 'digits'?"):
        read({"sklearn": "digit"})
