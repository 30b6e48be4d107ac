"""The base preparation, applied again to raw rows."""

import copy
import csv
import datetime
import io
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_search.data import cells, normalise, prepare, readings, rows, sources, table_files
from ensemble_search.data.cells import DAYS, FROM_BOOLEANS
from ensemble_search.data.preparation import Categories, Numbers, Preparation
from ensemble_search.data.sources import Raw
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import MISSING
from support import NO_COPIES, OPENML_COPIES

pytestmark = pytest.mark.slow

SPLIT = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 3}


def split_of(frame, described):
    """The split, and the rows of its parts."""
    inputs, _, made = prepare.make_split(frame, described, SPLIT)
    labels = np.unique(frame[described["target"]].to_numpy(dtype=str), return_inverse=True)
    return inputs, made["preparation"], rows.split_rows(labels[1], labels[0], SPLIT)


def odd_rows(n: int = 300) -> str:
    """A CSV of every kind of column, with missing and odd values."""
    rng = np.random.default_rng(0)
    lines = ["n,i,euro,when,first,yes,job,level,flag,zip,big,label"]
    for k in range(n):
        cells = [
            f"{rng.normal() * 10.0 ** rng.integers(-12, 12)!r}",
            f"{rng.integers(0, 9)}",
            f"{rng.integers(1, 9)}.{rng.integers(100, 999)},{rng.integers(10, 99)}",
            f"20{rng.integers(10, 30)}-0{rng.integers(1, 9)}-{rng.integers(10, 28)} 1{k % 9}:30",
            f"{rng.integers(13, 28)}.0{rng.integers(1, 9)}.1{rng.integers(950, 999)}"[:10],
            rng.choice(["true", "False", "TRUE"]),
            rng.choice(["clerk", "no job", " ä,b".strip(), "None"]),
            rng.choice(["1", "2", "3.0"]),
            rng.choice(["True", "False"]),
            f"0{rng.integers(100, 170)}",
            rng.choice(["1e400", "12345678901234567890", "7"]),
        ]
        for place in range(len(cells)):
            if rng.random() < 0.07:
                cells[place] = rng.choice(["", "NA", "?"])
        lines.append(",".join(f'"{c}"' if "," in c else c for c in [*cells, "ab"[k % 2]]))
    return "\n".join(lines) + "\n"


def test_rows_of_a_csv_file_are_prepared_again_bit_for_bit(tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text(odd_rows(), encoding="utf-8")
    roles = {"categorical": ["level", "flag"]}
    source = {"file": str(file), "target": "label", "columns": roles}
    frame, described = normalise.normalise(sources.read(source, {}), roles)
    assert described["columns"]["when"] == described["columns"]["first"] == "date"
    assert described["columns"]["euro"] == "numeric"
    inputs, prepared, parts = split_of(frame, described)
    again = Preparation.from_json(json.loads(json.dumps(prepared)))
    lines = list(
        csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")), skipinitialspace=True)
    )
    for part, chosen in parts.items():
        columns = {n: [lines[row][n] for row in chosen.tolist()] for n in lines[0]}
        made, _ = again.transform(columns)
        np.testing.assert_array_equal(made, getattr(inputs, f"X_{part}"))
    assert again.features == inputs.features.tolist()
    np.testing.assert_array_equal(again.categorical, inputs.categorical)


@pytest.mark.parametrize("form", ["frame", "arrays"])
def test_rows_of_a_frame_are_prepared_again(form):
    frame = pd.DataFrame(
        {
            "x": [1.5, None, 3.0, 4.0] * 10,
            "k": pd.array([1, 2, None, 4] * 10, dtype="Int64"),
            "t": pd.to_datetime(["2020-01-31", None, "2021-03-01", "1999-12-31"] * 10),
            "b": pd.array([True, None, False, True] * 10, dtype="boolean"),
            "w": ["u", "v", None, "w"] * 10,
        }
    )
    typed = frame.assign(label=pd.Series(["a", "b"] * 20, dtype="str"), w=frame["w"].astype("str"))
    typed["k"], typed["t"] = typed["k"].astype("float64"), typed["t"].astype("datetime64[us]")
    kinds = {"x": "numeric", "k": "numeric", "t": "date", "b": "boolean", "w": "categorical"}
    X, prepared, _ = prepare.prepare({"train": typed}, kinds)
    columns = {name: frame[name].to_numpy() for name in frame}
    if form == "arrays":  # of objects, as in a row of mixed values
        columns = {name: frame[name].astype(object).to_numpy() for name in frame}
    made, notes = prepared.transform(columns)
    np.testing.assert_array_equal(made, X["train"])
    assert notes == []


PREPARED = Preparation(
    [
        Numbers("x", "numeric", {"x": 2.5}),
        Numbers("c", "numeric", {"c": 0.5}, "numbers with decimal commas"),
        Numbers("t", "date", {"t.year": 2000.0, "t.month": 6.0, "t.hour": 12.0}),
        Numbers("d", "date", {"d.day": 15.0}, "dates with the day first"),
        Numbers("e", "date", {"e.weekday": 3.0}, "dates of eight digits"),
        Numbers("b", "boolean", {"b": 1.0}),
        Categories("w", ["p", "q"], ["r"], "q"),
        Categories("n", ["1", "2"], [], "1", "numbers"),
    ],
    ["w", "x", "c", "t", "d", "e", "b", "n"],
)
ROW = {"x": "1", "c": "1,5", "t": "2020-12-31 06:30", "d": "02.03.2020", "e": "20201231",
       "b": "true", "w": "p", "n": "2.0"}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("x", ["1", " -2e1 ", "", "?", "inf", "1,5", "abc", None], [1, -20, *[2.5] * 6]),
        ("x", [1, True, 10**400, float("nan"), np.float32(0.5)], [1, 1, 2.5, 2.5, 0.5]),
        ("x", ["1e38", "1e39", "-1e39"], [1e38, 2.5, 2.5]),
        ("x", np.array([1e38, -1e39]), [1e38, 2.5]),
        ("x", np.array([1, 2], dtype=np.int8), [1, 2]),
        ("x", np.array([1.0, np.inf]), [1, 2.5]),
        ("x", np.array([60, "NaT"], dtype="m8[s]"), [60, 2.5]),
        ("c", ["1,5", "-3", "1.5", 7.25], [1.5, -3, 0.5, 7.25]),
        ("b", ["TRUE", " false", "1", "0.0", 1, 0.0, np.bool_(False), "yes", 2, 10**400],
         [1, 0, 1, 0, 1, 0, 0, 1, 1, 1]),
        ("b", np.array([True, False]), [1, 0]),
    ],
)  # fmt: skip
def test_numbers_and_booleans_by_hand(column, values, expected):
    found, _ = PREPARED.transform({n: [v] * len(values) for n, v in ROW.items()} | {column: values})
    np.testing.assert_array_equal(found[:, PREPARED.places()[column][0]], expected)


