import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest

from divbo.data import normalise
from divbo.data.sources import Raw
from divbo.errors import UserError

Y = ["b", "a", "b", "a", "b", "a"]


def run(target="y", **columns):
    columns = columns if target in columns else {**columns, target: Y}
    return normalise.normalise(Raw(pd.DataFrame(columns), target, "set", {"sklearn": "set"}))


def kinds(**columns):
    return run(**columns)[1]["columns"]


def test_kinds_follow_types():
    found = kinds(
        i=[1, 2, 3, 4, 5, 6],
        u=np.arange(6, dtype="uint8"),
        f=[1.0, np.nan, 2, 3, 4, 5],
        n=pd.array([1, None, 2, 3, 4, 5], dtype="Int64"),
        o=pd.Series([1, None, 2.5, 3, 4, 5], dtype=object),
        d=[decimal.Decimal(i) for i in range(6)],
        b=[True, False] * 3,
        m=pd.array([True, None] * 3, dtype="boolean"),
        p=pd.Series([True, None] * 3, dtype=object),
        k=pd.Categorical([True, False] * 3, ordered=True),
        s=["x", None] * 3,
        c=pd.Categorical(["x", "z"] * 3, ordered=True),
        g=pd.Categorical([1, 2] * 3),
        x=pd.Series(["x", 1] * 3, dtype=object),
    )
    assert found == {
        **dict.fromkeys("iufnod", "numeric"),
        **dict.fromkeys("bmpk", "boolean"),
        **dict.fromkeys("scgx", "categorical"),
    }


def test_values_of_every_kind():
    frame, described = run(
        i=pd.array([1, None, 2, 3, 4, 5], dtype="Int64"),
        f=[1.0, np.inf, -np.inf, 3, 4, 5],
        b=pd.Series([True, None, False] * 2, dtype=object),
        g=pd.Categorical([1.0, 2.0, None, 1.0, 2.5, 1.0]),
    )
    assert frame["i"].dtype == frame["f"].dtype == "float64"
    assert frame["i"].tolist()[2:] == [2, 3, 4, 5]
    assert frame["i"].isna().sum() == 1
    assert frame["f"].isna().tolist() == [False, True, True, False, False, False]
    assert frame["b"].tolist() == [True, pd.NA, False] * 2
    assert frame["g"].dropna().tolist() == ["1", "2", "1", "2.5", "1"]
    assert frame["y"].tolist() == Y
    assert described["notes"] == ["column 'f': 2 infinite values taken for missing"]
    assert described["missing"] == 1 + 2 + 2 + 1


def test_dates_are_left_out_with_a_word():
    day = datetime.date(2020, 1, 1)
    frame, described = run(
        x=range(6),
        t=pd.date_range("2020", periods=6),
        e=pd.timedelta_range("1h", periods=6),
        q=pd.period_range("2020", periods=6, freq="D"),
        o=[day] * 6,
    )
    assert list(frame) == ["x", "y"]
    assert len(described["notes"]) == 4
    assert all("left out" in note for note in described["notes"])


def test_constant_and_empty_columns_are_kept_with_a_word():
    frame, described = run(x=range(6), one=[1] * 6, none=[None] * 6, nan=[np.nan] * 6)
    assert list(frame) == ["x", "one", "none", "nan", "y"]
    assert described["columns"]["none"] == "numeric"
    assert described["notes"] == [
        "column 'one' holds a single value; the base preparation drops it",
        "column 'none' holds no value; the base preparation drops it",
        "column 'nan' holds no value; the base preparation drops it",
    ]


