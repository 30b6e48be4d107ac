"""Readings of text: possible interpretations as numbers with separators, or as dates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_SPACES = " \u00a0\u2009\u202f"  # plain, no-break, thin, narrow no-break
_EXPONENT = r"(?:[eE][+-]?\d+)?"


def _number(thousands: str, decimal: str) -> re.Pattern:
    """Match a number; groups of thousands are optional, but have three digits each."""
    # A leading group cannot start with 0: "0,123" has a decimal comma.
    grouped = rf"[1-9]\d{{0,2}}(?:[{thousands}]\d{{3}})+" if thousands else r"\d+"
    fraction = rf"[{decimal}]\d*"
    return re.compile(rf"[+\-−]?(?:(?:{grouped}|\d+)(?:{fraction})?|[{decimal}]\d+){_EXPONENT}")


#: Thousands separator and decimal separator by the name of the style. If a text fits several, they
#: agree except for commas.
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
_NUMBERS = {style: (_number(*separators), *separators) for style, separators in STYLES.items()}

_TIME = r"(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?"
_OFFSET = re.compile(r":\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}(?::?\d{2})?)$", re.ASCII)
_ISO = re.compile(rf"(\d{{4}})([-/])(\d{{2}})\2(\d{{2}})({_TIME})", re.ASCII)
_OTHER = re.compile(rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}})({_TIME})", re.ASCII)
ISO, DAY_FIRST, MONTH_FIRST = "ISO dates", "dates with the day first", "dates with the month first"


@dataclass(frozen=True)
class Reading:
    """One interpretation of words.

    Attributes
    ----------
    style
        Its name in messages.
    values
        float64 or datetime64[us] by word; NaN or NaT for words that do not fit.
    fits
        bool by word: whether it fits.
    share
        Share of the values (words weighted by frequency) that fit.
    """

    style: str
    values: np.ndarray
    fits: np.ndarray
    share: float


def numbers(words: Sequence[str], weights: np.ndarray) -> list[Reading]:
    """Parse words as numbers, in every style that fits the largest share.

    Parameters
    ----------
    words
        Different texts.
    weights
        How often each occurs.

    Returns
    -------
    readings
        Those with the largest share, each with different values; empty if nothing fits. Plain
        numbers with decimal points are never ambiguous.
    """
    found = []
    stripped = [word.strip() for word in words]
    for style, (pattern, thousands, decimal) in _NUMBERS.items():
        table = str.maketrans({**dict.fromkeys(thousands), decimal: ".", "−": "-"})
        values = [float(w.translate(table)) if pattern.fullmatch(w) else None for w in stripped]
        fits = np.array([value is not None for value in values], dtype=bool)
        found.append(_reading(style, np.array(values, dtype="float64"), fits, weights))
        if style == PLAIN and fits.all():
            break
    return _best(found)


def dates(words: Sequence[str], weights: np.ndarray) -> list[Reading]:
    """Parse words as dates or dates with times, in every order that fits the largest share.

    2020-12-31 (or with slashes), 31.12.2020, 31/12/2020, 12/31/2020 and the same with hyphens;
    times after a space or T, such as 13:45 or 13:45:10.5, with or without Z or +01:00. Times with
    an offset become UTC.

    Parameters and result are as those of :func:`numbers`.
    """
    found = [_dates(ISO, _ISO, words, weights, (1, 3, 4)),
             _dates(DAY_FIRST, _OTHER, words, weights, (4, 3, 1)),
             _dates(MONTH_FIRST, _OTHER, words, weights, (4, 1, 3))]  # fmt: skip
    return _best(found)


def _dates(style, pattern, words, weights, order) -> Reading:
    import pandas as pd

    iso, offsets = [], set()
    for word in words:
        match = pattern.fullmatch(word.strip())
        if not match or (style == MONTH_FIRST and match[2] == "."):
            iso.append(None)
            continue
        offsets.add(bool(_OFFSET.search(match[5])))
        year, month, day = (match[group].zfill(2) for group in order)
        iso.append(f"{year}-{month}-{day}{match[5]}")
    if len(offsets) > 1:
        style += ", those without an offset as UTC"
    if not any(iso):
        read = np.full(len(iso), "NaT", dtype="datetime64[us]")
    else:
        read = pd.to_datetime(pd.Series(iso, dtype=object), format="ISO8601", errors="coerce",
                              utc=True).dt.tz_localize(None).to_numpy("datetime64[us]")  # fmt: skip
    return _reading(style, read, ~np.isnat(read), weights)


def _reading(style: str, values: np.ndarray, fits: np.ndarray, weights: np.ndarray) -> Reading:
    return Reading(style, values, fits, float(weights[fits].sum() / max(1, weights.sum())))


def _best(found: list[Reading]) -> list[Reading]:
    """Keep the readings with the largest share; of those with the same values, the first."""
    most = max(reading.share for reading in found)
    best: list[Reading] = []
    for reading in found:
        if reading.share < most or not reading.fits.any():
            continue
        if not any(np.array_equal(reading.values, r.values, equal_nan=True) for r in best):
            best.append(reading)
    return best
