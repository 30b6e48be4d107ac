import datetime
import decimal
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml

from ensemble_search.data import checks, normalise, prepare, sources
from ensemble_search.data.kinds import Column
from ensemble_search.data.sources import Raw
from ensemble_search.runtime.errors import UserError

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
    assert described["notes"] == ["column 'f': 2 infinite values treated as missing"]
    assert described["missing"] == 1 + 2 + 2 + 1


def test_dates_of_every_type():
    days = pd.date_range("2020-12-30 12:00", periods=6)
    text = [None, "2020-12-31", "2021-01-01T13:45", "2021/01/02", "2021-01-03 01:00+02:00"]
    frame, described = run(
        t=days,
        z=days.tz_localize("Europe/Berlin"),
        o=[datetime.date(2020, 12, 30), None] * 3,
        m=[datetime.datetime(2020, 12, 30, 12), None] * 3,
        q=days.to_period("D"),
        s=[*text, "0001-01-01"],
        e=pd.timedelta_range("1h", periods=6),
    )
    assert described["columns"] == {**dict.fromkeys("tzomqs", "date"), "e": "numeric"}
    assert set(frame[list("tzomqs")].dtypes.astype(str)) == {"datetime64[us]"}
    assert [str(frame[name][0]) for name in "tzom"] == [
        *("2020-12-30 12:00:00", "2020-12-30 11:00:00"),
        *("2020-12-30 00:00:00", "2020-12-30 12:00:00"),
    ]
    assert frame["o"].isna().tolist() == [False, True] * 3
    assert [str(value) for value in frame["s"]][1:] == [
        *("2020-12-31 00:00:00", "2021-01-01 13:45:00", "2021-01-02 00:00:00"),
        *("2021-01-02 23:00:00", "0001-01-01 00:00:00"),
    ]
    assert frame["e"].tolist()[:2] == [3600, 3600 + 86400]
    assert (
        "column 's' is text such as '2020-12-31': read as ISO dates, those without an offset as UTC"
    ) in described["notes"]


def test_times_of_day_are_left_out_with_a_word():
    times = [datetime.time(12)] * 6
    _, described = run(x=range(6), t=times, i=pd.interval_range(0, 6))
    assert described["left_out"] == {
        "t": "time values cannot be features",
        "i": "interval values cannot be features",
    }
    assert "column 't' left out: time values cannot be features" in described["notes"]