def test_columns_without_any_value_are_noted():
    """A broken column of a spreadsheet; a few rows may lack it."""
    by = {column.name: column for column in PREPARED.columns}
    for column, cell in ((by["x"], "#REF!"), (by["t"], ""), (by["w"], None)):
        prepared = Preparation([column], [column.name])
        said = [f"column '{column.name}': 10 values missing: all of them"]
        assert prepared.transform({column.name: [cell] * 10})[1] == said
        assert prepared.transform({column.name: [cell] * 9})[1] == []


@pytest.mark.parametrize(
    ("values", "unread", "huge"),
    [
        (["1", "inf", "abc", "", "?", "1e39", "#REF!"], ["'abc'"], ["'inf'", "'1e39'"]),
        (np.array([1, np.inf, 1e39, np.nan]), [], ["'1e+39'", "'inf'"]),
        ([float("-inf"), 10**5000], [], ["'-inf'", "'a huge number'"]),
        (np.array([1 + 1j, 2]), ["'(1+1j)'", "'(2+0j)'"], []),
    ],
)
def test_numbers_that_cannot_be_used_are_noted(values, unread, huge):
    columns = {n: [v] * len(values) for n, v in ROW.items()} | {"x": values}
    notes = PREPARED.transform(columns)[1]
    hint = "; write numbers as -1234.5, of at most 3.4e38, and leave unknown ones empty"
    expected = [
        f"column 'x': {len(some)} value{'s' * (len(some) > 1)} {what}, treated as missing: "
        f"{', '.join(some)}{more}"
        for some, what, more in (
            (unread, "that cannot be read", hint),
            (huge, "infinite or above 3.4e38", ""),
        )
        if some
    ]
    assert notes == expected


@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        (Numbers("x", "boolean", {"x": 0.0}), "write true or false"),
        (Numbers("x", "date", {"x.day": 15.0}), "write dates as 2020-12-31"),
        (
            Numbers("x", "numeric", {"x": 0.0}, "numbers with decimal commas"),
            "write numbers as -1234,5, of at most",
        ),
        (
            Numbers("x", "numeric", {"x": 0.0}, "numbers with points between thousands in %"),
            "write numbers as -1.234,5 %, of at most",
        ),
        (Numbers("x", "numeric", {"x": 0.0}, "days"), "write dates as 2020-12-31"),
        (Numbers("x", "numeric", {"x": 0.0}, "booleans"), "write true or false"),
    ],
)
def test_notes_on_values_that_cannot_be_read_have_a_remedy(column, remedy):
    (note,) = Preparation([column], ["x"]).transform({"x": ["abc"]})[1]
    assert f"'abc'; {remedy}" in note


