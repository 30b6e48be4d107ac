"""Notes on columns that surprise, or that may need another role."""

import decimal
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import cells, digits, prepare, readings
from ensemble_search.data.cells import short
from ensemble_search.data.kinds import (
    DATES_ARE,
    FEW,
    NEARLY,
    Column,
    as_missing,
    counted,
    eight_digits,
)
from ensemble_search.runtime.names import MISSING, NONE

if TYPE_CHECKING:
    import pandas as pd

# If two categories have this share of the values, others with at most FEW values are probably
# mistakes.
BINARY = 0.95
# With more categories than this, similar ones are not searched for.
MOST_ALIKE = 1000
# Further pairs of similar ones are only counted.
PAIRS = 3
# With fewer rows, distinct numbers need not be row numbers.
ROW_IDS = 10
#: Maximum number of words of a number or date with its unit, such as 12. Januar 2020.
MOST_PARTS = 4
#: Row numbers may lack some, such as those of rows without a target or of a test part.
LACKING = 1.25
UUID = r"\{?[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\}?"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII)
_MONTHS = "|".join(sorted({month[:3] for month in readings.MONTHS}))


def look_at(column: Column, kind: str, values: "pd.Series") -> None:
    """Add notes on missing values, and on columns that may need another role."""
    present = values.dropna()
    distinct = present.nunique()
    if kind == "categorical" and (present == NONE).any():
        del column.missing[NONE]
    if column.missing:
        column.note(f"has {as_missing(column.missing)}")
    if kind == "numeric":
        apart = f"; {column.remedy('categorical')} keeps them distinct"
        for said in digits.losses(column.values, column.rounded, apart):
            column.note(said)
    if distinct < 2:
        value = "a single value" if len(present) else "no value"
        column.note(f"has {value}; the base preparation drops it")
    elif not _varies(kind, present):
        column.note(
            f"is dropped by the base preparation: its variance is {prepare.MIN_VARIANCE:g} or "
            "less; write it in a smaller unit"
        )
    elif kind == "categorical":
        _look_at_categories(column, present, distinct)
    elif kind == "numeric" and 2 * (single := present.astype(np.float32).nunique()) <= distinct:
        column.note(
            f"has {distinct} distinct numbers, but {single} in single precision, which some "
            f"learners use; subtract a constant such as {present.min():.0f}"
        )
    elif kind == "numeric" and column.role is None and len(present) >= ROW_IDS:
        if distinct == len(values) and (counts := _counts_rows(present.to_numpy())):
            column.note(
                f"{counts}, like row numbers: it is kept, because the order may be "
                f"informative; if it is not, remove it with {column.remedy('drop')}"
            )
        elif eight_digits(values, NEARLY) is not None:
            column.note(
                f"has numbers such as {present.iloc[0]:.0f}, which may be dates; "
                f"{column.remedy('date')} reads them as dates"
            )


def _varies(kind: str, present: "pd.Series") -> bool:
    if kind == "date":
        return prepare.varies(cells.days(present.to_numpy("datetime64[us]")))
    return kind != "numeric" or prepare.varies(present.to_numpy("float64"))


def _look_at_categories(column: Column, present: "pd.Series", distinct: int) -> None:
    counts = present[present.isin(MISSING)].value_counts()
    use, unread = prepare.use_of(present, column.asked), _unread(column, present)
    if len(counts) and use == "text":
        column.note(f"has {as_missing(counts.to_dict())}")
    elif len(counts):
        names = counted(counts.to_dict())
        one = f"has {names} as a category" if len(counts) == 1 else f"has {names}: one category"
        missing = len(present) < len(column.values)
        column.note(f"{one}, together with missing values" if missing else one)
    if distinct <= MOST_ALIKE and (pairs := [*twins(present)]):
        column.note(f"has {_in_pairs(pairs)}; if they mean the same, write them the same way")
    elif not prepare.is_code(present) and (odd := _beside_two(present)):
        column.note(f"has {odd}; if it is a mistake, correct or clear it")
    among = f"{distinct} distinct among {len(present)} values, such as {short(present.iloc[0])}"
    if use is None:
        use = "uuids" if present.str.fullmatch(UUID).all() else "names"
    if use != "categorical" or unread or distinct > prepare.MAX_CODES:
        column.note(f"has {among}: {prepare.USES[use]}{unread * (use != 'numeric')}")


