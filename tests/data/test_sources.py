import datetime
import decimal
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ensemble_search.data import file_limits, normalise, preparation, prepare, sources, table_files
from ensemble_search.runtime.errors import LONGEST, UserError, one_line
from support import SCRIPTS

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
    assert sources.source_key({"sklearn": "digits", "task": "classification"}) == "sklearn-digits"
    two = [sources.source_key({"sklearn": "digits", "classes": c}) for c in ([1, 2], [[1, 2], 3])]
    two.append(sources.source_key({"sklearn": "digits", "classes": [1, 2], "positive": 1}))
    assert len({*two, "sklearn-digits"}) == 4
    numbers = sources.source_key({"openml": 772, "target": "depth", "task": "regression"})
    assert re.fullmatch("openml-772-[0-9a-f]{8}-regression", numbers)
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
    code = "import sys, ensemble_search.data.sources; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SCRIPTS
    )
    assert "ensemble_search.data.sources" in done.stdout.split()
    assert not {"numpy", "pandas", "sklearn", "openml", "arff"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "needs exactly one of openml, openml_task, file, sklearn; found none"),
        ({"openml": 1, "sklearn": "iris"}, "found openml and sklearn"),
        ({"openml": 1, "positive": True}, "positive: True is not a label; labels that YAML does"),
        ({"openml": 1, "positive": 1, "task": "regression"}, "positive: a regression has no cl"),
        ({"openml": 1, "versoin": 1}, "unknown key 'versoin'; did you mean 'version'?"),
        ({"openml": "772"}, "openml: an id has no quotes; found '772'"),
        ({"openml": True}, "openml: must be an id, an integer from 1 .*, or a name; found True"),
        ({"openml": 1, "version": 0}, "version: 0 is not an integer"),
        ({"openml": 1, "md5": 5}, "md5: 5 is not text"),
        ({"file": "a.csv"}, "target: is missing"),
        ([1], r"source: \[1\] is not a mapping"),
    ],
)
def test_wrong_sources_are_rejected(source, message):
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
    numbers = np.random.default_rng(0).normal(size=500) * 10.0 ** np.linspace(-250, 37, 500)
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
    path.write_text("\ufeffx,y\n" + "1,a\n2,b\n" * 3, encoding="utf-8-sig")
    with pytest.raises(UserError, match="begins with two byte order marks; remove one"):
        read({"file": str(path), "target": "y"})


def test_names_of_columns_are_no_values(tmp_path):
    """A column 01 holds no codes, 1.10 no versions, and nan no missing value."""
    names = ["01", "1.10", "nan", str(2**60), "0.1234567890123456789"]
    rows = [[i % 9, 1 + i % 9 / 10, i * 2.5, i * 3, i * i] for i in range(40)]
    path = tmp_path / "names.csv"
    pd.DataFrame(rows, columns=names).assign(y=["a", "b"] * 20).to_csv(path, index=False)
    frame, described = read({"file": str(path), "target": "y"})
    assert {described["columns"][name] for name in names} == {"numeric"}
    assert frame["01"].tolist() == [i % 9 for i in range(40)]
    said = " ".join(described["notes"])
    assert not any(word in said for word in ("missing", "text", "same number", "lose digits"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "'.*a.csv' is empty"),
        ("a.csv", b"x,label\n", "data set 'a': has no rows"),
        ("a.csv", b"x,label\n1,a,3\n2,b,4\n", "line 2 of '.*' has 3 fields, the header has 2"),
        ("a.csv", b"x,label\n1,a\n\n1\n", "line 4 of '.*' has 1 field, the header has 2"),
        ("a.csv", b"x,x,label\n1,2,a\n", "has two columns called 'x'; rename one"),
        ("a.csv", b"x,lable\n2,a\n", "has no column 'label'; did you mean 'lable'?"),
        ("a.csv", b'x,label\n"2,a\n', "cannot be read as CSV"),
        ("a.arff", b"", "cannot be read as ARFF: there is no line @data"),
        (
            *("a.arff", b"@relation r\n@attribute label numeric\n@data\nabc\n"),
            "cannot be read as ARFF: line 4: 'abc' of attribute 'label' is not a number",
        ),
        ("a.parquet", b"PAR1", "cannot be read as Parquet"),
        ("a.xls", b"", "must end in .csv, .csv.gz, .tsv, .parquet, .pq, .arff or .xlsx"),
        ("b.csv", b"x,label\n2,a\n", "there is no file '.*a.csv'"),
    ],
)
def test_files_that_cannot_be_used_are_rejected_with_a_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    asked = "a.csv" if name == "b.csv" else name
    with pytest.raises(UserError, match=message) as caught:
        read({"file": str(tmp_path / asked), "target": "label"})
    assert "\n" not in str(caught.value)


def test_duplicate_parquet_columns(tmp_path):
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