@pytest.mark.parametrize(
    ("words", "values", "style"),
    [
        (["4,635.45", "12", "1,000"], [4635.45, 12, 1000], "commas between thousands"),
        (["1,234,567", "-1"], [1234567, -1], "commas between thousands"),
        (["3,14", "1,234", "−2"], [3.14, 1.234, -2], "decimal commas"),
        (["0,123", "1,234"], [0.123, 1.234], "decimal commas"),
        (["1.234,5", "2.500"], [1234.5, 2500], "points between thousands and decimal commas"),
        (["1 234", "12\u00a0345", " 7 "], [1234, 12345, 7], "spaces between thousands"),
        (["1\u202f234,5", "7"], [1234.5, 7], "spaces between thousands and decimal commas"),
        (["1'234.5", "1’000"], [1234.5, 1000], "apostrophes between thousands"),
        (["1.5", "2.250", "1e3"], [1.5, 2.25, 1000], "numbers"),
    ],
)
def test_numbers_with_separators(words, values, style):
    column = pd.Series([*words, None] * 3, dtype="str")
    frame, described = run(x=column, y=["a", "b", "c"] * (len(column) // 3))
    assert described["columns"] == {"x": "numeric"}
    np.testing.assert_array_equal(frame["x"], [*values, np.nan] * 3)
    (note,) = described["notes"]
    assert note.startswith("column 'x' is text such as '")
    assert note.endswith(style)


@pytest.mark.parametrize(
    ("words", "telling"),
    [
        (["1/1/2020", "1/2/2020"] * 6, "1/2/2020"),
        (["1", "2,5", "3"] * 5, "2,5"),
        (["2020-12-30", "31.12.2020"] * 5, "31.12.2020"),
        ([*map(str, range(100, 130)), "1,234"], "1,234"),
        (["3", "4 €"] * 6, "4 €"),
    ],
)
def test_examples_show_the_reading(words, telling):
    column = pd.Series(words * 2, dtype="str")
    notes = run(x=column, y=np.repeat(["a", "b"], len(words)))[1]["notes"]
    assert f"such as '{telling}'" in notes[0]


def test_a_placeholder_leaves_points_decimal():
    values = [f"{i % 7 + 1}.{100 + i}" for i in range(29)]
    frame, described = run(x=["unknown", *values], y=["a", "b"] * 15)
    assert described["columns"] == {"x": "numeric"}
    np.testing.assert_array_equal(frame["x"], [np.nan, *map(float, values)])
    assert any("'1.100': read as numbers; 1 value treated" in n for n in described["notes"])


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["1,234", "5"], "'1,234' may be read as numbers with commas between thousands or numbers "
         "with decimal commas; 'columns: {numeric: [x]}' reads them as the first"),
        (["2020-02-29"] * 11 + ["2021-02-29"],
         "nearly all values can be read as ISO dates, but not '2021-02-29'; "
         "'columns: {date: [x]}' treats those"),
        (["0", "1", "2"] * 5 + ["3+"],
         "nearly all values can be read as numbers, but not '3+'; 'columns: {numeric: [x]}' treat"),
        ([f"{i / 4}" for i in range(20)] + ["call us", "2 or 3", "12b"],
         "87 % of the values can be read as numbers, but not 'call us', '2 or 3', '12b'; 'columns"),
        (pd.Categorical(["2020-01-01", "2020-01-02"]), "as declared, although values such as "
         "'2020-01-01' look like ISO dates; 'columns: {date: [x]}' reads them as such"),
    ],
)  # fmt: skip
def test_what_is_unclear_stays_categories_with_a_word(words, note):
    column = pd.Series(words).repeat(6).reset_index(drop=True)
    _, described = run(x=column, y=["a", "b"] * (len(column) // 2))
    assert described["columns"] == {"x": "categorical"}
    (said,) = described["notes"]
    assert said.startswith("column 'x' stays categorical")
    assert note in said


@pytest.mark.parametrize(
    ("words", "kind", "values", "note"),
    [
        ([f"{i}.25" for i in range(99)] + ["n/a"], "numeric", [i + 0.25 for i in range(99)],
         "is text such as '0.25': read as numbers; 1 value treated as missing: 'n/a' (1)"),
        # As many placeholders as there are, if there are many numbers.
        ([f"{i}.25" for i in range(20)] + ["-", "Unknown"] * 10, "numeric",
         [i + 0.25 for i in range(20)],
         "read as numbers; 20 values treated as missing: '-' (10), 'Unknown' (10)"),
        (["1", "2"] * 10 + ["-"], "numeric", [1, 2] * 10, "1 value treated as missing: '-' (1)"),
        ([f"{i}" for i in range(18, 58)] + ["call us"], "numeric", range(18, 58),
         "1 value treated as missing: 'call us' (1)"),
        ([f"{i}" for i in range(18, 58)] + ["$1.50"], "numeric", [*range(18, 58), 1.5],
         "read as numbers in $"),
        (["$1,234.50", "-$2", "$ 3"], "numeric", [1234.5, -2, 3],
         "read as numbers with commas between thousands in $"),
        (["5.0%", "12 %", "-1.5%"], "numeric", [5, 12, -1.5], "read as numbers in %"),
        (["1,5 kg", "12kg", "3kg"], "numeric", [1.5, 12, 3], "numbers with decimal commas in kg"),
        (["3 €", "4,50 €", "1"], "numeric", [3, 4.5, 1], "numbers with decimal commas in €"),
        (["True", "false"] * 10 + ["-"], "boolean", [1, 0] * 10,
         "read as booleans; 1 value treated as missing: '-' (1)"),
        (["08/06/24", "12/31/69", "1/1/00"], "date", ["2024-08-06", "1969-12-31", "2000-01-01"],
         "read as dates with the month first"),
        (["08.06.24", "31.12.68"] * 2, "date", ["2024-06-08", "2068-12-31"] * 2,
         "read as dates with the day first"),
        (["08/06/2024", "1/2/2020"] * 2, "date", ["2024-08-06", "2020-01-02"] * 2,
         "read as dates with the month first; values such as '08/06/2024' may be read as dates "
         "with the day first or dates with the month first: if that is wrong, write them as 2020-"),
        (["8-6-24"] * 3, "date", ["2024-06-08"] * 3,
         "read as dates with the day first; values such as"),
        ([f"2020-01-{i}" for i in range(10, 30)] + ["tbd"], "date",
         [f"2020-01-{i}" for i in range(10, 30)], "1 value treated as missing: 'tbd' (1)"),
    ],
)  # fmt: skip
def test_a_column_that_is_nearly_of_one_kind(words, kind, values, note):
    column = pd.Series(list(words) * 3, dtype="str")
    frame, described = run(x=column, y=["a"] * len(words) + ["b"] * 2 * len(words))
    assert described["columns"] == {"x": kind}
    count = len(values)
    made = frame["x"][:count].tolist()
    assert made == ([pd.Timestamp(v) for v in values] if kind == "date" else list(values))
    assert frame["x"][count : len(words)].isna().all()
    said = next(line for line in described["notes"] if "read as" in line)
    # Three times as many as in a third of the rows.
    assert re.sub(r"\b\d+ values? |\(\d+\)", "", note) in re.sub(
        r"\b\d+ values? |\(\d+\)", "", said
    )
    for number in re.findall(r"\((\d+)\)", note):
        assert f"({3 * int(number)})" in said


@pytest.mark.parametrize(
    "words",
    [["5%", "5"], ["5 kg", "7 lb"], ["1k", "2M"], ["1.2.3", "1.2.4"], ["12a", "12b"], ["$", "€"]],
)
def test_units_that_differ_are_no_numbers(words):
    _, described = run(x=words * 6, y=["a", "b"] * 6)
    assert described["columns"] == {"x": "categorical"}


def test_an_integer_that_loses_digits_is_said():
    large = [2**53 + i for i in range(6)]
    for values in (large, pd.array([*large[:5], None], dtype="Int64"), [str(i) for i in large]):
        frame, described = run(x=values)
        if described["columns"] == {"x": "numeric"}:
            (note,) = [n for n in described["notes"] if "2^53" in n]
            assert f"{2**53 + 1} becomes {2**53}" in note
            assert "'columns: {categorical: [x]}' keeps them distinct" in note
        else:  # text of digits: codes
            assert frame["x"].tolist() == values


@pytest.mark.parametrize("name", ["a", "a b", "0", "yes", "a, b", "a: b", "a#b", "x [m]", "'", ""])
def test_a_remedy_can_be_copied_into_a_study(name):
    column = Column(name, pd.Series([1.0]), None, "column", [])
    assert yaml.safe_load(column.remedy("drop").strip("'")) == {"columns": {"drop": [name]}}


def test_remedies_of_other_notes_can_be_copied_into_a_study(tmp_path):
    (tmp_path / "a.csv").write_text("\n".join(['"a, b",x,y', *["1.1,0,p", "1.10,1,q"] * 60]))
    found = [*(raw := sources.from_file(str(tmp_path / "a.csv"), "y")).notes]
    notes = normalise.normalise(raw, {"drop": ["a, b"]})[1]["notes"]
    assert found and found[0] not in notes  # nor is a remedy needed then
    frame, described = normalise.normalise(raw)
    frame["a, b"] = frame["y"].map({"p": np.nan, "q": 1.0}) + np.arange(120)
    found += normalise.normalise(replace(raw, frame=frame))[1]["notes"]
    frame["a, b"] = frame["y"].map({"p": "k", "q": "l"})
    found += checks.notes(frame, described, {"train": np.arange(120)})
    remedies = [said for note in found for said in re.findall(r"columns: {\w+: \[[^]]*]}", note)]
    assert {role for said in remedies for role in yaml.safe_load(said)["columns"]} == {
        "categorical", "drop"
    }  # fmt: skip
    assert len(remedies) >= 3
    for said in remedies:
        assert [*yaml.safe_load(said)["columns"].values()] in ([["a, b"]], [["x"]]), said


def test_words_for_missing_values_among_categories_are_said():
    _, described = run(x=["None", "None", "tar", "wood", None, "tar"])
    assert (
        "column 'x' has 'None' (2) as a category, together with missing values"
        in (described["notes"])
    )
    _, described = run(x=["None", "None", "tar", "wood", "tar", "tar"])
    assert "column 'x' has 'None' (2) as a category" in described["notes"]


@pytest.mark.parametrize("word", ["NA", "nan", "null", "None", "?"])
def test_a_class_called_as_missing_values_are_is_a_class(word):
    _, described = run(x=range(12), y=["EU", word, "APAC", word] * 3)
    assert described["classes"] == {"EU": 3, word: 6, "APAC": 3}
    assert described["rows"] == 12
    assert f"'{word}' is a class of the target 'y', in 6 rows; a row without" in (
        " ".join(described["notes"])
    )


def test_a_regression_has_words_for_missing_values():
    raw = Raw(pd.DataFrame({"x": range(5), "y": ["1", "NA", "2.5", "nan", "4"]}), "y", "set", {})
    frame, described = normalise.normalise(raw, task="regression")
    assert frame["y"].tolist() == [1, 2.5, 4]
    assert described["notes"][0] == "2 rows without a value of the target 'y' left out"


@pytest.mark.parametrize("form", ["${}", "{}%", "{},5", "NA"])
def test_numbers_in_another_form_are_no_classes(form):
    target = [form.format(i) if form != "NA" else ["NA", str(i)][i % 2] for i in range(300)]
    with pytest.raises(UserError, match=r"holds \d+ distinct numbers; for a regression"):
        run(x=range(300), y=target)


def test_classes_that_look_alike_are_named():
    _, described = run(x=[0.5, 1] * 6, y=["A", "a ", "b"] * 4)
    (note,) = described["notes"]
    assert note.startswith("classes 'A' and 'a ' of the target differ only in blanks, case or Uni")


def test_all_pairs_of_classes_that_look_alike_are_named():
    """Also if they differ only in blanks, which pages hide."""
    _, described = run(x=[0.5, 1, 2] * 5, y=["No", "no", "yes", "yes ", "b"] * 3)
    one, two = (note for note in described["notes"] if note.startswith("classes "))
    assert one.startswith("classes 'No' and 'no' of")
    assert two.startswith("classes 'yes' and 'yes ' of")


def test_equal_numbers_do_not_vary_because_their_mean_is_rounded():
    values = np.full(300, 1e30 + 1)
    assert np.var(values) > prepare.MIN_VARIANCE
    assert not prepare.varies(values)


def test_infinity_is_no_class():
    with pytest.raises(UserError, match="holds infinite values"):
        run(x=range(12), y=[0.0, 1.0, np.inf] * 4)


@pytest.mark.parametrize("words", [["01", "02"], ["1.2.3", "1.2.4"], ["1,2,3", "4"], ["a", "1"]])
def test_codes_stay_categories(words):
    _, described = run(x=pd.Series(words * 6, dtype="str"), y=["a", "b", "b"] * 4)
    assert (described["columns"], described["notes"]) == ({"x": "categorical"}, [])


@pytest.mark.parametrize(
    ("words", "dates"),
    [
        (["31.12.2020", "1.2.2021"], ["2020-12-31", "2021-02-01"]),
        (["1/2/2021", "12/31/2020"], ["2021-01-02", "2020-12-31"]),
        (["1-2-2021", "13-2-2021 10:00"], ["2021-02-01", "2021-02-13 10:00"]),
    ],
)
def test_dates_in_an_order_that_only_one_reading_allows(words, dates):
    frame, _ = run(x=words * 3)
    assert frame["x"].tolist() == [pd.Timestamp(d) for d in dates] * 3


def test_columns_like_identifiers_are_named():
    n = 30
    rng = np.random.default_rng(0)
    frame, described = run(
        id=range(n),
        gaps=np.arange(n)[::-1] * 3,
        shuffled=rng.permutation(n) + 100,
        some=rng.permutation([i for i in range(35) if i % 7 != 5]),
        sparse=[*rng.permutation(60)[:n]],
        any=rng.permutation(n) ** 2,
        uuid=[f"{i:08x}-0000-4000-8000-00000000000A" for i in range(n)],
        name=[f"Name {i}" for i in range(n)],
        day=[20200101 + i for i in range(n - 1)] + [20200101],
        y=["a", "b"] * (n // 2),
    )
    notes = dict(note.removeprefix("column ").split(" ", 1) for note in described["notes"])
    assert {name.strip("'") for name in notes} == {*frame.columns} - {"any", "sparse", "y"}
    assert notes["'id'"].startswith("has integers that rise from row to row, like row numbers: ")
    assert notes["'id'"].endswith("it is kept, because the order may be informative; if it is "
                                  "not, remove it with 'columns: {drop: [id]}'")  # fmt: skip
    assert notes["'gaps'"].startswith("has integers that fall from row to row")
    assert notes["'shuffled'"].startswith("has each integer of a range once")
    assert notes["'some'"].startswith("has 30 of 35 successive integers, each once, like row ")
    assert "30 distinct among 30 values" in notes["'uuid'"]
    assert "(UUIDs)" in notes["'uuid'"]
    assert (
        "such as 'Name 0': dropped by the base preparation (names or identifiers)"
        in notes["'name'"]
    )
    assert "20200101, which may be dates; 'columns: {date: [day]}'" in notes["'day'"]


def test_many_categories_are_named():
    words = pd.Series([f"w{i % 60}" for i in range(180)], dtype="str")
    codes = pd.Series([str(i % 60) for i in range(180)], dtype="str")
    _, described = run(words=words, codes=codes, y=["a", "b"] * 90)
    assert described["notes"] == [
        "column 'words' has 60 distinct among 180 values, such as 'w0': "
        "each in the training rows becomes a feature",
        "column 'codes' has 60 distinct among 180 values, such as '0': codes, used as one number",
    ]


def asked(roles, **columns):
    frame = pd.DataFrame({**columns, "y": ["a", "b"] * 3})
    return normalise.normalise(Raw(frame, "y", "set", {}, ignored={"row": "a row id"}), roles)


def test_the_study_says_how_columns_are_taken():
    frame, described = asked(
        {
            "drop": ["x"],
            "numeric": ["unclear", "dirty", "flag", "when", "row"],
            "categorical": ["zip", "price", "date"],
            "date": ["day", "odd"],
        },
        x=range(6),
        unclear=["1,234", "5"] * 3,
        dirty=["1,5", "2", "call us"] * 2,
        flag=[True, False] * 3,
        when=[datetime.datetime(1970, 1, 2, 12), None] * 3,
        row=range(6),
        zip=[10115, 80331] * 3,
        price=["1.5", "2.5"] * 3,
        date=["2020-01-01"] * 3 + ["2020-01-02"] * 3,
        day=[20201231, None] * 3,
        odd=["2020-12-31", "2020-12-31", "?-1"] * 2,
    )
    assert frame["when"].tolist()[0] == 1.5
    assert described["columns"] == {
        **dict.fromkeys(("unclear", "dirty", "flag", "when", "row"), "numeric"),
        **dict.fromkeys(("zip", "price", "date"), "categorical"),
        **dict.fromkeys(("day", "odd"), "date"),
    }
    assert described["asked"]["zip"] == "categorical"
    assert described["left_out"] == {"x": "the study drops it"}
    assert frame["unclear"].tolist()[:2] == [1234, 5]
    assert frame["dirty"].tolist()[:2] == [1.5, 2]
    assert frame["dirty"].isna().sum() == 2
    assert frame["flag"].tolist()[:2] == [1, 0]
    assert frame["zip"].tolist()[:2] == ["10115", "80331"]
    assert frame["day"].tolist()[0] == frame["odd"].tolist()[0] == pd.Timestamp("2020-12-31")
    assert frame["odd"].isna().sum() == 2
    dirty = "column 'dirty' is text such as '1,5': read as numbers with decimal commas; "
    assert f"{dirty}2 values treated as missing: 'call us' (2)" in described["notes"]


@pytest.mark.parametrize(
    ("roles", "values", "message"),
    [
        ({"drop": ["z"]}, range(6), "columns.drop: there is no column 'z'; known: x"),
        (
            {"drop": ["y"]},
            range(6),
            "columns.drop: 'y' is the target; name another column",
        ),
        ({"drop": ["x"]}, range(6), "no column beside the target 'y' is left"),
        ({"numeric": ["x"]}, list("abcdef"), "column 'x' cannot be read as 'numeric'; its values"),
        ({"date": ["x"]}, list("abcdef"), "cannot be read as 'date'; .*'a'; dates are written as"),
        ({"date": ["x"]}, range(6), "column 'x' cannot be read as 'date': dates are written as"),
        ({"date": ["x"]}, [True] * 6, "column 'x' cannot be read as 'date': dates are written"),
        ({"numeric": ["x"]}, pd.Series([None] * 6, dtype="str"), "cannot be read as 'numeric'"),
    ],
)
def test_roles_that_do_not_fit_get_one_line(roles, values, message):
    with pytest.raises(UserError, match=message) as caught:
        asked(roles, x=values)
    assert "\n" not in str(caught.value)


def test_constant_and_empty_columns_are_kept_with_a_word():
    frame, described = run(x=range(6), one=[1] * 6, none=[None] * 6, nan=[np.nan] * 6)
    assert list(frame) == ["x", "one", "none", "nan", "y"]
    assert described["columns"]["none"] == "numeric"
    assert described["notes"] == [
        "column 'one' has a single value; the base preparation drops it",
        "column 'none' has no value; the base preparation drops it",
        "column 'nan' has no value; the base preparation drops it",
    ]


def test_rows_without_a_label_are_left_out_with_a_word():
    frame, described = run(x=range(8), y=[*Y, None, np.nan])
    assert frame["x"].tolist() == list(range(6))
    assert described["rows"] == 6
    assert described["notes"] == ["2 rows without a value of the target 'y' left out"]


@pytest.mark.parametrize(
    ("labels", "classes", "read"),
    [
        ([2, 10] * 3, {"10": 3, "2": 3}, "numbers"),
        ([2.0, 10.0] * 3, {"10": 3, "2": 3}, "numbers"),
        (pd.array([2, 10] * 3, dtype="Int64"), {"10": 3, "2": 3}, "numbers"),
        ([0.5, 1.5] * 3, {"0.5": 3, "1.5": 3}, None),
        ([0, 2**53] * 3, {"0": 3, str(2**53): 3}, None),
        ([True, False] * 3, {"False": 3, "True": 3}, "booleans"),
        (pd.array([True, False] * 3, dtype="boolean"), {"False": 3, "True": 3}, "booleans"),
        (pd.Categorical(["z", "a"] * 3, categories=["z", "a", "unused"]), {"a": 3, "z": 3}, None),
        (pd.Categorical([1, 2] * 3), {"1": 3, "2": 3}, "numbers"),
        (["1", "2"] * 3, {"1": 3, "2": 3}, None),
        (pd.Categorical(["1", "2"] * 3), {"1": 3, "2": 3}, None),
        ([True, "a"] * 3, {"True": 3, "a": 3}, None),
        (["ä", "z"] * 3, {"z": 3, "ä": 3}, None),
    ],
)
def test_labels_are_text(labels, classes, read):
    """And whether they are text of integers or booleans is known."""
    frame, described = run(x=range(6), y=labels)
    assert described["classes"] == classes
    assert described["read"].get("y") == read
    assert list(described["classes"]) == sorted(classes)
    assert set(frame["y"]) == set(classes)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [], "y": []}, "data set 'set': has no rows"),
        ({"y": Y}, "no column beside the target 'y' is left$"),
        (
            {"x": [datetime.time(1)] * 6, "y": Y},
            r"the target 'y' is left \('x': time values cannot be features\)",
        ),
        ({"x": range(6), "y": ["a", "a\0"] * 3}, r"class 'a\\x00' holds a null character; remove"),
        ({"x": range(6), "y": ["a"] * 6}, "has the single class 'a'; two are needed"),
        ({"x": range(6), "y": [None] * 6}, "target 'y': has no values"),
        ({"x": range(6), "y": list("aaaabb")}, "class 'b' has 2 rows; training"),
        ({"x": range(6), "y": list("aaaabc")}, r"class 'b' has 1 row \(and 1 more such"),
        ({"x": range(60), "y": np.arange(60) / 7}, "holds 60 distinct numbers; for a regr"),
        ({"x": range(300), "y": np.arange(300)}, "holds 300 distinct numbers; for a regr"),
        ({"x": range(60), "y": [str(i / 7) for i in range(60)]}, "for a regression"),
        ({"x": range(6), "y": pd.date_range("2020", periods=6)}, "holds dates"),
        ({"x": [1j] * 6}, "column 'x' has complex numbers"),
        ({"x": [[1]] * 6}, "column 'x' has a value of type list"),
        ({"x": [b"a"] * 6}, "column 'x' has a value of type bytes"),
    ],
)
def test_what_cannot_be_used_is_rejected_with_a_line(columns, message):
    with pytest.raises(UserError, match=message) as caught:
        run(**columns)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("target", [[3.5, 1, 2, 2, -1, 0], ["3.5", "1", "2", "2", "-1", "0"]])
