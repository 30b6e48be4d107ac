"""Interpret text as numbers with separators or units, as dates, or as booleans."""

import datetime
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_SPACES = " \u00a0\u2009\u202f"  # plain, no-break, thin, narrow no-break
#: A minus sign or an en dash may replace the hyphen-minus.
_SIGNS = "+-\N{MINUS SIGN}\N{EN DASH}"
_SIGN = rf"[{re.escape(_SIGNS)}]?"
_EXPONENT = r"(?:[eE][+-]?\d+)?"


def _number(thousands: str, decimal: str) -> re.Pattern:
    """Match a number; groups of thousands are optional, but have three digits each."""
    # A leading group cannot start with 0: "0,123" has a decimal comma.
    grouped = rf"[1-9]\d{{0,2}}(?:[{thousands}]\d{{3}})+" if thousands else r"\d+"
    if thousands == ",":  # in India, 12,34,567
        grouped += r"|[1-9]\d?(?:,\d{2})+,\d{3}"
    fraction = rf"[{decimal}]\d*"
    single = rf"(?:\d+(?:{fraction})?|[{decimal}]\d+){_EXPONENT}"  # no groups before an exponent
    return re.compile(rf"{_SIGN}(?:(?:{grouped})(?:{fraction})?|{single})")


#: Thousands separator and decimal separator by name of the style. If a text fits several styles,
#: they agree except for commas, and for points between groups of three digits.
STYLES = {
    "numbers": ("", "."),
    "numbers with commas between thousands": (",", "."),
    "numbers with spaces between thousands": (_SPACES, "."),
    "numbers with apostrophes between thousands": ("'’", "."),
    "numbers with decimal commas": ("", ","),
    "numbers with points between thousands": (".", ","),
    "numbers with spaces between thousands and decimal commas": (_SPACES, ","),
    "numbers with apostrophes between thousands and decimal commas": ("'’", ","),
}
PLAIN = "numbers"
#: A plain number in characters that float() reads, or an empty text.
_ASCII = re.compile(rf"(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+){_EXPONENT})?", re.ASCII)
#: Between a style of numbers and their unit: ``numbers in %``.
UNIT = " in "
#: Suffix of the style of bookkeepers' numbers, with or without a unit.
BOOKKEEPING = ", negative as 5.00- or (5.00)"
#: Maximum characters of such a number.
LONGEST = 40
#: Such a number. Without a separator, it may be a grade, 2-, or a note, (2).
_BOOKED = re.compile(r"(?:\((?=.*\d[^\d()]+\d).*\)|[^-+]*\d[^-+\d]+\d.*[-−]\D{0,5})", re.ASCII)
#: A currency may be on either side of a number, or missing; any other unit follows every number.
CURRENCIES = (
    *("$", "€", "£", "¥", "₹", "R$", "US$", "A$", "C$", "kr", "kr.", "zł", "Kč", "Ft", "Rs", "Rs."),
    *("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF"),
    *("CAD", "AUD", "BRL"),
)
_CURRENCY = "|".join(map(re.escape, sorted(CURRENCIES, key=len, reverse=True)))
_UNIT = rf"{_CURRENCY}|[%‰]|°?[A-Za-zµ]{{1,4}}[²³]?"
_WITH_UNIT = re.compile(
    rf"{_SIGN}(?:({_CURRENCY})[{_SPACES}]?{_SIGN}[\d.,'’{_SPACES}]*\d"
    rf"|[\d.,'’{_SPACES}]*[\d.][{_SPACES}]?({_UNIT}))"
)
_NUMBERS = {style: (_number(*separators), *separators) for style, separators in STYLES.items()}