def test_sklearn_rejects_what_it_does_not_ship():
    with pytest.raises(UserError, match=r"there is no 'digit'; did you mean 'digits'?"):
        read({"sklearn": "digit"})


ROWS = b"1,a\n2,b\n" * 4
ARFF = "@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n"


def attribute(line: str) -> bytes:
    return f"@relation r\n{line}\n@attribute y {{a,b}}\n@data\n1,a\n2,b\n".encode()


#: Content, error found in the header before any job starts (None: none), error found in the rows.
HOSTILE_TEXT = {
    "utf-16.csv": ("x,y\n1,a\n".encode("utf-16"), "as CSV: it is UTF-16 text; save it as UTF-8"),
    "utf-32.csv": ("x,y\n1,a\n".encode("utf-32"), "as CSV: it is UTF-32 text; save it as UTF-8"),
    "utf-16-be.csv": ("x,y\n".encode("utf-16-be"), "line 1 holds a null character"),
    "no-text.csv": (b"x\x81,y\n" + ROWS, "line 1 is neither UTF-8 nor Latin-1 text; save"),
    "no-text-row.csv": (b"x,y\n" + ROWS * 9999 + b"3,\x81\n", None, "line 79994 is not UTF-8"),
    "null.csv": (b"x,y\n1,a\0\n" + ROWS, None, "line 2 holds a null character"),
    "gzip.csv": (b"\x1f\x8b\x08\0aaaa", "cannot be read as CSV: "),
    "bzip2.csv": (b"BZh91AY&SY", "it is compressed (bzip2); unpack it"),
    "xz.arff": (b"\xfd7zXZ\0\0\0", "it is compressed (xz); unpack it"),
    "zip.csv": (b"PK\3\4aaaa", "it is a zip archive or a spreadsheet"),
    "page.csv": (b"<html><body>404</body></html>", "has no column 'y'; known: <html><body>404"),
    "empty.csv": (b"", "is empty; line 1 must name the columns"),
    "bom.csv": (b"\xef\xbb\xbf", "is empty; line 1 must name the columns"),
    "blank.csv": (b"\nx,y\n1,a\n", "begins with an empty line; line 1 must name the columns"),
    "header.csv": (b"x,y\n", None, "has no rows"),
    "unnamed.csv": (b"x, ,y\n1,2,a\n", "column 2 of "),
    "comma.csv": (b"x,y,\n1,a,\n", "column 3 of "),
    "twice.csv": (b"x, x,y\n1,2,a\n", "two columns called 'x'; rename one"),
    "long-row.csv": (b"x,y\n1,a,\n", None, "line 2 of "),
    "short-row.csv": (b"x,y\n" + ROWS + b"1\n", None, "has 1 field, the header has 2"),
    "open.csv": (b"x,y\n" + ROWS + b'"3,c\n' + ROWS, None, "line 10: unexpected end of data; is a"),
    "open-header.csv": (b'"x,y\n' + ROWS, "line 1: unexpected end of data; is a quote not closed"),
    "open-long.csv": (b"x,y\n" + ROWS + b'"3,c\n' + ROWS * 30000, None, "line 10: field larger"),
    "inside.csv": (b"x,y\n" + ROWS + b'"3"b,c\n', None, "is a quote not closed, or not doubled?"),
    "long-field.csv": (b"x,y\n" + b"a" * 200_000 + b",c\n", None, "line 2: field larger than"),
    "colour.csv": (b"x\x1b[31m,x\x1b[31m,y\n", r"two columns called 'x\x1b[31m'; rename"),
    "newline.csv": (b'"x\nerror: z","x\nerror: z",y\n', r"two columns called 'x\nerror: z'"),
    "override.csv": ("x\u202e,x\u202e,y\n".encode(), r"two columns called 'x\u202e'"),
    "bell.csv": (b"x,y\n" + ROWS + b"3,c\x1b]0;z\x07\n", None, r"class 'c\x1b]0;z\x07' has 1 row"),
    "no-data.arff": (b"@relation r\n@attribute y {a,b}\n", "there is no line @data"),
    "no-attribute.arff": (b"@relation r\n@data\n1\n", "line 2: there is no @attribute before"),
    "typo.arff": (
        attribute("@atribute x numeric"),
        "line 2: '@atribute x numeric' begins with none",
    ),
    "bare.arff": (attribute("@attribute"), "line 2: '@attribute' is not '@attribute name type'"),
    "no-type.arff": (
        attribute("@attribute x"),
        "line 2: attribute 'x': has no type; attributes mu",
    ),
    "date.arff": (
        attribute("@attribute x date 'EEE yyyy'"),
        "attribute 'x': its dates 'EEE yyyy' cannot be read; a format such as yyyy-MM-dd HH:mm:ss",
    ),
    "day.arff": (
        attribute("@attribute x date yyyy-MM-dd"),
        None,
        "line 5: '1' of attribute 'x' is not a date of the format that it declares",
    ),
    "relational.arff": (attribute("@attribute x relational"), "type 'relational' cannot be read"),
    "range.arff": (attribute("@attribute x real [0,1]"), "type 'real [0,1]' cannot be read"),
    "no-value.arff": (attribute("@attribute x {}"), "attribute 'x': '{}' declares no value"),
    "only-comma.arff": (attribute("@attribute x {,}"), "attribute 'x': '{,}' declares no value"),
    "unclosed.arff": (attribute("@attribute x {" + "a," * 5000), "'{' is not closed by '}'"),
    "spaces.arff": (attribute("@attribute x {" + "a " * 5000 + "}"), "cannot be split into values"),
    "same.arff": (attribute("@attribute y numeric"), "line 3: a second attribute is called 'y'"),
    "no-name.arff": (attribute("@attribute '' numeric"), "column 1 of "),
    "null.arff": (ARFF.encode() + b"1,a\0\n", None, "line 5 holds a null character"),
    "latin-1.arff": (ARFF.encode() + b"1,\xe9\n", "line 5 is not UTF-8 text (byte 0xe9)"),
    "no-rows.arff": (ARFF.encode(), None, "has no rows"),
    "short.arff": (ARFF.encode() + b"1\n", None, "line 5: has 1 value, the header has 2 attribu"),
    "trailing.arff": (
        ARFF.encode() + b"1,a,b,\n",
        None,
        "has 4 values, the header has 2 attributes",
    ),
    "percent.arff": (ARFF.encode() + b"50%,a,%s\n", None, "line 5: has 3 values, the header has 2"),
    "undeclared.arff": (ARFF.encode() + b"1,%s\n", None, "line 5: '%s' of attribute 'y' is not am"),
    "no-number.arff": (
        ARFF.encode() + b"1.5e,a\n",
        None,
        "'1.5e' of attribute 'x' is not a number",
    ),
    "open.arff": (ARFF.encode() + b"1,'a\n", None, "line 5: ''a' cannot be split into values"),
    "space.arff": (ARFF.encode() + b"1,a b\n", None, "those with spaces, quotes or braces must be"),
    "underscore.arff": (ARFF.encode() + b"1_0,b\n", None, "'1_0'"),
    "index.arff": (ARFF.encode() + b"{0 1, 7 b}\n", None, "index '7' of a sparse row; the last at"),
    "entry.arff": (ARFF.encode() + b"{0 1 1 b}\n", None, "'0 1 1 b' of a sparse row is not 'index"),
    "dangling.arff": (ARFF.encode() + b"{0 1,}\n", None, "of a sparse row is not 'index value'"),
    "again.arff": (ARFF.encode() + b"{0 1,0 2}\n", None, "index 0 is duplicated in a sparse row"),
    "brace.arff": (ARFF.encode() + b"{0 1\n", None, "'{' is not closed by '}' at the end"),
    "digits.arff": (
        ARFF.encode() + b"{" + b"9" * 5000 + b" 1}\n",
        None,
        "of a sparse row; the last",
    ),
    "text.parquet": (b"x,y\n1,a\n" * 9, "as Parquet: Parquet magic bytes not found"),
    "empty.parquet": (b"", "it must be a whole Parquet file"),
}


