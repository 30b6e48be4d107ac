"""Numbers with currencies, dates with names of months, and blanks: read, or said to be unread."""

import decimal

import numpy as np
import pandas as pd
import pytest

from ensemble_search.data import column_notes, digits, kinds, readings
from ensemble_search.data.cells import is_missing
from ensemble_search.data.preparation import Preparation
from ensemble_search.runtime.errors import UserError


def read(words, role=None):
    """Kind, values, notes and how the values are read, of a column of text."""
    notes = []
    column = kinds.Column("x", pd.Series(words), role, "x", notes)
    kind, values = column.typed()
    column_notes.look_at(column, kind, values)
    return kind, values, " ".join(notes), column.read


@pytest.mark.parametrize(
    "form", ["EUR {}", "Rs. {}", "R$ {}", "{} kr.", "{} zł", "-R$ {}", "{} USD", "US${}"]
)
def test_currencies_stand_on_either_side(form):
    words = [form.format(f"{i}.25") for i in range(1, 60)]
    kind, values, notes, style = read([*words, "on request"])
    sign = -1 if form[0] == "-" else 1
    assert kind == "numeric" and values[:59].tolist() == [sign * (i + 0.25) for i in range(1, 60)]
    assert np.isnan(values[59]) and "'on request'" in notes
    assert readings.is_style(style) and readings.number(words[6], style) == sign * 7.25


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("13 Jan 2020", "2020-01-13"),
        ("3-September-2020", "2020-09-03"),
        ("Jan 13, 2020", "2020-01-13"),
        ("Sept. 3 2020 13:45", "2020-09-03T13:45"),
        ("January 13, 2020 1:45 PM", "2020-01-13T13:45"),
        ("13 Jan 2020 12:05 a.m.", "2020-01-13T00:05"),
        ("31. Dezember 2020", "2020-12-31"),
        ("3. März 2020 13:45", "2020-03-03T13:45"),
        ("03.-Mai-2020", "2020-05-03"),
        ("1 Okt. 2020", "2020-10-01"),
        ("7. Mrz 2020", "2020-03-07"),
        ("7. Mär. 2020", "2020-03-07"),
        ("1. JÄNNER 2020", "2020-01-01"),
        ("1. Jänner 2020", "2020-01-01"),
        ("31 Feb 2020", "NaT"),
        ("13 Janx 2020", "NaT"),
        ("13 Jan 2020 13:45 PM", "NaT"),
    ],
)
def test_dates_with_names_of_months(text, date):
    assert np.array_equal(
        [readings.date(text, readings.NAMED)], [np.datetime64(date, "us")], equal_nan=True
    )


def test_columns_of_such_dates_are_dates_here_and_in_a_delivered_folder():
    days = pd.date_range("2020-01-13", periods=60)
    kind, values, _, style = read([*days.strftime("%d %b %Y"), "soon"])
    assert kind == "date" and (values[:60] == days).all() and pd.isna(values[60])
    column = {"name": "x", "kind": "date", "fills": {"x.days": 0.0}, "read": style}
    Preparation.from_json({"columns": [column], "names": ["x"]})
    kind, values, _, _ = read(days.strftime("%m/%d/%Y 01:30 PM"))
    assert kind == "date" and (values == days + pd.Timedelta("13:30:00")).all()


def test_months_are_dates_here_and_in_a_delivered_folder():
    months = pd.date_range("2015-01-01", periods=60, freq="MS")
    kind, values, notes, style = read([*months.strftime("%Y-%m"), "unknown"])
    assert kind == "date" and (values[:60] == months).all() and pd.isna(values[60])
    assert "is text such as '2015-01': read as months (their first days); 1 value" in notes
    column = {"name": "x", "kind": "date", "fills": {"x.month": 0.0}, "read": style}
    again = Preparation.from_json({"columns": [column], "names": ["x"]})
    assert again.transform({"x": ["2021-02", "2021-03-31", "2021-13"]})[0][:, 0].tolist() == [
        2,
        3,
        0,
    ]


@pytest.mark.parametrize("other", ["2021-13", "2021-00", "1700-01", "2021-1", "2021-01-05", "A-01"])
def test_months_beside_anything_else_are_not_dates(other):
    """As 2021-07 may be a number of an order."""
    months = pd.date_range("2015-01-01", periods=60, freq="MS")
    assert read([*months.strftime("%Y-%m"), other])[0] == "categorical"


def test_months_are_dates_beside_other_words_if_the_study_says_so():
    months = pd.date_range("2015-01-01", periods=60, freq="MS")
    column = pd.Series([*months.strftime("%Y-%m"), "A-01"], dtype="str")
    notes: list[str] = []
    kind, values = kinds.Column("x", column, "date", "column 'x'", notes).typed()
    assert kind == "date" and (values[:60] == months).all() and pd.isna(values[60])
    assert "1 value treated as missing: 'A-01'" in notes[0]
    column[:40] = "A-01"
    with pytest.raises(UserError, match="column 'x' cannot be read as 'date'"):
        kinds.Column("x", column, "date", "column 'x'", notes).typed()


def test_years_of_two_digits_that_may_come_first_are_said():
    days = pd.date_range("2015-01-01", periods=60)
    kind, values, notes, _ = read(days.strftime("%y-%m-%d"))
    assert kind == "date" and str(values[0])[:10] == "2001-01-15"
    assert "; the years may come first: if so, write them as 2020-12-31" in notes
    for form in ("%d-%m-%y", "%d-%m-%Y", "%Y-%m-%d"):
        kind, values, notes, _ = read(days.strftime(form))
        assert kind == "date" and (values == days).all() and "years may" not in notes