_TWELVE = re.compile(r"(.*[T ])(\d{1,2})(:\d{2}(?::\d{2})?) ?([AaPp])\.?[Mm]\.?", re.ASCII)
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}(?::?[0-5]\d)?)?)?"
#: Digits of a time that are not kept.
NANOSECONDS = re.compile(r":\d{2}[.,]\d{6}\d*[1-9]", re.ASCII)
_OFFSET = re.compile(r":\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}(?::?\d{2})?)$", re.ASCII)
_ISO = re.compile(rf"(\d{{4}})([-/])(\d{{2}})\2(\d{{2}})({_TIME})", re.ASCII)
_OTHER = re.compile(rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}|\d{{2}})({_TIME})", re.ASCII)
_MONTH = re.compile(r"(?:1[89]|2[01])\d{2}-\d{2}", re.ASCII)
_NAMED = re.compile(
    rf"(?:(?P<day>\d{{1,2}})\.?[ -](?P<month>[A-Za-zÄä]{{3,9}})\.?|(?P<name>[A-Za-zÄä]{{3,9}})\.? "
    rf"(?P<number>\d{{1,2}}),?)[ -](?P<year>\d{{4}})(?P<time>{_TIME})",
    re.ASCII,
)
#: Numbers of months by name, English and German, and by their first three and four letters.
MONTHS = {
    name[:length]: number
    for number, names in enumerate(
        [
            *(("january", "januar", "jänner"), ("february", "februar"), ("march", "märz", "mrz")),
            *(("april",), ("may", "mai"), ("june", "juni"), ("july", "juli"), ("august",)),
            *(("september",), ("october", "oktober"), ("november",), ("december", "dezember")),
        ],
        start=1,
    )
    for name in names
    for length in (3, 4, len(name))
}
#: Two-digit years from this one on are in the 20th century, as for ``strptime``.
CENTURY = 69
ISO, DAY_FIRST, MONTH_FIRST = "ISO dates", "dates with the day first", "dates with the month first"
NAMED, MONTH = "dates with names of months", "months (their first days)"
DATES = (ISO, DAY_FIRST, MONTH_FIRST, NAMED, MONTH)
#: Pattern, and the groups of year, month and day, by style.
_DATES = {ISO: (_ISO, (1, 3, 4)), DAY_FIRST: (_OTHER, (4, 3, 1)), MONTH_FIRST: (_OTHER, (4, 1, 3))}
#: Suffix of the style of texts of which only some have an offset.
OFFSETS_AS_UTC = ", those without an offset as UTC"
_NAT = np.datetime64("NaT", "us")
#: ISO 8601 durations, such as P3D or PT1H30M.
DURATION = r"P(?=[\dT])(?:\d+(?:[.,]\d+)?[YMWD])*(?:T(?:\d+(?:[.,]\d+)?[HMS])+)?"
#: Words for a boolean that stay categories, in lower case.
ANSWERS = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1", "ja", "oui", "si", "sí"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0", "nein", "non"), False),
}
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


@dataclass(frozen=True)
class Reading:
    """One interpretation of words."""

    #: Its name in messages.
    style: str
    #: float64 or datetime64[us] by word; NaN or NaT for words that do not fit.
    values: np.ndarray
    #: bool by word: whether it fits.
    fits: np.ndarray
    #: Share of the values (words weighted by frequency) that fit.
    share: float


def number(text: str, style: str) -> float | None:
    """Parse a text as a number of a style, with or without a unit; None if it does not fit."""
    style, booked, _ = style.partition(BOOKKEEPING)
    style, _, unit = style.partition(UNIT)
    pattern, thousands, decimal = _NUMBERS[style]
    text = text.strip()
    if booked:
        text = _signed_first(text)
    if unit and unit in CURRENCIES:
        text = _without_currency(text, unit)
    elif unit:
        if not text.endswith(unit):
            return None
        text = text.removesuffix(unit).rstrip()
    if booked:
        text = _signed_first(text)  # 5.00- EUR
    if not pattern.fullmatch(text):
        return None
    minus = dict.fromkeys(_SIGNS[1:], "-")
    return float(text.translate(str.maketrans({**dict.fromkeys(thousands), decimal: ".", **minus})))


def example(style: str) -> str:
    """Write -1234.5 in a style of numbers, with its unit."""
    style, between, unit = style.removesuffix(BOOKKEEPING).partition(UNIT)
    thousands, decimal = STYLES[style]
    return f"-1{thousands[:1]}234{decimal}5{' ' * bool(between)}{unit}"