@pytest.mark.parametrize("name", HOSTILE_TEXT)
def test_hostile_files_get_one_clean_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    content, header, *rows = HOSTILE_TEXT[name]
    Path(name).write_bytes(content)
    if header is None:
        sources.check_file(name, "y")
    else:
        rejected(lambda: sources.check_file(name, "y"), header)
    rejected(lambda: read({"file": name, "target": "y"}), *rows or [header])


def rejected(call, message: str) -> None:
    with pytest.raises(UserError) as caught:
        call()
    assert message in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= LONGEST


DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 3
#: Columns; what they are as a feature (None: rejected), and as a target.
TYPES = {
    "list": (pa.array([[1], [2]] * 3), None, None),
    "struct": (pa.array([{"a": 1}, {"a": 2}] * 3), None, None),
    "map": (pa.array([[("k", 1)]] * 6, pa.map_(pa.string(), pa.int64())), None, None),
    "bytes": (pa.array([b"a", b"b"] * 3), None, None),
    "fixed": (pa.array([b"a", b"b"] * 3, pa.binary(1)), None, None),
    "large bytes": (pa.array([b"a", b"b"] * 3, pa.large_binary()), None, None),
    "codes of bytes": (pa.array([b"a", b"b"] * 3).dictionary_encode(), None, None),
    "uuid": (pa.array([b"a" * 16] * 6, pa.uuid()), None, None),
    "json": (pa.array(["1", "2"] * 3, pa.json_()), None, None),
    "decimal": (pa.array([decimal.Decimal(1), decimal.Decimal(2)] * 3), "used", "used"),
    "date32": (pa.array(DAYS), "used", None),
    "date64": (pa.array(DAYS, pa.date64()), "used", None),
    "timestamp": (pa.array(DAYS).cast(pa.timestamp("us")), "used", None),
    "zone": (pa.array(DAYS).cast(pa.timestamp("us", "UTC")), "used", None),
    "codes of dates": (pa.array(DAYS).dictionary_encode(), "used", None),
    "duration": (pa.array([1, 2] * 3, pa.duration("s")), "used", None),
    "time": (pa.array([1, 2] * 3, pa.time32("s")), "used", None),
    "period": (pa.array(pd.period_range("2020", periods=6, freq="D")), "used", None),
    "interval": (pa.array(pd.interval_range(0, 6)), "used", None),
    "null": (pa.nulls(6), "used", None),
    "codes": (pa.array([1, 2] * 3).dictionary_encode(), "used", "used"),
    "half": (pa.array([1, 2] * 3, pa.float16()), "used", "used"),
    "boolean": (pa.array([True, False] * 3), "used", "used"),
    "large text": (pa.array(list("ab") * 3, pa.large_string()), "used", "used"),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_of_parquet_columns(tmp_path, name):
    values, feature, target = TYPES[name]
    x, y = pa.array(range(6)), pa.array(list("ab") * 3)
    path = str(tmp_path / "a.parquet")
    for table, use, message in (
        ({"x": x, "f\x1b": values, "y": y}, feature, r"column 'f\\x1b' of '.*' holds .*; only num"),
        ({"x": x, "y": values}, target, r"^target: column 'y' of '.*' holds .*; a target must be"),
    ):
        pq.write_table(pa.table(table), path)
        if use:
            sources.check_file(path, "y")
            read({"file": path, "target": "y"})
            continue
        with pytest.raises(UserError, match=message):
            sources.check_file(path, "y")


@pytest.mark.parametrize("name", [name for name, (_, used, _) in TYPES.items() if not used])
def test_columns_of_any_type_can_be_dropped(tmp_path, name):
    path = str(tmp_path / "a.parquet")
    x, y = pa.array(range(6)), pa.array(list("ab") * 3)
    pq.write_table(pa.table({"f": TYPES[name][0], "x": x, "y": y}), path)
    source = {"file": path, "target": "y", "columns": {"drop": ["f"]}}
    for own in (source, {**source, "test": path}):
        assert sources.check_file(path, "y", ["f"]) == ["f", "x", "y"]
        raw = sources.read(own)
        frame, described = normalise.normalise(raw, source["columns"])
        assert [*described["columns"]] == ["x"] and frame.x.tolist()[:6] == [*range(6)]
        assert described["left_out"] == {"f": "the study drops it"}
    other = str(tmp_path / "b.parquet")
    pq.write_table(pa.table({"x": x, "y": y}), other)
    with pytest.raises(UserError, match=r"^test: .* has no column 'f'"):  # it cannot be dropped
        sources.check_test_file(other, path, "y")
    with pytest.raises(UserError, match=r"or drop it with 'columns: \{drop: \[x, f\]\}'$"):
        sources.check_file(path, "y", ["x"])
    pq.write_table(pa.table({"0": TYPES[name][0], "f": TYPES[name][0], "y": y}), path)
    with pytest.raises(UserError) as raised:
        sources.check_file(path, "y")
    assert len(raised.value.problems) == 2, "all at once, with one remedy"
    assert all(line.endswith("""{drop: ["0", f]}'""") for line in raised.value.problems)


@pytest.mark.parametrize(
    "metadata",
    [
        *('{"index_columns": null}', '{"index_columns": 5}', '{"index_columns": "xy"}', "{", "[]"),
        *('{"index_columns": [["x"]]}', "[" * 100_000, b"\xff"),
    ],
)
def test_damaged_metadata_of_pandas(tmp_path, metadata):
    path = tmp_path / "a.parquet"
    table = pa.table({"x": range(6), "y": list("ab") * 3})
    pq.write_table(table.replace_schema_metadata({"pandas": metadata}), path)
    rejected(lambda: sources.check_file(str(path), "y"), "about its index is damaged; write it")


def test_codes_keep_their_zeros(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("zip,n,y\n" + "01234,10,a\n90210,0,b\n00501,0.5,a\n" * 5)
    frame, description = read({"file": str(path), "target": "y"})
    assert sorted(frame["zip"].unique()) == ["00501", "01234", "90210"]
    assert description["columns"] == {"zip": "categorical", "n": "numeric"}


def test_an_index_with_a_name_is_left_out_in_words(tmp_path):
    path = tmp_path / "a.parquet"
    index = pd.Index([10, 12, 11, 13, 14, 15], name="year")
    pd.DataFrame({"x": range(6), "y": list("ab") * 3}, index=index).to_parquet(path)
    _, description = read({"file": str(path), "target": "y"})
    assert description["left_out"] == {"year": "pandas stored it as the index"}
    wanted = {"file": str(path), "target": "y", "columns": {"numeric": ["year"]}}
    frame, description = normalise.normalise(sources.read(wanted), wanted["columns"])
    assert frame["year"].tolist() == [10, 12, 11, 13, 14, 15]
    pd.DataFrame({"x": range(6)}, index=pd.Index(list("ab") * 3, name="y")).to_parquet(path)
    assert read({"file": str(path), "target": "y"})[1]["left_out"] == {}


def test_an_index_without_a_name_is_left_out_in_words(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame({"x": range(6), "y": list("ab") * 3}, index=[10, 12, 11, 13, 14, 15])
    frame.to_parquet(path)
    _, description = read({"file": str(path), "target": "y"})
    said = "column '__index_level_0__' left out: pandas stored it as the index"
    assert description["notes"] == [said]
    frame.reset_index(drop=True).to_parquet(path)
    assert read({"file": str(path), "target": "y"})[1]["notes"] == []


@pytest.mark.parametrize("metadata", ['{"columns": []}', '{"index_columns": ["z"], "columns": 5}'])
def test_metadata_of_pandas_that_are_not_needed(tmp_path, metadata):
    path = tmp_path / "a.parquet"
    table = pa.table({"x": range(6), "y": list("ab") * 3})
    pq.write_table(table.replace_schema_metadata({"pandas": metadata}), path)
    assert read({"file": str(path), "target": "y"})[1]["columns"] == {"x": "numeric"}


def test_parquet_that_is_damaged_inside_and_names_that_are_numbers(tmp_path):
    path = tmp_path / "year=2020" / "a.parquet"  # no column `year`
    path.parent.mkdir()
    frame = pd.DataFrame({0: range(6), 1: list("ab") * 3})
    frame.to_parquet(path)
    assert list(read({"file": str(path), "target": "1"})[0]) == ["0", "1"]
    offsets = np.arange(7, dtype="int32").tobytes()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff" * 6)]
    text = pa.Array.from_buffers(pa.string(), 6, buffers)
    pq.write_table(pa.table({"x\x1b": text, "y": list("ab") * 3}), path)
    rejected(lambda: read({"file": str(path), "target": "y"}), r"column 'x\x1b' is damaged: ")


def test_arff_as_it_may_be_written(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(
        "% a\n@RELATION r\r\n@attribute\t'x, \\'1\\''\tREAL\n@ATTRIBUTE n integer\n"
        "@attribute y {'a,b' , \"c'd\",'e\\'f' }\n@DATA\n% b\n\n"
        "1, 1.5,'a,b'\n 2,?, \"c'd\" \n3,1e400,'e\\'f'\n{0 4}\n{ 0 5, 2 \"c'd\" }\n{}\n"
    )
    frame = sources.read({"file": str(path), "target": "y"}).frame
    assert frame["x, '1'"].tolist() == [1, 2, 3, 4, 5, 0]
    assert frame["n"].tolist()[2:] == [np.inf, 0, 0, 0]
    assert frame["y"].tolist() == ["a,b", "c'd", "e'f", "a,b", "c'd", "a,b"]


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("date 'yyyy-MM-dd'", "%Y-%m-%d"),
        ('DATE "dd.MM.yyyy"', "%d.%m.%Y"),
        ("date yyyyMMdd", "%Y%m%d"),
        ("date 'MMM d, yyyy'", "'%b %d, %Y'"),
        ("date", "%Y-%m-%dT%H:%M:%S"),
        ("date \"yyyy-MM-dd'T'HH:mm:ss.SSSX\"", "%Y-%m-%dT%H:%M:%S.000+0000"),
    ],
)
def test_dates_of_arff_are_those_of_csv(tmp_path, declared, written):
    days = [datetime.datetime(2020, 1 + i, 31 - 3 * i) for i in range(6)]
    rows = [f"{day:{written}},{'ab'[i % 2]}" for i, day in enumerate(days)]
    head = f"@relation r\n@attribute x {declared}\n@attribute y {{a,b}}\n@data\n"
    (tmp_path / "a.arff").write_text("\n".join([head, *rows, "?,a", ""]))
    rows = [f"{day:%Y-%m-%d},{'ab'[i % 2]}" for i, day in enumerate(days)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *rows, ",a", ""]))
    frame, described = read({"file": str(tmp_path / "a.arff"), "target": "y"})
    _, as_csv = read({"file": str(tmp_path / "a.csv"), "target": "y"})
    assert described["columns"] == {"x": "date"}
    assert described["checksum"] == as_csv["checksum"]
    # New rows are read alike.
    settings = {"folds": 2, "test": 0.2, "seed": 0}
    inputs, _, split = prepare.make_split(frame, described, settings)
    fitted = preparation.Preparation.from_json(split["preparation"])
    new = [f"{day:%Y-%m-%d}" for day in days]
    typed, _ = fitted.transform({"x": np.array(days, "datetime64[us]")})
    assert np.array_equal(fitted.transform({"x": new})[0], typed)
    assert inputs.features.tolist()[:2] == ["x.month", "x.day"]