def test_hours_of_one_digit():
    """Spreadsheets write 1/31/2020 9:05."""
    times = pd.date_range("2020-01-20 00:05", periods=60, freq="h")
    for day in ("%m/%d/%Y", "%Y-%m-%d"):
        words = [f"{time.strftime(day)} {time.hour}:{time.minute:02d}" for time in times]
        kind, values, _, _ = read(words)
        assert kind == "date" and (values == times).all()


@pytest.mark.parametrize("form", ['="{}"', "'{}", "{}D+03", "ABC {}", "{}:30"])
def test_what_looks_like_numbers_and_is_not_read_is_said(form):
    kind, _, notes, _ = read([form.format(f"{i}.25") for i in range(10, 60)])
    assert kind == "categorical" and "they look like numbers or dates" in notes


def test_names_and_codes_do_not_look_like_numbers():
    for words in (["Anna", "Bo"] * 30, *([form.format(i) for i in range(1000, 1060)]
                  for form in ("street {}", "w{}", "{:05d}"))):  # fmt: skip
        assert "looks like" not in read(words)[2]
    assert "looks like" not in read([f"{i}:30" for i in range(60)], "categorical")[2]
    notes = read([f"1,{i}" for i in range(100, 106)] * 10)[2]
    assert "stays" in notes and "looks like" not in notes


@pytest.mark.parametrize("blank", ["\t", "\u200b", "\ufeff", "\u200b \t"])
def test_blanks_are_missing_in_categories_and_noted(blank):
    kind, values, notes, _ = read(["a", "b", blank] * 20)
    assert kind == "categorical" and set(values.dropna()) == {"a", "b"}
    assert values.isna().sum() == 20 and "20 values treated as missing" in notes
    assert is_missing(blank)


def test_long_decimals_are_looked_at():
    values = pd.Series([decimal.Decimal(10) ** 50 + i for i in range(20)])
    assert digits.inexact(values) == []
    assert digits.inexact(pd.Series([decimal.Decimal(2**60 + 1)])) == [2**60 + 1]


@pytest.mark.parametrize(
    ("form", "first"),
    [
        (lambda v: f"{abs(v):.2f}".replace(".", ",") + "-" * (v < 0), -31.25),
        (lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}", -31.25),
        (lambda v: f"(${-v:,.2f})" if v < 0 else f"${v:,.2f}", -31.25),
        (lambda v: f"{abs(v):.2f}{'-' * (v < 0)} EUR", -31.25),
        (lambda v: f"{v:.2f}".replace("-", "\N{EN DASH}"), -31.25),
        (lambda v: f"{v:.2f}".replace("-", "\N{MINUS SIGN}"), -31.25),
        (lambda v: f"{v + 40:.0f},34,567.50", 934567.5),
    ],
)
def test_other_forms_of_numbers_are_read_here_and_in_a_delivered_folder(form, first):
    given = [form(i * 1.25 - 31.25 + (i > 24)) for i in range(50)]
    kind, values, _, style = read(given)
    assert kind == "numeric" and values[0] == first and not values.isna().any()
    assert values.nunique() == len({*given})
    column = {"name": "x", "kind": "numeric", "fills": {"x": 0.0}, "read": style}
    again = Preparation.from_json({"columns": [column], "names": ["x"]})
    assert again.transform({"x": given})[0][:, 0].tolist() == values.tolist()


@pytest.mark.parametrize("words", [["1", "1-", "2", "2-", "3", "3-"], ["(1)", "(2)", "(3)"]])
def test_grades_and_notes_are_no_negative_numbers(words):
    assert read(words * 10)[0] == "categorical"


@pytest.mark.parametrize(
    "word", ["#NV", "#BEZUG!", "#WERT!", "#NOM?", "#N/D", "#¡VALOR!", "#DIV/0!", "#Н/Д", "#REF!"]
)
def test_errors_of_spreadsheets_are_missing_among_numbers(word):
    kind, values, notes, _ = read([word if i % 6 == 0 else f"{i / 8}" for i in range(60)])
    assert kind == "numeric" and values.isna().sum() == 10
    assert f"10 values treated as missing: '{word}' (10)" in notes


def test_seconds_may_have_a_decimal_comma():
    kind, values, _, _ = read([f"2021-03-04 05:{i:02d}:07,250" for i in range(60)])
    assert kind == "date" and values[0] == pd.Timestamp("2021-03-04 05:00:07.25")


def test_no_thousands_are_separated_before_an_exponent():
    kind, values, notes, _ = read(["-", *(f"{1 + i * 0.037:.3e}" for i in range(199))])
    assert kind == "numeric" and values[28] == 1.999
    assert "1 value treated as missing: '-'" in notes


@pytest.mark.parametrize(
    ("others", "style"),
    [
        (["31.12.2020", "01.02.2021"], readings.DAY_FIRST),
        (["12/31/2020", "02/01/2021"], readings.MONTH_FIRST),
        (["31 Dec 2020", "Feb 1, 2021"], readings.NAMED),
    ],
)
def test_iso_dates_may_be_among_others(others, style):
    """As in new rows, where they are read in every column of dates."""
    words = [*others, "2021-10-10", "2021-02-30", "unknown"]
    found = readings.dates(words, np.ones(5))
    assert found[0].style == style
    assert found[0].fits.tolist() == [True, True, True, False, False]
    days = ["2020-12-31", "2021-02-01", "2021-10-10"]
    assert found[0].values[:3].astype("M8[D]").astype(str).tolist() == days
    assert readings.dates(["2020-12-31", "2021-01"], np.ones(2))[0].style == readings.ISO
