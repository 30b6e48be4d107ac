"""Single cells, of a file or a frame, as numbers, dates, booleans and words.

This module needs only NumPy: it is copied into delivered ensembles.
"""

import datetime
import math
import numbers
import re
from decimal import Decimal
from typing import Any

import numpy as np

from ensemble_search.data import readings
from ensemble_search.runtime.names import MISSING

#: How cells become numbers, dates or categories, beside the styles of ``readings``.
EIGHT_DIGITS = "dates of eight digits"
DAYS, FROM_NUMBERS, FROM_BOOLEANS = "days", "numbers", "booleans"
#: Words for a missing value among numbers, dates or booleans, ignoring case; so are words without
#: letters and digits. Among categories, they are categories.
PLACEHOLDERS = frozenset(
    [
        *("unknown", "unk", "missing", "none", "na", "n.a.", "n.a", "n/a", "nil", "null", "nan"),
        *("nat", "undefined", "not available", "not applicable", "no data", "blank", "(blank)"),
        *("empty", "tbd", "tba"),
    ]
)
#: A spreadsheet error, in any language: #DIV/0!, #REF!, #NV, #N/D, #¡VALOR!, Err:502
SHEET_ERROR = re.compile(
    r"#(?:div/0!?|nv|nb|getting_data|[^\W\d]/[^\W\d]|[¡¿]?[^\W\d_]+[!?])|err:\d{3}", re.IGNORECASE
)
#: Characters without width: zero-width space, joiners, word joiner, byte order mark.
INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
#: Larger numbers are treated as missing: scikit-learn's trees work in single precision and reject
#: them.
LARGEST = float(np.finfo(np.float32).max)
#: Floats hold every integer below this.
EXACT = 2**53
INTEGER = re.compile(r"[+-]?[0-9]{1,400}")


def days(dates: np.ndarray) -> np.ndarray:
    """Days since the beginning of 1970, with the time as a fraction; NaN for a missing date."""
    return (dates - np.datetime64(0, "us")) / np.timedelta64(1, "D")


def microseconds(dates: np.ndarray) -> np.ndarray:
    """Convert datetime64 to datetime64[us]; NaT if it exceeds 64 bits, where NumPy would wrap."""
    made = dates.astype("M8[us]")
    same = made.astype("M8[D]") == dates.astype("M8[D]")
    return np.where(same, made, np.datetime64("NaT", "us"))


def is_missing(cell: Any) -> bool:
    """Whether a value, or a word, means that a value is missing."""
    if cell is None or type(cell).__name__ == "NAType":
        return True
    if not isinstance(cell, str):
        return bool(cell != cell)  # noqa: PLR0124
    return cell.lstrip(" ") in MISSING or is_blank(cell)


def is_placeholder(word: str) -> bool:
    """Whether a word means that a number, date or boolean is missing."""
    return stands_for_missing(word) or not any(map(str.isalnum, word))


def stands_for_missing(word: str) -> bool:
    """Whether a word is one of :data:`PLACEHOLDERS` or a spreadsheet error, ignoring case."""
    word = word.strip().casefold()
    return word in PLACEHOLDERS or SHEET_ERROR.fullmatch(word) is not None


def is_signalling(cell: Any) -> bool:
    """Whether a value is a signalling NaN, which can be neither hashed nor compared."""
    return isinstance(cell, Decimal) and cell.is_snan()


def is_blank(text: str) -> bool:
    """Whether a text has only white space and characters without width."""
    return not text.translate(INVISIBLE).strip()


def short(text: str) -> str:
    """Quote a value for a message, truncated to 40 characters."""
    return f"'{text}'" if len(text) <= 40 else f"'{text[:39]}…'"


def truth(value: Any) -> float | None:
    """Convert a boolean to 1 or 0; None if it is not a boolean."""
    if isinstance(value, str):
        return readings.truth(value)
    return float(value) if value in (0, 1) else None


def number(value: Any, style: str | None) -> float | None:
    """Convert to a number; NaN if infinite, None if it is not a number."""
    if isinstance(value, str):
        found = readings.number(value, style or readings.PLAIN)
        infinite = found is None and value.strip().lower().lstrip("+-") in ("inf", "infinity")
        found = math.nan if infinite else found
    elif isinstance(value, np.complexfloating):  # float() would drop the imaginary part
        found = None
    else:
        try:
            if isinstance(value, (datetime.timedelta, np.timedelta64)):
                value = value / np.timedelta64(1, "s")
            found = float(value)
        except OverflowError:
            found = math.nan
        except (TypeError, ValueError):
            found = None
    return found if found is None or math.isfinite(found) else math.nan


def date(value: Any, style: str | None) -> np.datetime64 | None:
    """Convert to a date; None if it is not a date. ISO dates are read whatever the style."""
    if style == EIGHT_DIGITS and not isinstance(value, (np.datetime64, datetime.date)):
        found = number(value, None)
        if found is not None:
            value = f"{found:.0f}"
            value = f"{value[:4]}-{value[4:6]}-{value[6:]}"
    if isinstance(value, str):
        styles = readings.ISO, style if style in readings.DATES else readings.ISO
        read = [readings.date(value, own) for own in styles]
        return next((date for date in read if not np.isnat(date)), None)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    try:
        made: Any = microseconds(np.array(np.datetime64(value)))[()]
    except (TypeError, ValueError):
        return None
    return None if np.isnat(made) else made


def word(value: Any) -> str:
    """Write a category as text: integers without a decimal point, dates with a time."""
    if isinstance(value, (np.datetime64, datetime.date)):
        read = date(value, None)
        return str(value) if read is None else str(read.astype("M8[s]"))
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def written(value: Any, read: str | None) -> str | None:
    """Write a value, which is not missing, as text; None for numbers that are too large."""
    found = number(value, None) if read == FROM_NUMBERS else None
    if found is not None:
        if not abs(found) <= LARGEST:
            return None
        if isinstance(value, str) and abs(found) >= EXACT and INTEGER.fullmatch(value.strip()):
            return word(int(value))  # a float would be another number
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return word(value if whole else found)
    found = truth(value) if read == FROM_BOOLEANS else None
    if found is not None:
        return str(bool(found))
    try:
        return word(value)
    except ValueError:  # an integer with more digits than Python converts
        return None