def test_values_of_arff_files_may_be_separated_by_spaces_and_end_in_a_comma(tmp_path):
    path = tmp_path / "d.arff"
    head = "@relation r\n@attribute x numeric\n@attribute y {a, b}\n@data\n"
    path.write_text(head + "1 a\n-2e-3\t?\n3, b,\n")
    frame = sources.read({"file": str(path), "target": "y"}).frame
    assert frame["x"].tolist() == [1, -0.002, 3]
    assert frame["y"].tolist()[::2] == ["a", "b"]
    assert frame["y"].isna().tolist() == [False, True, False]
    path.write_text(head + "1 a b\n")
    with pytest.raises(UserError, match=r"line 5: '1 a b' cannot be split into values"):
        sources.read({"file": str(path), "target": "y"})


def test_dates_that_a_sparse_row_leaves_out_are_the_beginning_of_1970(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute x date yyyy-MM-dd\n@attribute y {a,b}\n@data\n{1 b}\n")
    frame = sources.read({"file": str(path), "target": "y"}).frame
    assert frame["x"].tolist() == [pd.Timestamp(1970, 1, 1)]


def test_whole_numbers_too_large_for_a_float(tmp_path):
    path = tmp_path / "a.csv"
    nines = "9" * 309
    path.write_text(f"x,z,y\n{nines},1,a\n-{nines},2,b\n" + f"1,{'9' * 30},a\n2,4,b\n" * 2)
    frame, described = read({"file": str(path), "target": "y"})
    assert described["columns"] == {"x": "numeric", "z": "numeric"}
    assert "column 'x': 2 infinite values treated as missing" in described["notes"]
    assert frame["z"].max() == 1e30


def test_names_of_100_000_columns_are_checked_in_linear_time(tmp_path):
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            assert compared < 10**6
            return str.__eq__(self, other)

    names = [Name(f"c{i}") for i in range(100_000)]
    table_files._check_names(tmp_path, names)
    (tmp_path / "a.csv").write_text(",".join(names) + ",y\n")
    sources.check_file(str(tmp_path / "a.csv"), "y")


def test_what_is_no_file_or_cannot_be_reached(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    os.mkdir("folder.csv")
    os.symlink("loop.csv", "loop.csv")
    for name, message in (
        ("pipe.csv", "'pipe.csv' is a pipe or a device; a file is needed"),
        ("folder.csv", "'folder.csv' is a folder; a file is needed"),
        ("loop.csv", "'loop.csv' cannot be read: "),
        ("a" * 5000 + ".csv", "cannot be read: File name too long"),
        ("a\0.csv", r"there is no file 'a\x00.csv'"),
        ("pipe.csv/a.csv", "there is no file"),
    ):
        rejected(lambda name=name: sources.check_file(name, "y"), message)
    rejected(lambda: sources.source_kind({"file": "\udcff.csv", "target": "y"}), "not Unicode text")
    rejected(lambda: sources.source_kind({"file": "a.csv", "target": "\ud800"}), "not Unicode text")
    long = {"file": "a" * 250 + ".csv", "target": "y", "columns": {"drop": ["a"]}}
    assert len(sources.source_key(long)) == 255
    assert len(sources.source_key(long | {"task": "regression"})) == 255
    assert len(sources.source_key(long | {"classes": ["a", "b"]})) == 255


@pytest.mark.parametrize("what", ["changes", "vanishes", "is denied"])
def test_a_file_that_changes_while_it_is_read(csv_file, monkeypatch, what):
    header = table_files.csv_header

    def disturbed(path, target):
        if what == "is denied":
            raise PermissionError(13, "x", str(path))
        names = header(path, target)
        if what == "changes":
            path.write_text(CSV + "7,red,True,01\n", encoding="utf-8")
        else:
            path.unlink()
        return names

    monkeypatch.setattr(table_files, "csv_header", disturbed)
    message = {
        "changes": "'mine.csv' was changed while it was read; run again",
        "vanishes": "'mine.csv' cannot be read: No such file",
        "is denied": "'mine.csv' cannot be read: Permission denied",
    }[what]
    rejected(lambda: sources.read({"file": "mine.csv", "target": "label"}), message)


@pytest.mark.parametrize("name", ["http:x.csv", "s3:x.parquet", "{a}.csv", "-x.csv", "a.gz.csv"])
def test_a_name_is_only_a_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"x": range(6), "y": list("ab") * 3})
    if name.endswith("csv"):
        Path(name).write_text(frame.to_csv(index=False))
    else:
        Path(name).write_bytes(frame.to_parquet(index=False))
    assert read({"file": name, "target": "y"})[1]["rows"] == 6