def test_a_regression_has_numbers(target):
    raw = Raw(pd.DataFrame({"x": range(7), "y": [*target, None]}), "y", "set", {"sklearn": "set"})
    frame, described = normalise.normalise(raw, task="regression")
    assert frame["y"].dtype == "float64"
    assert frame["y"].tolist() == [3.5, 1, 2, 2, -1, 0]
    assert described["classes"] == {}
    assert described["notes"] == ["1 row without a value of the target 'y' left out"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([1, 2, 3, np.inf], "target 'y': holds 'inf' in row 4; a regression needs finite numbers"),
        (
            ["1", "2", "three", "4"],
            "target 'y': holds 'three' in row 3; a regression needs finite numbers",
        ),
        ([2.5] * 4, "target 'y': has the single value 2.5 in double precision; two are needed"),
        ([None] * 4, "target 'y': has no values"),
        ([True, False] * 2, "target 'y': holds boolean values; a regression needs numbers"),
        ([True, False, None] * 2, "target 'y': holds boolean values; a regression needs numbers"),
        (["1", None, None, "2", "abc"], "target 'y': holds 'abc' in row 5; a regression needs"),
        (pd.date_range("2020-01-01", periods=4), "values; a regression needs numbers"),
    ],
)
def test_a_target_that_is_no_regression(target, message):
    raw = Raw(pd.DataFrame({"x": range(len(target)), "y": target}), "y", "set", {"sklearn": "set"})
    with pytest.raises(UserError, match=message):
        normalise.normalise(raw, task="regression")