def _unread(column: Column, present: "pd.Series") -> str:
    """Explain how to write numbers or dates, if nearly all texts look like these."""
    said = any(note.startswith(f"column '{column.name}' stays") for note in column.notes)
    if column.role is not None or said:
        return ""
    if prepare.is_code(present):
        few = present.nunique() <= prepare.MAX_CODES
        return "" if few else f"; {column.remedy('numeric')} reads these integers as numbers"
    begun = present.str.startswith("P").mean() >= NEARLY
    if begun and present.str.fullmatch(readings.DURATION).mean() >= NEARLY:
        return "; they look like durations: write them as numbers in one unit"
    if present.nunique() <= FEW:
        return ""
    figures, letters = present.str.count(r"\d"), present.str.count(r"[^\W\d_]")
    # Names are like A12 or Room 12, but not Dec-13. Texts of few shapes are like 5 km/h.
    name = present.str.fullmatch(r"[^\W\d_]+[ _-]?\d+")
    name &= ~present.str.lower().str.match(f"(?:{_MONTHS})[a-zä]*[ -]")
    shapes = present.str.replace(r"\d+(?:[.,]\d+)?", "0", regex=True)
    few = shapes.nunique() <= max(readings.MONTHS.values())
    few &= shapes.str.split().str.len() <= MOST_PARTS  # not sentences
    if ((figures > 0) & ((figures >= letters) | few) & ~name).mean() < NEARLY:
        return ""
    return f"; they look like numbers or dates: numbers are written as 1234.5, {DATES_ARE}"


def twins(labels: "pd.Series") -> Iterator[tuple[str, str, str]]:
    """Yield pairs of labels that probably mean the same, and how they differ."""
    distinct = sorted(labels.unique())
    answers = [readings.ANSWERS.get(label.casefold()) for label in distinct]
    alike: dict[Any, str] = {}
    for label, answer in zip(distinct, answers, strict=True):
        shown = "".join(c for c in label if unicodedata.category(c) != "Cf")
        shape = " ".join(unicodedata.normalize("NFKC", shown).split()).casefold()
        number = decimal.Decimal(shape) if NUMBER.fullmatch(shape) else None
        if (other := alike.setdefault(shape, label)) != label:
            how = "differ only in blanks, case or Unicode form"
        elif number is not None and (other := alike.setdefault(number, label)) != label:
            how = "are the same number"
        elif None not in answers and (other := alike.setdefault(answer, label)) != label:
            how = f"both mean {'yes' if answer else 'no'}"
        else:
            continue
        yield other, label, how


def _in_pairs(pairs: Sequence[tuple[str, str, str]]) -> str:
    """List the first pairs of :func:`twins`, and how many there are beside them."""
    alike: dict[str, list[str]] = {}
    for one, other, how in pairs[:PAIRS]:
        alike.setdefault(how, []).append(f"{short(one)} and {short(other)}")
    said = "; ".join(f"{', '.join(both)}, which {how}" for how, both in alike.items())
    more = len(pairs) - PAIRS
    return said + (f"; and {more} more such pair{'s' * (more > 1)}" if more > 0 else "")


def _beside_two(present: "pd.Series") -> str:
    """List the rare categories beside two that have nearly all values."""
    counts = present.value_counts()
    if not 2 < len(counts) <= FEW or counts.iloc[:2].sum() < BINARY * len(present):
        return ""
    if counts.iloc[2] > FEW or counts.iloc[1] <= FEW:
        return ""
    first, second = sorted(counts.index[:2])
    return f"{counted(counts.iloc[2:].to_dict())} beside {short(first)} and {short(second)}"


def _counts_rows(values: np.ndarray) -> str:
    """Describe how distinct numbers resemble row numbers; empty if they do not."""
    if (values % 1 != 0).any():
        return ""
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return f"has integers that {'rise' if steps[0] > 0 else 'fall'} from row to row"
    if (span := values.max() - values.min() + 1) > LACKING * len(values):
        return ""
    if span == len(values):
        return "has each integer of a range once"
    return f"has {len(values)} of {span:.0f} successive integers, each once"