def test_messages_are_lines_of_printable_characters():
    assert one_line("größe '日本'") == "größe '日本'"
    assert one_line("a\x1b[31m\nb\r\0\u2028\u202e\ud800") == (
        r"a\x1b[31m\nb\r\x00\u2028\u202e\ud800"
    )
    cut = one_line("a" * 10**6 + "; rename it")
    assert len(cut) <= LONGEST
    assert cut.endswith("; rename it")
    error = UserError("one\nerror: false", "two")
    assert str(error) == "one\\nerror: false\nerror: two"
    assert error.problems == ("one\\nerror: false", "two")


def test_tables_beyond_the_limits_are_rejected_before_they_are_read(tmp_path, monkeypatch):

    zeros = tmp_path / "zeros.csv"
    with zeros.open("wb") as stream:
        stream.truncate(10**12)  # sparse: a terabyte of null characters
    with pytest.raises(UserError, match=r"zeros.csv.*has 1,000,000 MB; at most 2,000 MB can be"):
        sources.check_file(str(zeros), "y")
    with zeros.open("wb") as stream:
        stream.truncate(10**9)
    with pytest.raises(UserError, match=r"line 1 holds a null character"):
        sources.check_file(str(zeros), "y")

    rows = 150_000_000
    table = pa.table({"x": pa.nulls(1000, pa.int8()), "y": pa.nulls(1000, pa.int8())})
    many = tmp_path / "many.parquet"
    with pq.ParquetWriter(many, table.schema) as writer:
        writer.write_table(table)
    sources.check_file(str(many), "x")
    monkeypatch.setattr(file_limits, "MOST_CELLS", 1999)
    with pytest.raises(UserError, match="has 1,000 rows of 2 columns or more; at most 1,999 val"):
        sources.check_file(str(many), "x")
    with pytest.raises(file_limits.Unreadable, match="150,000,000 rows of 2 columns"):
        file_limits.check_cells(rows, 2)

    (tmp_path / "a.csv").write_text("x,y\n" + "1,a\n" * 1000)
    with pytest.raises(UserError, match="has 1,000 rows of 2 columns or more"):
        sources.from_file(str(tmp_path / "a.csv"), "y")
    (tmp_path / "a.arff").write_text(ARFF + "{}\n" * 1000)
    with pytest.raises(UserError, match="has 1,000 rows of 2 columns or more"):
        sources.from_file(str(tmp_path / "a.arff"), "y")
    monkeypatch.setattr(file_limits, "LONGEST_LINE", 100)
    (tmp_path / "long.csv").write_text("x" * 1000 + ",y\n1,a\n")
    with pytest.raises(UserError, match="line 1 has more than 100 characters"):
        sources.check_file(str(tmp_path / "long.csv"), "y")