def chosen(classes, target, positive=None):
    raw = Raw(pd.DataFrame({"x": range(len(target)), "y": target}), "y", "set", {"sklearn": "set"})
    return normalise.normalise(raw, classes=classes, positive=positive)


@pytest.mark.parametrize("kind", [str, int, float])
def test_classes_are_chosen_and_merged(kind):
    target = [kind(i % 5) for i in range(20)]
    frame, described = chosen(["0", [2, "1"]], target)  # integers have no decimal point
    assert described["classes"] == {"0": 4, "2+1": 8}
    assert frame["x"].tolist() == [i for i in range(20) if i % 5 < 3]
    assert frame["y"].tolist() == ["0" if i % 5 == 0 else "2+1" for i in range(20) if i % 5 < 3]
    said = "8 rows left out because of the class: '3' (4), '4' (4)"
    assert said in described["notes"]
    assert "y" not in described["read"]
    assert chosen([0, 1, 2, 3, 4], target)[0]["y"].tolist() == [str(i % 5) for i in range(20)]


@pytest.mark.parametrize("form", ["{}", "{}.25", "0{}"])
@pytest.mark.parametrize("ends", ["Sum,\n", "Sum,\n" * 90, "Sum,sum\n"])
def test_words_in_rows_that_are_left_out_change_no_column(tmp_path, ends, form):
    """Sums and remarks below a table have no label."""
    rows = "x,y\n" + "".join(f"{form.format(i * 7)},{'ab'[i % 2]}\n" for i in range(20, 80))
    (tmp_path / "with.csv").write_text(rows + ends)
    (tmp_path / "without.csv").write_text(rows)
    chosen = ["a", "b"] if "sum" in ends else None
    whole, _ = normalise.normalise(sources.from_file(str(tmp_path / "without.csv"), "y"))
    raw = sources.from_file(str(tmp_path / "with.csv"), "y")
    pd.testing.assert_frame_equal(normalise.normalise(raw, classes=chosen)[0], whole)


