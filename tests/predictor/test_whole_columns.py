"""Rows of a CSV file, read as whole columns of numbers or field by field."""

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ensemble_search.data.preparation import Categories, Numbers, Preparation
from ensemble_search.predictor import rows
from ensemble_search.runtime.errors import UserError

pytestmark = pytest.mark.slow

WORDS = ["a", " a", "2", "", "nan"]
PREPARATION = Preparation(
    [
        Numbers("x", "numeric", {"x": -9.0}),
        Categories("word", WORDS, [], "a"),
        Numbers("y", "numeric", {"y": -8.0}),
    ],
    ["x", "word", "y"],
)
NUMBERS = st.sampled_from(["1", "-0.0", "+.5", "1e-320", "0.1", "123456789012345678901"])
USUAL = st.tuples(NUMBERS, st.sampled_from([*WORDS, '"a"', "other"]), NUMBERS | st.just(""))
ODD = st.sampled_from(
    ["1e39", "1e999", "-inf", "nan", "-NaN", "NA", "0x1", "1_0", "1,5", "−1", "١", " 1", "1 ", " ",
     "\x0b1", "\u20281", '""', '"1"', '" 1"', '" a"', '"1,5"', '"1""5"', '"1\n5"', '1"5', '"1" ',
     '"1"5', '"']
)  # fmt: skip
CELL = NUMBERS | st.sampled_from(WORDS) | ODD | st.text(alphabet='",\n\r1 en', max_size=4)
ROWS = st.lists(USUAL | st.tuples(CELL, CELL, CELL) | st.lists(CELL, max_size=5), max_size=9)


def read(file, numeric):
    """Features, notes and bytes of every chunk, and the error that ends them."""
    found = []
    try:
        for columns, _ in rows.chunks(file, list(PREPARATION.names), 3, numeric):
            features, notes = PREPARATION.transform(columns)
            found.append((features.shape, features.tobytes(), notes))
    except UserError as error:
        found.append(str(error))
    return found


@settings(max_examples=400)
@given(rows=ROWS, end=st.sampled_from(["\n", "\r\n", "\r"]), last=st.booleans())
@example(rows=[("1", "a", "2")] * 7, end="\r\n", last=False)
@example(rows=[("", "a", ""), ("nan", "a", "1"), ("1", '"a"', "-NaN")], end="\n", last=True)
@example(rows=[('"1\n5"', "a", "2"), ("1", "a", "2"), (), ("3", "a")], end="\n", last=True)
def test_whole_columns_have_the_values_of_single_fields(tmp_path_factory, rows, end, last):
    file = tmp_path_factory.getbasetemp() / "rows.csv"
    lines = ["x,word,more,y", *(",".join([*row[:2], "more", *row[2:]]) for row in rows)]
    file.write_text(end.join(lines) + end * last, encoding="utf-8", newline="")
    assert read(file, {"x", "y"}) == read(file, ())


def test_plain_numbers_are_read_as_whole_columns(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text('x,"word",y\n1,"a",\n"2",b,3\n', encoding="utf-8")
    ((columns, _),) = rows.chunks(file, ["x", "word", "y"], numeric={"x", "y"})
    assert columns["x"].tolist() == [1, 2]
    assert columns["word"] == ["a", "b"]


def test_parquet_without_pyarrow_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "new.parquet"
    assert rows.types(path, ["a"]) == {}
    with pytest.raises(UserError, match="needs pyarrow to be read: pip install pyarrow, or save"):
        next(rows.parquet(path, ["a"], 10))