def test_unpacked_parquet_has_a_limit(tmp_path, monkeypatch):
    frame = pd.DataFrame({"x": np.zeros(200_000), "y": ["a", "b"] * 100_000})
    frame.to_parquet(tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    monkeypatch.setattr(file_limits, "LARGEST_MB", 1)
    assert (tmp_path / "a.parquet").stat().st_size < 10**5
    with pytest.raises(UserError, match="has 3 MB unpacked; at most 1 MB can be read"):
        sources.check_file(str(tmp_path / "a.parquet"), "y")


def test_words_for_missing_values_of_a_csv_are_said(tmp_path):
    cells = ["1.5", "NA", "?", "", "n/a", "2"] * 4
    lines = [f"{v},{['None', 'a', 'NA'][i % 3]},{'uv'[i % 2]}" for i, v in enumerate(cells)]
    (tmp_path / "a.csv").write_text("\n".join(["x,c,y", *lines]))
    frame, described = read({"file": str(tmp_path / "a.csv"), "target": "y"})
    assert frame["x"].tolist()[::6] == [1.5] * 4
    assert frame["x"].isna().sum() == 16
    assert frame["c"].value_counts().to_dict() == {"None": 8, "a": 8}
    assert described["notes"] == [
        "column 'x' has 12 values treated as missing: '?' (4), 'NA' (4), 'n/a' (4)",
        "column 'c' has 8 values treated as missing: 'NA' (8)",
        "column 'c' has 'None' (8) as a category, together with missing values",
    ]


def test_spaces_at_the_ends_of_the_fields_of_a_csv_do_not_count(tmp_path):
    """And in new rows neither; nor is a word with them a category or a date."""
    file = tmp_path / "a.csv"
    rows = ["u,1,2020-01-05,yes", "u ,2 ,2021-02-03 ,yes ", '" u",3,2022-03-04, yes']
    rows += ["v, 4 ,2020-01-05,no ", "NA ,5 ,NA ,no", "None , ,?,no  "]
    file.write_text("\n".join(["c,x,t,left", *rows * 6]))
    frame, described = read({"file": str(file), "target": "left"})
    assert described["classes"] == {"no": 18, "yes": 18}
    assert described["columns"] == {"c": "categorical", "x": "numeric", "t": "date"}
    assert frame["c"].value_counts().to_dict() == {"u": 18, "v": 6, "None": 6}
    assert frame["x"].tolist()[:5] == [1, 2, 3, 4, 5] and frame["x"].isna().sum() == 6
    assert frame["t"].isna().sum() == 12
    assert "column 'c' has 6 values treated as missing: 'NA' (6)" in described["notes"]
    assert described["gaps"]["c"] == [0, 6]
    made, prepared, _ = prepare.prepare({"train": frame}, described["columns"])
    new = {"c": ["u ", " u", "u", "v  ", "NA ", "None"], "x": ["1 ", "2", "3", " 4", "5 ", " "]}
    days = ["2020-01-05 ", "2021-02-03", " 2022-03-04", "2020-01-05", "NA ", "?"]
    X, notes = prepared.transform({**new, "t": days})
    np.testing.assert_array_equal(X, made["train"][:6])
    assert notes == []


def test_an_integer_of_a_csv_that_loses_digits_is_said(tmp_path):
    lines = [f"{2**53 + i},{'uv'[i % 2]}" for i in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *lines, ",u"]))
    _, described = read({"file": str(tmp_path / "a.csv"), "target": "y"})
    (note,) = [note for note in described["notes"] if "2^53" in note]
    assert note == (
        "column 'x' has 10 integers beyond 2^53, which lose digits as numbers "
        "(9007199254740993 becomes 9007199254740992); 'columns: {categorical: [x]}' keeps them "
        "distinct"
    )