def test_rows_without_a_label_are_left_out_with_a_word():
    frame, described = run(x=range(8), y=[*Y, None, np.nan])
    assert frame["x"].tolist() == list(range(6))
    assert described["rows"] == 6
    assert described["notes"] == ["2 rows without a value of the target 'y' left out"]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([2, 10] * 3, {"10": 3, "2": 3}),
        ([2.0, 10.0] * 3, {"10": 3, "2": 3}),
        ([0.5, 1.5] * 3, {"0.5": 3, "1.5": 3}),
        ([True, False] * 3, {"False": 3, "True": 3}),
        (pd.Categorical(["z", "a"] * 3, categories=["z", "a", "unused"]), {"a": 3, "z": 3}),
        (pd.Categorical([1, 2] * 3), {"1": 3, "2": 3}),
        (["ä", "z"] * 3, {"z": 3, "ä": 3}),
    ],
)
def test_labels_are_text(labels, classes):
    frame, described = run(x=range(6), y=labels)
    assert described["classes"] == classes
    assert list(described["classes"]) == sorted(classes)
    assert set(frame["y"]) == set(classes)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [], "y": []}, "data set 'set': has no rows"),
        ({"y": Y}, "no column beside the target 'y' is left"),
        ({"x": range(6), "y": ["a"] * 6}, "has the single class 'a'; two are needed"),
        ({"x": range(6), "y": [None] * 6}, "target 'y': has no values"),
        ({"x": range(6), "y": list("aaaabb")}, "class 'b' has 2 rows; training"),
        ({"x": range(6), "y": list("aaaabc")}, r"class 'b' has 1 row \(and 1 more such"),
        ({"x": range(60), "y": np.arange(60) / 7}, "holds 60 distinct numbers, as in regr"),
        ({"x": range(300), "y": np.arange(300)}, "holds 300 distinct numbers, as in regr"),
        ({"x": range(60), "y": [str(i / 7) for i in range(60)]}, "as in regression"),
        ({"x": range(6), "y": pd.date_range("2020", periods=6)}, "holds dates"),
        ({"x": [1j] * 6}, "column 'x' holds complex numbers"),
        ({"x": [[1]] * 6}, "column 'x' holds a value of type list"),
        ({"x": [b"a"] * 6}, "column 'x' holds a value of type bytes"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_line(columns, message):
    with pytest.raises(UserError, match=message) as caught:
        run(**columns)
    assert "\n" not in str(caught.value)


def test_many_classes_are_no_regression():
    labels = np.repeat(np.arange(26), 3)
    assert len(run(x=range(78), y=labels)[1]["classes"]) == 26
    names = [f"name {i}" for i in np.repeat(np.arange(150), 3)]
    assert len(run(x=range(450), y=names)[1]["classes"]) == 150
    declared = pd.Categorical(np.repeat(np.arange(150) / 7, 3))
    assert len(run(x=range(450), y=declared)[1]["classes"]) == 150


def test_the_checksum_tells_contents_apart_and_nothing_else():
    def checksum(**columns):
        return run(**columns)[1]["checksum"]

    base = {"x": [0.0, 1, 2, np.nan, 4, 5], "c": ["a", None, "b", "a", "a", "b"]}
    same = checksum(**base)
    assert checksum(x=[-0.0, 1, 2, None, 4, 5], c=pd.Categorical(base["c"])) == same
    changed = [
        {**base, "x": [0.0, 1, 2, np.nan, 4, 6]},
        {**base, "c": ["a", "", "b", "a", "a", "b"]},
        {"c": base["c"], "x": base["x"]},
        {"z": base["x"], "c": base["c"]},
        {**base, "y": Y[::-1]},
        {"x": base["x"]},
    ]
    sums = [checksum(**columns) for columns in changed]
    assert len({same, *sums}) == 1 + len(changed)


def test_written_files_read_back(tmp_path):
    frame, described = run(
        **{"größe": [1.5, None] * 3, "b": [True, None] * 3, "c": [None, "x"] * 3}
    )
    normalise.write(frame, described, tmp_path / "new" / "folder")
    again = pd.read_parquet(tmp_path / "new" / "folder" / "dataset.parquet")
    pd.testing.assert_frame_equal(again, frame)
    text = (tmp_path / "new" / "folder" / "dataset.json").read_text(encoding="utf-8")
    assert json.loads(text) == described
    assert normalise.checksum(again, described["columns"]) == described["checksum"]