def _signed_first(text: str) -> str:
    """Rewrite 5- and (5) as -5."""
    if text[:1] == "(" and text[-1:] == ")" and text[1:2] not in _SIGNS:
        return f"-{text[1:-1].strip()}"
    if text[-1:] in ("-", "−") and text[:1] not in _SIGNS:
        return f"-{text[:-1].rstrip()}"
    return text


def plain(cells: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Parse the plain numbers of a column at once: :func:`number` takes ten times as long.

    Returns float64 of shape (n,), NaN where a cell is empty or was not parsed, and bool of shape
    (n,): which cells were parsed, those with ASCII numbers or empty text.
    """
    try:
        # For texts of these characters, float() accepts the same as the pattern of plain numbers.
        if not "".join(cells).encode("ascii").translate(None, b"0123456789.+-eE"):
            values = np.array([float(cell) if cell else math.nan for cell in cells], dtype=float)
            return values, np.ones(len(cells), dtype=bool)
    except (TypeError, ValueError):  # some cells are not text, or not numbers
        pass
    match = _ASCII.fullmatch
    read = [type(cell) is str and match(cell) is not None for cell in cells]
    found = [
        float(cell or "nan") if own else math.nan for cell, own in zip(cells, read, strict=True)
    ]
    return np.array(found, dtype=float), np.array(read, dtype=bool)


def _without_currency(text: str, unit: str) -> str:
    sign = text[:1] if text[:1] in _SIGNS and text.startswith(unit, 1) else ""
    if text.startswith(sign + unit):
        return sign + text.removeprefix(sign + unit).lstrip()
    return text.removesuffix(unit).rstrip()


def is_style(style: str) -> bool:
    """Whether this is a style of numbers, with or without a unit."""
    style, between, unit = style.removesuffix(BOOKKEEPING).partition(UNIT)
    return style in STYLES and (not between or re.fullmatch(_UNIT, unit) is not None)


def in_words(style: str) -> str:
    """Name a style: descriptions store names that leave out decimal commas."""
    points = "points between thousands"
    return style.replace(points, f"{points} and decimal commas")


def unit(words: Sequence[str], weights: np.ndarray) -> str | None:
    """Return the most frequent unit of the numbers in words; None if there is none."""
    counts: Counter[str] = Counter()
    for word, weight in zip(words, weights.tolist(), strict=True):
        if match := _WITH_UNIT.fullmatch(word.strip()):
            counts[match[1] or match[2]] += weight
    return min(counts, key=lambda unit: (-counts[unit], unit)) if counts else None


def date(text: str, style: str) -> np.datetime64:
    """Parse a text as a date of a style, datetime64[us]; NaT if it does not fit."""
    style, text = style.partition(",")[0], _of_24_hours(text.strip())
    if style == NAMED:
        style, text = ISO, _with_numbered_month(text)
    elif style == MONTH:
        style, text = ISO, f"{text}-01" if _MONTH.fullmatch(text) else ""
    pattern, order = _DATES[style]
    match = pattern.fullmatch(text)
    if not match or (style.startswith(MONTH_FIRST) and match[2] == "."):
        return _NAT
    year, month, day = (match[group].zfill(2) for group in order)
    if len(year) == 2:
        year = f"{19 if int(year) >= CENTURY else 20}{year}"
    time = re.sub(r"^[T ](\d:)", r"T0\1", match[5])
    try:  # further digits of a fraction are truncated
        made = datetime.datetime.fromisoformat(f"{year}-{month}-{day}{time}")
        offset = np.timedelta64(made.utcoffset() or 0, "us")
        return np.datetime64(made.replace(tzinfo=None), "us") - offset
    except ValueError:  # no such day or time
        return _NAT


def _of_24_hours(text: str) -> str:
    """Convert the time of a date from AM or PM to 24 hours."""
    match = _TWELVE.fullmatch(text)
    if not match or not 1 <= int(match[2]) <= 12:
        return text
    hour = int(match[2]) % 12 + 12 * (match[4] in "Pp")
    return f"{match[1]}{hour:02d}{match[3]}"


def _with_numbered_month(text: str) -> str:
    """Convert a date with a name of :data:`MONTHS` to an ISO date; return '' for other texts."""
    match = _NAMED.fullmatch(text)
    number = MONTHS.get((match["month"] or match["name"]).lower()) if match else None
    if not match or not number:
        return ""
    day = match["day"] or match["number"]
    return f"{match['year']}-{number:02d}-{day.zfill(2)}{match['time']}"


def numbers(words: Sequence[str], weights: np.ndarray) -> list[Reading]:
    """Parse words as numbers, in every style that fits the largest share.

    Besides plain numbers, numbers with the most frequent unit are tried: a currency, which some
    words may omit, or ``%`` or up to four letters after each number. ``words`` are distinct texts,
    ``weights`` how often each occurs.

    Returns the readings with the largest share, with different values; none if nothing fits. If all
    words that count are plain numbers, their points are decimal.
    """
    found = []
    own = unit(words, weights)
    styles = [*STYLES, *(f"{style}{UNIT}{own}" for style in STYLES if own)]
    # The pattern would be slow on long texts.
    booked = [
        len(word) <= LONGEST and _BOOKED.fullmatch(word.strip()) is not None for word in words
    ]
    if any(booked) and not all(booked):
        styles += [f"{style}{BOOKKEEPING}" for style in styles]
    for style in styles:
        values = [number(word, style) for word in words]
        fits = np.array([value is not None for value in values], dtype=bool)
        found.append(_reading(style, np.array(values, dtype="float64"), fits, weights))
        if style == PLAIN and found[-1].share == 1:
            break
    return _best(found)


def dates(words: Sequence[str], weights: np.ndarray, months: float = 1) -> list[Reading]:
    """Parse words as dates or dates with times, in every order that fits the largest share.

    2020-12-31 (or with slashes), 31.12.2020, 31/12/2020, 12/31/2020, the same with hyphens or with
    two-digit years (69 is 1969, 68 is 2068); 31 Dec 2020, Dec 31, 2020, 31. Dezember 2020; times
    after a space or T, such as 13:45 or 13:45:10.5, with or without Z or +01:00, or 1:45 PM. The
    first form may be among the others. Times with an offset are converted to UTC. Months of 1800 to
    2199, such as 2020-12, become their first days if they are at least the share ``months``, by
    default all: single ones may be anything.

    The other parameters and the result are as in :func:`numbers`.
    """
    found = [_dates(style, words, weights) for style in DATES]
    return _best(
        [reading for reading in found if reading.style != MONTH or reading.share >= months]
    )


def booleans(words: Sequence[str], weights: np.ndarray) -> list[Reading]:
    """Parse words as booleans (:data:`TRUTH`), with the values 1 and 0.

    Parameters and result are as in :func:`numbers`.
    """
    values = np.array([truth(word) for word in words], dtype="float64")
    return _best([_reading("booleans", values, ~np.isnan(values), weights)])


def truth(word: str) -> float | None:
    """Parse a word as a boolean, 1 or 0; None if it does not fit."""
    return TRUTH.get(word.strip().casefold())


def _dates(style: str, words: Sequence[str], weights: np.ndarray) -> Reading:
    read = np.array([date(word, style) for word in words], dtype="datetime64[us]")
    if style != MONTH:  # ISO dates among others are clear
        for i in np.flatnonzero(np.isnat(read)).tolist():
            read[i] = date(words[i], ISO)
    fits = ~np.isnat(read)
    shapes = [word.strip() for word, fit in zip(words, fits, strict=True) if fit]
    if len({bool(_OFFSET.search(shape)) for shape in shapes}) > 1:
        style += OFFSETS_AS_UTC
    return _reading(style, read, fits, weights)


def _reading(style: str, values: np.ndarray, fits: np.ndarray, weights: np.ndarray) -> Reading:
    return Reading(style, values, fits, float(weights[fits].sum() / max(1, weights.sum())))


def _best(found: list[Reading]) -> list[Reading]:
    """Keep the readings with the largest share; among those with equal values, the first."""
    most = max(reading.share for reading in found)
    best: list[Reading] = []
    for reading in found:
        if reading.share < most or not reading.fits.any():
            continue
        if not any(np.array_equal(reading.values, r.values, equal_nan=True) for r in best):
            best.append(reading)
    return best