@pytest.mark.parametrize("unit", ["", " in %", " in €", " in km²"])
@pytest.mark.parametrize("booked", ["", readings.BOOKKEEPING])
@pytest.mark.parametrize("style", readings.STYLES)
def test_the_advised_form_can_be_read(style, unit, booked):
    style = f"{style}{unit}{booked}"
    assert readings.number(readings.example(style), style) == -1234.5


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            Numbers("x", "numeric", {"x": 0.0}, "numbers with decimal commas in €"),
            ["1234.50"] * 10,
            "10 of 10 values cannot be read as those of the training rows: '1234.50'; write "
            "numbers as -1234,5 €",
        ),
        (
            Numbers("x", "date", {"x.day": 15.0}, "dates with the day first"),
            [f"12/{day}/2020" for day in range(10, 20)],
            "7 of 10 values cannot be read as those of the training rows: '12/13/2020', ",
        ),
        (Numbers("x", "boolean", {"x": 0.0}), ["ja", "nein"] * 5, "10 of 10 values cannot"),
    ],
)
def test_columns_of_which_most_values_cannot_be_read_are_an_error(column, values, message):
    prepared = Preparation([column], ["x"])
    with pytest.raises(UserError, match=f"^column 'x': {message}"):
        prepared.transform({"x": values})
    some = [*values[-9:], *["", "unknown", "-", None] * 9]
    (note,) = prepared.transform({"x": some})[1]  # few values say little
    assert "that cannot be read, treated as missing" in note


def test_words_for_missing_values_among_numbers_are_no_surprise():
    """They are missing values in training rows, too."""
    column = Numbers("x", "numeric", {"x": 7.0})
    found, notes = Preparation([column], ["x"]).transform({"x": ["1", *["Unknown", "-"] * 10]})
    assert (found[:, 0].tolist(), notes) == ([1] + [7] * 20, [])


def test_numbers_as_categories_that_cannot_be_used_are_missing():
    values = ["inf", "2", float("-inf"), 1e39, "7", 10**400]
    found, notes = PREPARED.transform({n: [v] * 6 for n, v in ROW.items()} | {"n": values})
    places = PREPARED.places()["n"]
    assert found[:, places].tolist() == [[1, 0], [0, 1], [1, 0], [1, 0], [0, 0], [1, 0]]
    assert notes == [
        "column 'n': 4 values that cannot be read, treated as missing: 'inf', '-inf', '1e+39', "
        "...; write numbers as -1234.5, of at most 3.4e38, and leave unknown ones empty",
        "column 'n': 1 value that the training rows do not have, treated as none of theirs: '7'",
    ]


def test_whole_numbers_beyond_the_precision_of_floats_are_different_categories(tmp_path):
    file = tmp_path / "ids.csv"
    large = [2**53 + i for i in (0, 1, 2, 1)]
    lines = [f"{number},{label}" for number, label in zip(large * 25, "uvvu" * 25, strict=True)]
    file.write_text("\n".join(["a,label", *lines, ""]), encoding="utf-8")
    roles = {"categorical": ["a"]}
    source = {"file": str(file), "target": "label", "columns": roles}
    frame, described = normalise.normalise(sources.read(source, {}), roles)
    prepared = Preparation.from_json(split_of(frame, described)[1])
    assert prepared.features == [f"a={2**53 + i}" for i in range(3)]
    for new in ([str(number) for number in large], large, np.array(large)):
        found, notes = prepared.transform({"a": new})
        assert found.argmax(axis=1).tolist() == [0, 1, 2, 1]
        assert notes == []
    other = 2**53 + 3  # as a float, 2**53 + 4
    for read in (cells.FROM_NUMBERS, None):
        column = Categories("a", [str(other - 1), str(other + 1)], [], str(other + 1), read)
        prepared = Preparation([column], ["a"])
        for new in ([str(other)], [other], np.array([other])):
            found, notes = prepared.transform({"a": new})
            assert found.tolist() == [[0, 0]]
            assert str(other) in notes[0]
        assert prepared.transform({"a": [float(other + 1)]})[0].tolist() == [[0, 1]]
        code = Categories("a", ["1", f"0{other}"], [], "1", read)
        assert Preparation([code], ["a"]).transform({"a": [other]})[0].tolist() == [[0, 1]]