def test_long_integers_of_a_csv_beside_a_row_without_a_target(tmp_path):
    lines = [f"{10**15 + i},{'uv'[i % 2]}" for i in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *lines, "1,"]))
    frame, _ = read({"file": str(tmp_path / "a.csv"), "target": "y"})
    assert frame["x"].tolist() == [1e15 + i for i in range(20)]


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (["0.12345678901234567890123", "0.5"], "67890123 becomes 0.1234567890123456"),
        (["1.00000000000000000012", "2"], "1.00000000000000000012 becomes 1.0"),
        (["0,12345678901234567890123", "0,5"], "67890123 becomes 0.1234567890123456"),
        (["1.2345678901234567890123e5", "7"], "0123e5 becomes 123456.7890123456"),
        (["0.50000000000000000000000", "0.1"], None),
        (["1.000000000000000055511151e-01", "0.3"], None),  # numpy.savetxt's 0.1
        (["0.30000000000000004", "1"], None),
        (["1e-400", "0.5"], "(1e-400 becomes 0.0)"),
        (["2,5E-331", "0,5"], "(2,5E-331 becomes 0.0)"),
        (["-0." + "0" * 400 + "1", "0.5"], "1 becomes -0.0)"),
        (["0.0e-400", "0.5"], None),
        (["5e-324", "0.5"], None),
        (["0." + "3" * 5000, "1"], "3 becomes 0.3333333333333333"),
        (["1.12345678901234567890e-99999999999999999999", "1"], "9 becomes 0.0"),
    ],
)  # fmt: skip
def test_fractions_that_lose_digits_are_noted(tmp_path, words, lost):
    file = tmp_path / "a.csv"
    rows = "".join(f'"{words[0] if i < 6 else f"{words[1]}{i}"}",{i % 2}\n' for i in range(40))
    file.write_text("x,y\n" + rows)
    _, described = normalise.normalise(sources.read({"file": str(file), "target": "y"}))
    assert described["columns"] == {"x": "numeric"}
    found = [note for note in described["notes"] if "lose digits" in note]
    assert len(found) == (lost is not None)
    if lost:
        assert "'x' has 6 fractions with too many digits or too close to 0, which lose" in found[0]
        assert lost in found[0]


def test_times_of_day_with_nanoseconds_are_dropped_as_others(tmp_path):
    times = pa.array([43_200_000_000_001, None] * 6, pa.time64("ns"))
    labels = ["p", "q"] * 6
    pq.write_table(pa.table({"t": times, "x": range(12), "y": labels}), tmp_path / "a.parquet")
    raw = sources.read({"file": str(tmp_path / "a.parquet"), "target": "y"}, {})
    assert normalise.normalise(raw)[1]["left_out"] == {"t": "time values cannot be features"}