def test_a_class_that_is_not_there():
    with pytest.raises(UserError, match=r"classes: .* has no class 'c'; known: a, b"):
        chosen(["b", ["a", "c"]], list("ab") * 5)


def test_a_positive_class_is_one_of_two():
    target = list("abc") * 5
    assert chosen([["a", "b"], "c"], target, "a+b")[1]["positive"] == "a+b"
    assert chosen(None, [0, 1] * 5, 0)[1]["positive"] == "0"
    assert "positive" not in chosen(None, [0, 1] * 5)[1]
    with pytest.raises(UserError, match=r"positive: .* has no class 'd'; known: a, b"):
        chosen(["a", "b"], target, "d")
    said = r"positive: .* has 3 classes, 'a', 'b', 'c'; only a target of two classes has a "
    said += "positive one$"
    with pytest.raises(UserError, match=said):
        chosen(None, target, "a")
    said = (
        r"positive: .* has 4 classes, 'no', 'no ', 'yes' and 1 other; .*; "
        "'no' and 'no ' differ only in blanks, case or Unicode form: write them the same way"
    )
    with pytest.raises(UserError, match=said):
        chosen(None, ["no", "no ", "yes", "yes "] * 5, "yes")


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
    columns = {"größe": [1.5, None] * 3, "b": [True, None] * 3, "c": [None, "x"] * 3}
    frame, described = run(**columns, d=["2020-01-01", None] * 3)
    normalise.write(frame, described, tmp_path / "new" / "folder")
    again = pd.read_parquet(tmp_path / "new" / "folder" / "dataset.parquet")
    pd.testing.assert_frame_equal(again, frame)
    text = (tmp_path / "new" / "folder" / "dataset.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"format": 2, **described}
    assert normalise.checksum(again, described["columns"]) == described["checksum"]
    stored = normalise.Stored(tmp_path / "new" / "folder" / "dataset.parquet")
    for name in frame:
        same = stored[name].astype(frame[name].dtype)  # booleans come as objects
        pd.testing.assert_series_equal(same, frame[name])


def test_numbers_that_single_precision_cannot_hold_are_missing():
    """In new rows, too; trees reject them."""
    x = [1.0, 1e300, 2.0, -1.7976931348623157e308, 3.0, np.inf] * 2
    raw = Raw(pd.DataFrame({"x": x, "y": list("aabb" * 3)}), "y", "set", {"sklearn": "set"})
    frame, described = normalise.normalise(raw)
    assert frame["x"].isna().tolist() == [False, True, False, True, False, True] * 2
    assert described["notes"] == ["column 'x': 6 values beyond 3.4e+38 treated as missing"]


@pytest.mark.parametrize("word", ["unknown", "-", "not available"])
@pytest.mark.parametrize("share", [0.6, 0.95])
def test_numbers_among_more_placeholders(word, share):
    """However many there are: the words say that values are missing."""
    numbers, missing = [f"{i}.5" for i in range(20)], round(20 * share / (1 - share))
    words = numbers + [word] * missing
    frame, described = run(x=words, y=["a", "b"] * (len(words) // 2))
    assert described["columns"] == {"x": "numeric"}
    assert frame["x"].dropna().tolist() == [i + 0.5 for i in range(20)]
    assert f"{missing} values treated as missing: '{word}' ({missing})" in described["notes"][0]


def test_a_target_of_integers_that_lose_digits_is_said():
    target = [str(2**53 + i) for i in range(12)]
    raw = Raw(pd.DataFrame({"x": range(12), "y": target}), "y", "t", {})
    _, described = normalise.normalise(raw, task="regression")
    assert described["notes"][0] == (
        f"the target 'y' has 6 integers beyond 2^53, which lose digits as numbers ({2**53 + 1} "
        f"becomes {2**53})"
    )


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("1", "1.0", "are the same number"),
        ("01", "1", "are the same number"),
        ("1", "1e0", "are the same number"),
        ("-0", "0", "are the same number"),
        ("a", "a\u200b", "differ only in blanks, case or Unicode form"),
        ("12345678901234567890123456789012", "12345678901234567890123456789013", None),
        ("1,0", "1.0", None),
        ("1_0", "10", None),
    ],
)
def test_classes_that_are_the_same_number_are_noted(one, other, how):
    _, described = run(y=[one, other, "2"] * 4, x=np.arange(12) % 5)
    assert len(described["classes"]) == 3
    found = [note for note in described["notes"] if note.startswith("classes ")]
    said = f"classes '{one}' and '{other}' of the target {how}; if they mean the same, write them "
    said += "the same way"
    assert found == ([said] if how else [])


N = 200
TWO = ["a", "b"] * (N // 2)


def notes_of(words, **columns):
    """What is said about a column."""
    _, described = run(x=words, **{"y": TWO, **columns})
    return [note for note in described["notes"] if note.startswith("column 'x' ")]


@pytest.mark.parametrize(
    "values",
    [np.arange(N) % 7 * 1e-5, pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) % 7, "s")],
)
def test_a_column_that_hardly_varies_is_said_to_be_dropped(values):
    """The base preparation drops it: a unit may be too large."""
    (note,) = notes_of(values)
    assert "is dropped by the base preparation: its variance is 1e-07 or less" in note