def test_more_features_than_memory_are_an_error(monkeypatch):
    monkeypatch.setattr(prepare, "MOST_VALUES", 300)
    n = 60
    frame = pd.DataFrame({"x": range(n), "city": [f"c{i % 12}" for i in range(n)]})
    frame["y"] = ["a", "b"] * (n // 2)
    made = normalise.normalise(Raw(frame, "y", "made", {}))
    with pytest.raises(UserError) as caught:
        prepare.make_split(*made, SPLIT)
    assert str(caught.value) == (
        "60 rows of 13 features are too many: at most 300 values; column 'city' makes 12 features: "
        "leave it out (columns: {drop: [city]}), read it as text (columns: {text: [city]}), or "
        "take a part of the rows"
    )


@pytest.mark.parametrize("groups", [["b", "a", "é", "B"], [10, 9, 2, -1], [1.5, 1e300, 10.0, 2.0]])
def test_groups_are_numbered_in_the_order_of_their_texts(groups):
    values = pd.Series(groups * 3)
    expected = np.unique(values.to_numpy(dtype=str), return_inverse=True)[1]
    assert prepare._of_rows(values, "group").tolist() == expected.tolist()


def test_the_very_rows_of_training_get_the_same_features_from_frames_and_text(tmp_path):
    """Of types that are read in another way than they are written."""
    n = 60
    frame = pd.DataFrame(
        {
            "period": pd.period_range("2020-01", periods=n, freq="M"),
            "quarter": pd.period_range("2000Q1", periods=4, freq="Q").repeat(n // 4),
            "single": np.array([0.1, 0.2, 0.3] * (n // 3), dtype="float32"),
            "span": pd.to_timedelta([1, 2, 3] * (n // 3), unit="h"),
            "wait": pd.to_timedelta(range(n), unit="min"),
            "price": [Decimal("3.00"), Decimal("4.50")] * (n // 2),
            "large": np.array([2**63 + i for i in range(3)] * (n // 3), dtype="uint64"),
            "odd": [float("inf"), 1.0, 2.0] * (n // 3),
            "truth": [True, False, True] * (n // 3),
            "label": ["u", "v", "v", "u"] * (n // 4),
        }
    )
    as_categories = ["quarter", "single", "span", "price", "large", "odd"]
    roles = {"categorical": as_categories, "numeric": ["truth"]}
    typed, described = normalise.normalise(Raw(frame, "label", "made", {}), roles)
    inputs, made, parts = split_of(typed, described)
    prepared = Preparation.from_json(made)
    for part, chosen in parts.items():
        some = frame.iloc[chosen]
        for columns in (
            {name: some[name].to_numpy() for name in frame},
            {name: some[name].tolist() for name in frame},
        ):
            found, _ = prepared.transform(columns)
            np.testing.assert_array_equal(found, getattr(inputs, f"X_{part}"))
    described = prepared.places()
    assert len(described["large"]) == len(described["single"]) == len(described["span"]) == 3
    assert len(described["odd"]) == len(described["price"]) == 2


def test_words_of_booleans_as_numbers(tmp_path):
    file = tmp_path / "flags.csv"
    lines = [
        f"{flag},{label}" for flag, label in zip(["True", "False", ""] * 20, "uv" * 30, strict=True)
    ]
    file.write_text("\n".join(["x,label", *lines, ""]), encoding="utf-8")
    roles = {"numeric": ["x"]}
    source = {"file": str(file), "target": "label", "columns": roles}
    frame, described = normalise.normalise(sources.read(source, {}), roles)
    prepared = Preparation.from_json(split_of(frame, described)[1])
    found, notes = prepared.transform({"x": ["True", "False", "false", "1", 0, 0.0]})
    assert found.ravel().tolist() == [1, 0, 0, 1, 0, 0]
    assert notes == []


def test_booleans_as_categories_are_read_as_booleans():
    flag = Categories("flag", ["False", "True"], [], "True", FROM_BOOLEANS)
    true = ["True", "TRUE", " true", "1", "1.0", True, 1, np.bool_(True)]
    false = ["False", "FALSE", "false ", "0", "0.0", False, 0, np.bool_(False)]
    assert {flag.typed(value) for value in true} == {"True"}
    assert {flag.typed(value) for value in false} == {"False"}
    assert flag.typed("no") == "no"


@pytest.mark.parametrize("several", [True, False])
def test_a_date_that_64_bits_do_not_hold_is_no_other_date(several):
    """NumPy makes the year 124789 of it."""
    far = np.array([10**15, 1609396200], "M8[s]")
    values = far if several else [*far]
    found, notes = PREPARED.transform({n: [v] * 2 for n, v in ROW.items()} | {"t": values})
    expected = [[2000, 6, 12], [2020, 12, 6.5]]
    np.testing.assert_array_equal(found[:, PREPARED.places()["t"]], expected)
    (note,) = notes
    assert note.startswith("column 't': 1 value that cannot be read, treated as missing: '3169")


@pytest.mark.parametrize(("read", "number"), [(None, None), (DAYS, 18262.0)])
def test_dates_are_numbers_only_where_those_of_the_data_were(read, number):
    column = Numbers("x", "numeric", {"x": 0.5}, read)
    for day in (datetime.date(2020, 1, 1), np.datetime64("2020-01-01"), "2020-01-01"):
        assert column.typed(day) == number


def test_dates_by_hand():
    day = datetime.datetime(2020, 12, 31, 6, 30)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    values = ["2020-12-31T06:30:00Z", day, np.datetime64(day), day.replace(hour=8, tzinfo=zone),
              datetime.date(2020, 12, 31), "2020-02-30", "31.12.2020", ""]  # fmt: skip
    found, notes = PREPARED.transform({n: [v] * 8 for n, v in ROW.items()} | {"t": values})
    expected = [[2020, 12, 6.5]] * 4 + [[2020, 12, 0]] + [[2000, 6, 12]] * 3
    np.testing.assert_array_equal(found[:, PREPARED.places()["t"]], expected)
    assert notes == [
        "column 't': 2 values that cannot be read, treated as missing: '2020-02-30', '31.12.2020'; "
        "write dates as 2020-12-31"
    ]
    row = PREPARED.transform({n: [v] for n, v in ROW.items()})[0][0]
    places = PREPARED.places()
    assert row[places["d"]].tolist() == [2]  # 2 March
    assert row[places["e"]].tolist() == [3]  # a Thursday


@pytest.mark.parametrize(
    "style", ["dates with the day first", "dates with names of months", "dates of eight digits"]
)
def test_iso_dates_are_read_however_the_training_rows_wrote_them(style):
    prepared = Preparation([Numbers("d", "date", {"d.day": 15.0}, style)], ["d"])
    found, notes = prepared.transform({"d": ["2020-12-31", "2020/12/30 06:30", "12-31-2020"]})
    assert found[:, 0].tolist() == [31, 30, 15]
    assert notes == [
        "column 'd': 1 value that cannot be read, treated as missing: '12-31-2020'; "
        "write dates as 2020-12-31"
    ]


def test_categories_by_hand():
    words = ["p", "q", "r", "s", "", None, "P", float("nan")]
    found, notes = PREPARED.transform({n: [v] * 8 for n, v in ROW.items()} | {"w": words})
    one_hot = [[1, 0], [0, 1], [0, 0], [0, 0], [0, 1], [0, 1], [0, 0], [0, 1]]
    np.testing.assert_array_equal(found[:, PREPARED.places()["w"]], one_hot)
    assert notes == [
        "column 'w': 2 values that the training rows do not have, treated as none of theirs: "
        "'s', 'P'"
    ]
    numbers = [1, "1", "1.0", 2.0, "x", True, "02"]
    found, notes = PREPARED.transform({n: [v] * 7 for n, v in ROW.items()} | {"n": numbers})
    one_hot = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    np.testing.assert_array_equal(found[:, PREPARED.places()["n"]], one_hot)
    assert notes[0].endswith("treated as none of theirs: 'x'")


def test_words_for_missing_values_may_be_categories():
    """Of data that are no CSV file."""
    column = Categories("w", ["NA", "p"], [], "p")
    found, notes = Preparation([column], ["w"]).transform({"w": ["NA", "?", "p", ""]})
    assert found.tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]
    assert notes == []


def test_columns_of_different_lengths_are_rejected():
    with pytest.raises(UserError, match="different lengths"):
        PREPARED.transform({n: [v] for n, v in ROW.items()} | {"x": ["1", "2"]})


@given(st.permutations(list(ROW)), st.booleans())
def test_the_order_of_columns_and_further_ones_change_nothing(order, extra):
    columns = {name: [ROW[name]] for name in order} | ({"other": ["?"]} if extra else {})
    expected = PREPARED.transform({name: [value] for name, value in ROW.items()})[0]
    np.testing.assert_array_equal(PREPARED.transform(columns)[0], expected)
    assert Preparation.from_json(PREPARED.to_json()).to_json() == PREPARED.to_json()


def _without(key):
    return lambda d: d["columns"][0].pop(key)


@pytest.mark.parametrize(
    "damage",
    [
        *(_without(key) for key in ("name", "kind", "fills", "read")),
        lambda d: d.pop("names"),
        lambda d: d.update(names=[*d["names"], "more"]),
        lambda d: d.update(columns=[]),
        lambda d: d.update(columns=d["columns"] * 2, names=d["names"] * 2),
        lambda d: d["columns"][0].update(kind="__class__"),
        lambda d: d["columns"][0].update(fills={"x": "1"}),
        lambda d: d["columns"][0].update(fills={"x": float("nan")}),
        lambda d: d["columns"][0].update(fills={"x.year": 1}),
        lambda d: d["columns"][2].update(fills={"t.century": 1}),
        lambda d: d["columns"][1].update(read="numbers in a style that is not there"),
        *(
            lambda d, ends=ends: d["columns"][0].update(ends=ends)
            for ends in ([1, 0], [0], [float("nan"), 1], [0, 1e39], ["a", "b"], 3)
        ),
        lambda d: d["columns"][2].update(ends=[0, 1]),
        lambda d: d["columns"][6].update(words=["p", "p"]),
        lambda d: d["columns"][6].update(words=[1]),
    ],
)
def test_a_forged_description_is_rejected_in_one_line(damage):
    described = copy.deepcopy(PREPARED.to_json())
    damage(described)
    with pytest.raises(UserError, match="damaged or forged") as error:
        Preparation.from_json(described)
    assert "\n" not in str(error.value)


def test_numbers_far_from_those_of_the_training_rows_are_noted():
    train = pd.DataFrame({"x": [10.0, 30.0, None, 20.0], "z": [1, 2, 3, 4], "b": [True, False] * 2})
    kinds = {"x": "numeric", "z": "numeric", "b": "boolean"}
    fitted = prepare.fit(train, kinds)[0]
    restored = Preparation.from_json(json.loads(json.dumps(fitted.to_json())))

    def notes(x, of=restored):
        return of.transform({"x": x, "z": [1] * len(x), "b": [True] * len(x)})[1]

    said = "column 'x': {} outside the range of the training rows, 10 to 30: {}"
    assert notes([10.0, 30.0, 35.0, 5.0]) == []  # outside, but not far
    assert notes([35.5]) == [said.format("1 value", "35.5")]
    assert notes(["31", "-11", "15", "9"]) == [said.format("3 values", "-11, 9, 31")]
    assert notes([31.0] * 2 + [15.0] * 2) == []
    assert notes([31.0] * 3 + [15.0] * 27) == []
    assert notes([31.0] * 3 + [15.0] * 26) == [said.format("3 values", "31")]
    assert notes([33.0, 1e9, 31, 32] * 9) == [said.format("36 values", "1000000000, 33, 32, ...")]
    assert notes([None, "unknown", 15.0] * 9) == []
    assert notes([1_609_459_201]) == [said.format("1 value", "1609459201")]
    earlier = fitted.to_json()
    for column in earlier["columns"]:
        del column["ends"]  # as an earlier version wrote it
    assert notes([1e9] * 20, Preparation.from_json(earlier)) == []


def test_dates_far_from_those_of_the_training_rows_are_noted():
    train = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-01-11", "2020-01-21"] * 2)})
    fitted = prepare.fit(train, {"d": "date"})[0]
    restored = Preparation.from_json(json.loads(json.dumps(fitted.to_json())))
    said = "column 'd': {} outside the range of the training rows, 2020-01-01 to 2020-01-21: {}"

    def notes(d):
        return restored.transform({"d": d})[1]

    assert notes(["2020-01-21", "2020-01-26", "2019-12-27", None]) == []  # outside, but not far
    assert notes(["2020-01-26 01:00"]) == [said.format("1 value", "2020-01-26 01:00")]
    evening = [f"2020-01-21 20:00:0{second}" for second in range(4)]
    assert notes(evening) == [said.format("4 values", "2020-01-21 20:00, ...")]
    assert notes(["2020-01-22", "2019-12-30", "2020-01-23"]) == [
        said.format("3 values", "2019-12-30, 2020-01-23, 2020-01-22")
    ]
    described = fitted.to_json()
    described["columns"][0]["ends"] = [0, 1.1e8]  # later than datetime64[us]
    with pytest.raises(UserError, match="the range of 'd' is not two numbers in order"):
        Preparation.from_json(described)


TIMES = st.sampled_from(["", "T00:00", " 23:59:59", "T12:30:01.5", "T12:30:01.123456789", "T24:00"])
ZONES = st.sampled_from(["", "Z", "+01:00", "-0530", "+14", "+23:59", "-00:01"])


@given(st.integers(1678, 2261), st.integers(0, 13), st.integers(0, 32), TIMES, ZONES)
def test_dates_are_read_as_pandas_does(year, month, day, time, zone):
    text = f"{year:04}-{month:02}-{day:02}{time}{zone if time else ''}"
    found = readings.date(text, readings.ISO)
    dates = pd.to_datetime([text], format="ISO8601", errors="coerce", utc=True)
    expected = dates.tz_localize(None).to_numpy("datetime64[us]")[0]
    assert found == expected or (np.isnat(found) and np.isnat(expected)), (found, expected)


ADULT = OPENML_COPIES / "org/openml/www/datasets/1590/dataset.arff"


@pytest.mark.skipif(not ADULT.is_file(), reason=NO_COPIES)
def test_the_rows_of_adult_as_text():
    frame = table_files.read_arff(ADULT).head(3000)
    typed, described = normalise.normalise(Raw(frame, "class", "adult", {}))
    inputs, prepared, parts = split_of(typed, described)
    text = frame.to_csv(index=False, na_rep="?")
    lines = list(csv.DictReader(io.StringIO(text)))
    columns = {n: [lines[row][n] for row in parts["test"].tolist()] for n in lines[0]}
    made, _ = Preparation.from_json(prepared).transform(columns)
    np.testing.assert_array_equal(made, inputs.X_test)


def features_of(file, roles=None):
    """Features of a CSV's rows in training, and the functions that give them for new rows."""
    source = {"file": str(file), "target": "label"}
    frame, described = normalise.normalise(sources.read(source, {}), roles)
    X, prepared, _ = prepare.prepare(
        {"train": frame.iloc[: len(frame) * 2 // 3], "all": frame},
        described["columns"],
        described["asked"],
        described["read"],
    )
    return X["all"], Preparation.from_json(json.loads(json.dumps(prepared.to_json())))


def as_text(file):
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, skipinitialspace=True))
    return {name: [row[name] for row in rows] for name in rows[0]}


def as_frame(file):
    frame = pd.read_csv(file)
    return {name: frame[name].to_numpy() for name in frame}


ODD = ["", "NA", "n/a", "None", "nan", "-", "unknown", "?", "<NA>", "null", " NA", "12x", "1e5"]
KINDS_OF_CELLS = [
    st.integers(0, 99).map(str),
    st.integers(0, 2).map(str),
    st.integers(2**53, 2**53 + 40).map(str),
    st.floats(-1e6, 1e6).map(repr),
    st.decimals(0, 99999, places=2).map(lambda v: f"${v:,}"),
    st.decimals(0, 100, places=1).map(lambda v: f"{v}%"),
    st.integers(0, 999).map(lambda v: f"{v},5 kg"),
    st.integers(0, 3000).map(lambda v: str(datetime.date(2020, 1, 1) + datetime.timedelta(v))),
    st.integers(0, 3000).map(
        lambda v: (datetime.date(2020, 1, 1) + datetime.timedelta(v)).strftime("%m/%d/%y")
    ),
    st.sampled_from(["True", "False"]),
    st.sampled_from(["red", "green", " blue", "3"]),
    st.sampled_from(["01", "02", "17"]),
    st.integers(0, 99).map("{:05d}".format),
]


@settings(max_examples=60)
@given(data=st.data())
def test_new_rows_are_prepared_as_in_training(tmp_path_factory, data):
    """As text; and as a frame of pandas, which does not know words such as ? and -."""
    n = 45
    columns = {}
    for k in range(data.draw(st.integers(1, 3))):
        cells = data.draw(st.sampled_from(KINDS_OF_CELLS))
        made = data.draw(st.lists(cells, min_size=n, max_size=n))
        for _ in range(data.draw(st.integers(0, 5))):
            made[data.draw(st.integers(0, n - 1))] = data.draw(st.sampled_from(ODD))
        columns[f"c{k}"] = made
    columns["base"] = [str(i % 7) for i in range(n)]
    columns["label"] = ["u", "v", "NA"] * (n // 3)
    file = tmp_path_factory.mktemp("rows") / "a.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    X, prepared = features_of(file)
    np.testing.assert_array_equal(prepared.transform(as_text(file))[0], X)
    np.testing.assert_array_equal(prepared.transform(as_frame(file))[0], X)


def test_days_as_numbers_far_from_those_of_the_training_rows_are_noted():
    """Numbers that no date has stay numbers; NumPy's dates are of 64 bits."""
    days = Numbers("d", "numeric", {"d": 0.0}, DAYS, [18262.0, 18282.0])
    _, notes = Preparation([days], ["d"]).transform({"d": np.array([1e20, 1e8, 18300.5, 18262])})
    assert notes == [
        "column 'd': 3 values outside the range of the training rows, 2020-01-01 to 2020-01-21: "
        "1e+20, 275760-09-13, 2020-02-08 12:00"
    ]


def test_words_for_missing_in_texts_are_missing_in_training_and_in_new_rows(tmp_path):
    """Of a Parquet file, in which NA may be a word."""
    texts = [f"word{i} text{i % 5}" for i in range(40)] + ["NA", "None"] * 2
    frame = pd.DataFrame({"c": texts, "label": ["u", "v"] * 22})
    file = tmp_path / "a.parquet"
    frame.to_parquet(file)
    X, prepared = features_of(file)
    assert prepared.features == [f"c:text{i}" for i in range(5)]
    found, notes = prepared.transform({"c": texts})
    np.testing.assert_array_equal(found, X)
    assert notes == []
    source = {"file": str(file), "target": "label"}
    _, described = normalise.normalise(sources.read(source, {}), {})
    missing = "column 'c' has 4 values treated as missing: 'NA' (2), 'None' (2)"
    assert described["notes"][0] == missing
    assert "as a category" not in "".join(described["notes"])


def test_codes_and_none_among_texts_are_read_in_new_rows_as_in_training(tmp_path):
    """Texts, because most codes are distinct. pandas reads 00007 as 7, and None as NaN."""
    codes = [f"{i:05}" for i in range(24)] + ["00007"] * 2 + ["None"] * 4
    file = tmp_path / "a.csv"
    rows = [f"{code},{'uv'[i % 2]}" for i, code in enumerate(codes + ["00007"] * 15)]
    file.write_text("\n".join(["c,label", *rows, ""]))
    X, prepared = features_of(file)
    assert prepared.features == ["c:00007"]
    assert X[:, 0].tolist() == [float(code == "00007") for code in codes] + [1.0] * 15
    for new in (as_text(file), as_frame(file)):
        found, notes = prepared.transform(new)
        np.testing.assert_array_equal(found, X)
        assert notes == []


def test_one_odd_word_does_not_cost_a_column(tmp_path):
    """An income that decides the target, with 1 % of n/a and -."""
    rng = np.random.default_rng(1)
    income = rng.lognormal(10, 0.5, 600).round(2)
    words = [f"{v:.2f}" for v in income]
    for row in range(0, 600, 100):
        words[row] = ["n/a", "-"][row // 100 % 2]
    lines = [f"{w},{'ab'[int(v > 22026)]}" for w, v in zip(words, income, strict=True)]
    file = tmp_path / "odd.csv"
    file.write_text("\n".join(["income,label", *lines, ""]))
    frame, described = normalise.normalise(sources.read({"file": str(file), "target": "label"}))
    assert described["columns"] == {"income": "numeric"}
    expected = income.copy()
    expected[::100] = np.nan
    np.testing.assert_array_equal(frame["income"], expected)
    (note,) = described["notes"]
    assert note.endswith("read as numbers; 6 values treated as missing: '-' (3), 'n/a' (3)")
    X, prepared = features_of(file)
    assert prepared.features == ["income"]
    np.testing.assert_array_equal(prepared.transform(as_text(file))[0], X)


def test_integers_beyond_the_precision_of_floats_are_different_classes(tmp_path):
    large = [2**53 + i % 3 for i in range(30)]
    frame = pd.DataFrame({"x": range(31), "y": pd.array([*large, None], dtype="Int64")})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    arff = "@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n"
    arff += "".join(f"{i},{v}\n" for i, v in enumerate([*large, "?"]))
    (tmp_path / "a.arff").write_text(arff)
    for name in ("a.parquet", "a.csv", "a.arff"):
        source = {"file": str(tmp_path / name), "target": "y"}
        described = normalise.normalise(sources.read(source))[1]
        assert described["classes"] == {str(2**53 + i): 10 for i in range(3)}, name


def test_codes_that_pandas_reads_as_numbers_are_their_categories(tmp_path):
    file = tmp_path / "a.csv"
    lines = [f"{code},{'ab'[i % 2]}" for i, code in enumerate(["01234", "0999", "7"] * 20)]
    file.write_text("\n".join(["zip,label", *lines, ""]))
    X, prepared = features_of(file)
    assert prepared.features == ["zip=01234", "zip=0999", "zip=7"]
    found, notes = prepared.transform(as_frame(file))
    np.testing.assert_array_equal(found, X)
    assert notes == []


def test_missing_values_are_the_category_that_is_called_so(tmp_path):
    """A frame of pandas does not tell None from an empty field."""
    file = tmp_path / "a.csv"
    lines = [f"{w},{'ab'[i % 2]}" for i, w in enumerate(["None", "tar", "", "tar", "tar"] * 12)]
    file.write_text("\n".join(["alley,label", *lines, ""]))
    X, prepared = features_of(file)
    assert prepared.features == ["alley=None", "alley=tar"]
    assert X[:5].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [0, 1]]
    for columns in (as_text(file), as_frame(file)):
        np.testing.assert_array_equal(prepared.transform(columns)[0], X)
    column = np.array(["NA", "None", "tar", None], dtype=object)
    made, _ = prepare.categories("x", column, None)
    assert (made.words, made.fill) == (["NA", "tar"], "NA")


def test_the_words_for_missing_values_are_those_of_pandas():
    from pandas._libs.parsers import STR_NA_VALUES

    assert {*STR_NA_VALUES, "?"} == MISSING


@pytest.mark.parametrize("key", ["words", "rare"])
def test_more_categories_than_rows_of_features_hold_are_rejected(key):
    column = {"name": "x", "kind": "categorical", "words": ["a"], "rare": [], "fill": "a"}
    column |= {"read": None, key: [str(i) for i in range(2**17)]}
    with pytest.raises(UserError, match="has more than 131072 columns and categories"):
        Preparation.from_json({"names": ["x"], "columns": [column]})


@pytest.mark.parametrize("kind", ["numeric", "categorical", "date"])
def test_signalling_nans_of_new_rows_are_missing(kind):
    columns = {
        "numeric": Numbers("x", "numeric", {"x": 1.0}, None),
        "categorical": Categories("x", ["a", "b"], [], "a", None),
        "date": Numbers("x", "date", {"x.year": 2000.0}, None),
    }
    made = Preparation([columns[kind]], ["x"])
    rows = np.array([Decimal("sNaN"), None], dtype=object)
    features, notes = made.transform({"x": rows})
    assert (features[0] == features[1]).all()
    assert notes == []
