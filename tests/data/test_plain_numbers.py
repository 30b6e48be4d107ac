"""Columns of plain numbers, which are read at once, as each cell by itself."""

import math

import numpy as np
import pytest

from ensemble_search.data import preparation, readings
from ensemble_search.data.preparation import Numbers, Preparation

NUMBERS = ["1", "-0", "+.5", "5.", "1e5", "1E-3", "0012", "1e400", "-3.5e38", "4e-324", "0.1"]
ODD = ["", " 1", "1 ", "\t2", "1\n", "nan", "NA", "-NaN", "inf", "1_0", "0x10", "1,5", "--1",
       "+-1", "1e", "e5", ".", "-", "−1", "١", "１", "1\n2", "5 %", "true", "1e5L",
       "n/a", "word"]  # fmt: skip
OTHERS = [None, 2, 3.5, True, math.nan, 10**400, b"1", np.float32(0.1)]


@pytest.mark.parametrize("cells", [NUMBERS, NUMBERS + ODD, NUMBERS + ODD + OTHERS, ["", ""], []])
def test_a_column_is_read_as_its_cells_are(cells):
    column, notes = Numbers("x", "numeric", {"x": -9.0}), preparation._Notes()
    own = preparation._each(column, cells, notes)
    X, said = Preparation([column], ["x"]).transform({"x": cells})
    expected = np.where(np.isnan(own), -9.0, own)
    assert X[:, 0].tobytes() == expected.tobytes()
    assert said == notes.lines


def test_an_integer_that_python_does_not_write_is_no_category():
    column = preparation.Categories("x", ["1", "2"], [], "1")
    X, notes = Preparation([column], ["x"]).transform({"x": [2, 10**5000]})
    assert X.tolist() == [[0, 1], [1, 0]]
    assert "1 value that cannot be read, treated as missing: 'a huge number'" in notes[0]


@pytest.mark.parametrize("cell", NUMBERS + ODD)
def test_what_is_read_at_once_has_the_value_of_the_pattern(cell):
    values, read = readings.plain([cell])
    if read[0] and cell:
        assert values[0] == readings.number(cell, readings.PLAIN)
    else:
        assert math.isnan(values[0])
    assert read[0] == (cell in NUMBERS or cell == "")
    both, _ = readings.plain([cell, "word"])
    assert both[:1].tobytes() == values.tobytes()