@pytest.mark.parametrize("two", [("yes", "no"), ("male", "female"), ("true", "false")])
def test_a_word_beside_two_categories_is_said(two):
    words = [*two] * (N // 2)
    assert not [note for note in notes_of(words) if "if it is a mistake" in note]
    words[7] = "maybe"
    assert f"'maybe' (1) beside '{min(two)}' and '{max(two)}'; if it" in notes_of(words)[-1]
    assert "if it is a mistake" not in str(notes_of([*two, "third"] * 66 + [*two]))
    rare = [two[0]] * (N - 6) + [two[1]] * 3 + ["maybe"] * 3
    assert "if it is a mistake" not in str(notes_of(rare)), "both others are as rare"


def test_a_small_category_beside_two_is_no_mistake():
    """Such as the races of the data set adult."""
    words = ["white"] * 4180 + ["black"] * 460 + ["other"] * 40
    assert notes_of(words, y=["a", "b"] * 2340) == []


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (["Yes", "No", "yes", "Yes"], "'Yes' and 'yes', which differ only in blanks, case"),
        (["a", "b", "a ", "b"], "'a' and 'a ', which differ only in blanks, case"),
        (["TRUE", "F", "T", "0"], "'0' and 'F', which both mean no"),
        (["1x", "1.0", "x", "1"], "'1' and '1.0', which are the same number"),
    ],
)
def test_categories_that_are_probably_one_are_said(words, how):
    assert how in notes_of(words * (N // 4))[0]


def test_all_categories_that_are_probably_one_are_said():
    blanks = "which differ only in blanks, case or Unicode form"
    (note,) = notes_of(["NO", "No", "Yes", "yes", "1", "1.0", "b", "c"] * (N // 8))
    assert note == (
        "column 'x' has '1' and '1.0', which are the same number; 'NO' and 'No', 'Yes' and 'yes', "
        f"{blanks}; if they mean the same, write them the same way"
    )
    (note,) = notes_of(["a", "A", "b", "B", "c", "C", "d", "D"] * (N // 8))
    assert f"'B' and 'b', 'C' and 'c', {blanks}; and 1 more such pair; if" in note


@pytest.mark.parametrize("words", ["P{}D", "PT{}M", "P1DT{}H30M"])
def test_durations_are_said_to_look_like_these(words):
    for distinct in (5, 40):
        (note,) = notes_of([words.format(i % distinct) for i in range(N)])
        assert note.endswith("they look like durations: write them as numbers in one unit")


@pytest.mark.parametrize("words", ["{} years", "{}.5 km/h", "No. {}", "Dec-{}", "{}. januari 2020"])
def test_numbers_in_the_same_words_are_said_to_look_like_these(words):
    (note,) = notes_of([words.format(i % 30) for i in range(N)])
    assert "they look like numbers or dates" in note


@pytest.mark.parametrize("words", ["Room {}", "A{}", "ward_{}", "they said item {} was good"])
def test_names_and_sentences_with_numbers_do_not_look_like_numbers(words):
    assert "look like" not in str(notes_of([words.format(i % 30) for i in range(N)]))


def test_digits_of_other_scripts_are_no_codes():
    """They would be read as one number, which is missing in all rows."""
    words = [str(i % 60).translate({48 + d: 0x660 + d for d in range(10)}) for i in range(N)]
    frame, described = run(x=words, y=TWO)
    _, _, dropped = prepare.prepare({"train": frame}, described["columns"])
    assert (
        "each in the training rows becomes a feature; they look like numbers"
        in described["notes"][0]
    )
    assert "x" not in dropped


def test_many_numbers_with_three_digits_after_commas_have_thousands():
    values = [f"{1000 + 7 * i:,}" for i in range(N)]
    frame, described = run(x=values, y=TWO)
    assert frame.x.tolist() == [1000 + 7 * i for i in range(N)]
    assert described["notes"][0].endswith(
        "may be read as numbers with commas between thousands or numbers with decimal commas: if "
        "that is wrong, write them as 1234.5"
    )


def test_declared_categories_that_look_like_numbers_are_said():
    words = pd.Series([f"{i / 4}" for i in range(N)])
    words[3] = "maybe"
    assert "stays categorical, as declared" in notes_of(words.astype("category"))[0]


@pytest.mark.parametrize("x", [[1.5, None], [True, None], ["u", None], [0, None]])
def test_values_that_are_missing_where_the_target_is_of_one_class_are_said(x):
    """Imputation hides where: a word among many empty fields is the whole column then."""
    values = [*x] * (N // 2)
    said = "has no value in 100 rows, which says much about the target 'y': if values are filled in"
    assert said in notes_of(values)[-1]
    assert "remove it with 'columns: {drop: [x]}'; if not, imputed values" in notes_of(values)[-1]
    values[:40] = [x[0]] * 40
    assert "no value in 80 rows" in notes_of(values)[-1]
    values[:120] = [x[0]] * 120
    assert "says much" not in str(notes_of(values))
    assert "says much" not in str(notes_of([*x, x[0]] * 66 + [*x]))
    assert "says much" not in str(notes_of(["NA", "u"] * (N // 2)))  # a category


def test_missing_values_that_tell_a_number_are_said():
    values, target = [1.5, None] * (N // 2), np.arange(N) % 2 * 5 + np.arange(N) / N
    _, described = normalise.normalise(
        Raw(pd.DataFrame({"x": values, "y": target}), "y", "set", {}), task="regression"
    )
    assert "column 'x' has no value in 100 rows, which says much" in str(described["notes"])
    _, described = normalise.normalise(
        Raw(pd.DataFrame({"x": values, "y": np.arange(N) / N}), "y", "set", {}), task="regression"
    )
    assert "says much" not in str(described["notes"])


def test_numbers_that_are_equal_in_single_precision_are_said():
    notes = notes_of(1.6e9 + np.arange(N) * 7 % 199 / 8)
    assert "199 distinct numbers, but 1 in single precision, which some learners use;" in notes[-1]
    assert "subtract a constant such as 1600000000" in notes[-1]
    assert not notes_of(1.6e9 + np.arange(N) * 7 % 199 * 1000)


def test_dates_beyond_the_calendar_are_missing():
    seconds = np.array([0, 10**15, -(10**15)] + [10**9] * 9).astype("datetime64[s]")
    frame, described = run(x=pd.Series(seconds), y=["a", "b"] * 6)
    assert frame["x"].isna().tolist() == [False, True, True] + [False] * 9
    assert "column 'x' has 2 invalid dates, treated as missing" in described["notes"]


@pytest.mark.parametrize("space", " \u00a0\u202f")
def test_any_space_is_before_a_unit(space):
    frame, _ = run(x=[f"{i}.5{space}%" for i in range(50)], y=["a", "b"] * 25)
    assert frame["x"].tolist() == [i + 0.5 for i in range(50)]


@pytest.mark.parametrize("word", ["\u00a0", "unknown"])
def test_a_class_that_may_be_a_missing_label_is_said(word):
    _, described = run(x=range(12), y=["a", "b", word] * 4)
    assert any(note.startswith(f"'{word}' is a class of the target") for note in described["notes"])


def test_a_date_of_eight_digits_that_there_is_not_is_missing():
    frame, described = asked(
        {"date": ["x"]}, x=[20200101, 20200102, 20201345, 20200104, 7, 20200106]
    )
    assert frame["x"].isna().sum() == 2
    assert "2 values treated as missing: '20201345' (1), '7' (1)" in described["notes"][0]


@pytest.mark.parametrize("far", [2**53, -(2**53), 2**63 - 1])
def test_fold_numbers_that_doubles_would_merge_are_named(far):
    folds = pd.DataFrame({"x": range(6), "f": [far, far - 1 if far > 0 else far + 1] * 3, "y": Y})
    raw = Raw(folds, "y", "set", {"sklearn": "set"})
    with pytest.raises(UserError, match=f"column 'f': has the fold {far}; folds are below {2**53}"):
        normalise.normalise(raw, {"fold": ["f"]})
    folds["f"] = [2**53 - 1, 2**53 - 2] * 3
    frame, _ = normalise.normalise(raw, {"fold": ["f"]})
    assert frame["f"].nunique() == 2


def test_digits_of_times_that_are_not_kept_are_said():
    day = datetime.datetime(2020, 12, 31)
    mixed = pd.DataFrame({"x": range(6), "t": pd.Series([day, day.date()] * 3, dtype=object)})
    raw = Raw(mixed.assign(y=Y), "y", "set", {"sklearn": "set"})
    notes = normalise.normalise(raw, {"categorical": ["t"]})[1]["notes"]
    assert not any("fractions" in note for note in notes)
    fine = pd.Series(np.datetime64("2020-12-31T12:00:00", "ns") + np.arange(6))
    said = "has 5 times with nanoseconds, of which only the microseconds are kept"
    for given in (fine, fine.astype(object), fine.astype(str)):
        assert f"column 't' {said}" in run(t=given)[1]["notes"]
    whole = fine.astype("datetime64[us]")
    assert not any("kept" in note for note in run(t=whole)[1]["notes"])
    raw = Raw(pd.DataFrame({"x": range(6), "t": fine, "y": Y}), "y", "set", {"sklearn": "set"})
    notes = normalise.normalise(raw, {"categorical": ["t"]})[1]["notes"]
    said = "column 't' has 6 distinct times, but 1 without fractions of a second, which are"
    assert any(note.startswith(said) for note in notes)
    notes = normalise.normalise(raw, {"group": ["t"]})[1]["notes"]
    assert any(note.startswith(said) for note in notes)
