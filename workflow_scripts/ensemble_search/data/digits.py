"""Texts and numbers that double precision does not hold as they are written."""

import decimal
import math
import numbers
import re
from typing import TYPE_CHECKING

from ensemble_search.runtime.names import NONE

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 17  # enough to distinguish floats
EXACT = 2**53  # floats hold integers exactly up to this one
INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
FRACTION = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)
VERSION = re.compile(r"\d+\.\d+", re.ASCII)
#: A number that may be too close to 0 for a float.
TINY = re.compile(r"[+-]?(?:\d*\.0{200}\d*|(?:\d+\.?\d*|\.\d+)[eE]-\d+)", re.ASCII)
#: A plain number that may be an integer with a point between thousands: 1.200.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)


def number(text: str) -> float | int:
    """Parse a number as a float, or as an integer if no float holds it exactly; else ValueError."""
    if "_" in text:  # valid in Python only
        raise ValueError(text)
    found = float(text)
    if abs(found) >= EXACT and found != float("inf") != -found and INTEGER.fullmatch(text):
        return found if int(text) == found else int(text)
    return found


def rounds(text: str) -> bool:
    """Whether a fraction with over 17 digits and a decimal point loses digits as a float.

    Digits that a float itself has, such as the 19 of ``%.18e``, do not count as lost. Also true if
    the number :func:`vanishes`.
    """
    if vanishes(text):
        return True
    if len(text) <= DIGITS or not FRACTION.fullmatch(text):
        return False
    found = float(text)
    if not found or math.isinf(found):
        return False
    exact = decimal.Decimal(text)
    digits = len(bytes(exact.as_tuple().digits).rstrip(b"\0"))
    return digits > DIGITS and decimal.Decimal(f"{found:.{digits - 1}e}") != exact


def vanishes(text: str) -> bool:
    """Whether a number other than 0 is so close to 0 that it becomes 0 as a float."""
    if not TINY.fullmatch(text) or float(text):
        return False
    return re.search("[1-9]", re.split("[eE]", text)[0]) is not None


def exact(column: "pd.Series") -> "pd.Series":
    """Convert text to numbers, with exact integers; return it unchanged if any is not a number."""
    import pandas as pd

    words = column.where(column != NONE)
    try:
        made = [None if pd.isna(word) else number(word) for word in words]
    except ValueError:
        return column
    return pd.Series(made, index=column.index, dtype=object)


def losses(values: "pd.Series", rounded: tuple[int, str] | None, apart: str = "") -> list[str]:
    """Describe numbers that lose digits in double precision.

    ``values`` are numbers or text as in their source, ``rounded`` as in ``sources.Raw``; ``apart``
    is added to what is said of integers.
    """
    said = []
    if lost := inexact(values):
        said.append(
            f"has {len(lost)} integers beyond 2^53, which lose digits as numbers ({lost[0]} "
            f"becomes {float(lost[0]):.0f}){apart}"
        )
    if rounded is None and _is_plain(values):
        words = (str(v).strip() for v in values.dropna() if isinstance(v, (str, decimal.Decimal)))
        if found := [word for word in words if rounds(word.replace(",", "."))]:
            rounded = len(found), found[0]
    if rounded:
        said.append(
            f"has {rounded[0]} fractions with too many digits or too close to 0, which lose "
            f"digits as numbers ({rounded[1]} becomes {float(rounded[1].replace(',', '.'))!r})"
        )
    return said


def _is_plain(values: "pd.Series") -> bool:
    """Whether values are text or any objects, but no categories."""
    import pandas as pd

    return pd.api.types.is_string_dtype(values.dtype) or values.dtype == object


def inexact(values: "pd.Series") -> list[int]:
    """List the integers, including text, that double precision does not hold exactly."""
    import pandas as pd

    from ensemble_search.data.cells import LARGEST  # which needs NumPy

    if pd.api.types.is_integer_dtype(values.dtype):
        values = values[(values > EXACT) | (values < -EXACT)]
    elif not _is_plain(values):
        return []
    found = []
    for value in values.dropna():
        whole = 0
        if isinstance(value, str):
            digits = value.strip().lstrip("+-")
            if 16 <= len(digits) <= 39 and digits.isascii() and digits.isdecimal():
                whole = int(digits)
        elif isinstance(value, numbers.Integral) or (
            isinstance(value, decimal.Decimal) and value.is_finite() and value == int(value)
        ):
            whole = int(value)
        if EXACT < abs(whole) <= LARGEST and int(float(whole)) != whole:
            found.append(whole)
    return found


def like_versions(words: set[str], lone: bool = True) -> str | None:
    """Describe words that may be versions, not fractions: 1.10, beside 1.1, or (``lone``) 1.9."""
    ending = [word for word in sorted(words) if word[-1] == "0" and word[-2:] != ".0"]
    for word in ending:
        if word[:-1] in words:
            return f"'{word[:-1]}' and '{word}', which are the same number"
    if not (lone and all(map(VERSION.fullmatch, words))):
        return None
    # Numbers with trailing zeros have the same number of digits.
    fewest = min((len(word) - word.index(".") for word in words), default=0)
    for word in ending:
        if len(word) - word.index(".") > fewest:
            return f"'{word}', which is the number {word.rstrip('0')}, beside shorter ones"
    return None


def like_thousands(largest: float, word: str) -> str | None:
    """Describe plain numbers that may have points between thousands: 1.200 beside 950.

    Fractions, such as ``word``, and integers occur, and all fractions match :data:`THOUSANDS`. If
    the ``largest`` absolute number is below 100, they are more probably fractions.
    """
    if not 100 <= largest < 1000:
        return None
    return (
        f"has {word}, read as a fraction, beside integers below 1000: if points separate "
        f"thousands, write {word.replace('.', '')}"
    )
