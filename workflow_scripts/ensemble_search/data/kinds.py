"""Kinds of columns: number, boolean, date or category; with notes on surprising columns."""

import datetime
import decimal
import numbers
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import arff, preparation, prepare, readings
from ensemble_search.data.preparation import short
from ensemble_search.data.table_files import THOUSANDS, like_thousands
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import MISSING, NONE

if TYPE_CHECKING:
    import pandas as pd

# A text column is read as numbers, dates or booleans if at least this share of its values fits; the
# rest are missing. If the study assigns the kind, the second share suffices.
NEARLY, LEAST = prepare.NEARLY, 0.5
# With at most this many distinct numbers, dates or booleans, other words may be categories like
# them (0, 1, 2, 3+), so all are kept.
FEW = 10
# Words for a missing value among numbers, dates or booleans, ignoring case; so are words without
# letters and digits. Among categories, they are categories.
PLACEHOLDERS = frozenset(
    [
        *("unknown", "unk", "missing", "none", "na", "n.a.", "n.a", "n/a", "nil", "null", "nan"),
        *("nat", "undefined", "not available", "not applicable", "no data", "blank", "(blank)"),
        *("empty", "tbd", "tba"),
    ]
)
# A spreadsheet error, in any language: #DIV/0!, #REF!, #NV, #N/D, #¡VALOR!
SHEET_ERROR = re.compile(r"#(?:div/0!?|nv|nb|[^\W\d]/[^\W\d]|[¡¿]?[^\W\d_]+[!?])", re.IGNORECASE)
# If two categories have this share of the values, others with at most FEW values are probably
# mistakes.
BINARY = 0.95
# With more categories than this, similar ones are not searched for.
MOST_ALIKE = 1000
# Double precision holds all integers up to this one.
EXACT = 2**53
# With fewer rows, distinct numbers need not be row numbers.
ROW_IDS = 10
#: Row numbers may lack some, such as those of rows without a target or of a test part.
LACKING = 1.25
UUID = r"\{?[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\}?"
BOOLEANS = (bool, np.bool_)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII)
_MONTHS = "|".join(month[:3] for month in readings.MONTHS)
READ = {"date": readings.dates, "numeric": readings.numbers, "boolean": readings.booleans}
DATES_ARE = "dates are written as 2020-12-31, with times as 2020-12-31 13:45"


class Column:
    """A column whose kind is being determined.

    Parameters
    ----------
    name
        Its name.
    values
        The column as in its source.
    role
        ``numeric``, ``categorical``, ``date`` or ``text``, if the study assigns a role.
    what
        Data set and column, for errors.
    notes
        Notes for the user are appended here.
    missing
        Words that the source's reader treated as missing, with counts.
    rounded
        Number of fractions that lost digits when the source was read, and the first of them.

    Attributes
    ----------
    read
        How its values are read (``preparation.Numbers.read``), if the kind does not determine it;
        set by :meth:`typed`.
    """

    def __init__(
        self,
        name: str,
        values: "pd.Series",
        role: str | None,
        what: str,
        notes: list[str],
        missing: Mapping[str, int] | None = None,
        rounded: tuple[int, str] | None = None,
    ):
        self.name, self.values, self.what, self.notes = name, values, what, notes
        # A text column stays categorical here; the split turns it into features.
        self.asked, self.role = role, "categorical" if role == "text" else role
        self.missing, self.rounded = Counter(missing), rounded
        self.read: str | None = None

    def typed(self) -> "tuple[str, pd.Series] | str":
        """Return kind and values, or the reason why the column is dropped.

        Raises
        ------
        UserError
            If it cannot have its role, or its values are not numbers, booleans, dates or text.
        """

        kind, values = self._by_type()
        if kind is None:
            return f"{values} cannot be features"
        if kind == "categorical":
            blank = values.map(_invisible, na_action="ignore").eq(True)
            self.missing.update(values[blank].value_counts().to_dict())
            values = values.where(~blank)
        if kind == "categorical" and self.role != kind:
            return self._read(values)
        match self.role:
            case None:
                return kind, values
            case "categorical" if kind == "date":
                seconds = text(values.dt.strftime("%Y-%m-%dT%H:%M:%S"))
                if (kept := seconds.nunique()) < (distinct := self.values.nunique()):
                    self._note(
                        f"has {distinct} distinct times, but {kept} without fractions of a second, "
                        "which are not kept"
                    )
                return "categorical", seconds
            case "categorical":
                read = {"numeric": preparation.FROM_NUMBERS, "boolean": preparation.FROM_BOOLEANS}
                self.read = read.get(kind)
                # Unchanged: integers beyond 2^53 may not be floats.
                if kind == "numeric" and _has_integers(self.values):
                    return "categorical", text(self.values.where(values.notna()))
                return "categorical", text(values)
            case "numeric" if kind == "date":
                self.read = preparation.DAYS
                elapsed = preparation.days(values.to_numpy("datetime64[us]"))
                return "numeric", values.__class__(elapsed, values.index)
            case "numeric":
                self.read = preparation.FROM_BOOLEANS if kind == "boolean" else None
                return "numeric", values.astype("Float64").astype("float64")
            case "date" if kind == "numeric":
                given, values = values, _eight_digits(values, LEAST)
                if values is not None:
                    odd = given[values.isna() & given.notna()]
                    self.missing.update(map(preparation.word, odd))
                self.read = preparation.EIGHT_DIGITS
        if kind == "boolean" or values is None:
            raise UserError(f"{self.what} cannot be read as 'date': {DATES_ARE}")
        return "date", values

    def look_at(self, kind: str, values: "pd.Series") -> None:
        """Add notes on missing values, and on columns that may need another role."""
        present = values.dropna()
        distinct = present.nunique()
        if kind == "categorical" and (present == NONE).any():
            del self.missing[NONE]
        if self.missing:
            self._note(f"has {_as_missing(self.missing)}")
        if kind == "numeric":
            apart = f"; {self._remedy('categorical')} keeps them distinct"
            for said in losses(self.values, self.rounded, apart):
                self._note(said)
        if distinct < 2:
            value = "a single value" if len(present) else "no value"
            self._note(f"has {value}; the base preparation drops it")
        elif kind in ("numeric", "date") and not prepare.varies(_as_numbers(kind, present)):
            self._note(
                f"is dropped by the base preparation: its variance is {prepare.MIN_VARIANCE:g} or "
                "less; write it in a smaller unit"
            )
        elif kind == "categorical":
            self._look_at_categories(present, distinct)
        elif kind == "numeric" and 2 * (single := present.astype(np.float32).nunique()) <= distinct:
            self._note(
                f"has {distinct} distinct numbers, but {single} in single precision, which some "
                f"learners use; subtract a constant such as {present.min():.0f}"
            )
        elif kind == "numeric" and self.role is None and len(present) >= ROW_IDS:
            if distinct == len(values) and (counts := _counts_rows(present.to_numpy())):
                self._note(
                    f"{counts}, like row numbers: it is kept, because the order may be "
                    f"informative; if it is not, remove it with {self._remedy('drop')}"
                )
            elif _eight_digits(values, NEARLY) is not None:
                self._note(
                    f"has numbers such as {present.iloc[0]:.0f}, which may be dates; "
                    f"{self._remedy('date')} reads them as dates"
                )

    def _look_at_categories(self, present: "pd.Series", distinct: int) -> None:
        counts = present[present.isin(MISSING)].value_counts()
        if len(counts):
            names = counted(counts.to_dict())
            one = f"has {names} as a category" if len(counts) == 1 else f"has {names}: one category"
            self._note(f"{one}, together with missing values")
        if distinct <= MOST_ALIKE and (alike := twins(present)):
            one, other, how = alike
            both = f"{short(one)} and {short(other)}"
            self._note(f"has {both}, which {how}; if they mean the same, write them the same way")
        elif not prepare.is_code(present) and (odd := _beside_two(present)):
            self._note(f"has {odd}; if it is a mistake, correct or clear it")
        among = f"{distinct} distinct among {len(present)} values, such as {short(present.iloc[0])}"
        use = prepare.use_of(present, self.asked)
        if use is None:
            like = "UUIDs" if present.str.fullmatch(UUID).all() else "names or identifiers"
            self._note(
                f"is dropped by the base preparation: {among} ({like}){self._unread(present)}"
            )
        elif use == "text":
            self._note(f"has {among}: text, whose words become features{self._unread(present)}")
        elif distinct > prepare.MAX_CODES:
            code = use == "numeric"
            becomes = "codes, used as one number" if code else prepare.EACH
            self._note(f"has {among}: {becomes}{'' if code else self._unread(present)}")
        elif unread := self._unread(present):
            self._note(f"has {among}: {prepare.EACH}{unread}")

    def _unread(self, present: "pd.Series") -> str:
        """Explain how to write numbers or dates, if nearly all texts look like these."""
        said = any(note.startswith(f"column '{self.name}' stays") for note in self.notes)
        if self.role is not None or said:
            return ""
        if prepare.is_code(present):
            few = present.nunique() <= prepare.MAX_CODES
            return "" if few else f"; {self._remedy('numeric')} reads these integers as numbers"
        begun = present.str.startswith("P").mean() >= NEARLY
        if begun and present.str.fullmatch(readings.DURATION).mean() >= NEARLY:
            return "; they look like durations: write them as numbers in one unit"
        if present.nunique() <= FEW:
            return ""
        digits, letters = present.str.count(r"\d"), present.str.count(r"[^\W\d_]")
        # Names are like A12 or Room 12, but not Dec-13. Texts of few shapes are like 5 km/h.
        name = present.str.fullmatch(r"[^\W\d_]+[ _-]?\d+")
        name &= ~present.str.lower().str.match(f"(?:{_MONTHS})[a-z]*[ -]")
        shapes = present.str.replace(r"\d+(?:[.,]\d+)?", "0", regex=True)
        few = shapes.nunique() <= len(readings.MONTHS)
        if ((digits > 0) & ((digits >= letters) | few) & ~name).mean() < NEARLY:
            return ""
        return f"; they look like numbers or dates: numbers are written as 1234.5, {DATES_ARE}"

    def _note_cut(self, count: int) -> None:
        if count:
            times = "a time" if count == 1 else f"{count} times"
            self._note(f"has {times} with nanoseconds, of which only the microseconds are kept")

    def _note(self, said: str) -> None:
        self.notes.append(f"column '{self.name}' {said}")

    def _remedy(self, role: str) -> str:
        return f"'columns: {{{role}: [{self.name}]}}'"

    def _by_type(self) -> "tuple[str | None, Any]":
        """Return kind and values if the column's type determines them, without parsing text."""
        import pandas as pd

        column, dtype = self.values, self.values.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            if column.notna().any() and all(isinstance(v, BOOLEANS) for v in dtype.categories):
                return "boolean", column.astype(object).astype("boolean")
            return "categorical", text(column)
        if pd.api.types.is_bool_dtype(dtype):
            return "boolean", column.astype("boolean")
        if pd.api.types.is_complex_dtype(dtype):
            raise UserError(f"{self.what} has complex numbers; only real numbers can be used")
        if pd.api.types.is_numeric_dtype(dtype):
            return "numeric", self._finite(column)
        plain = pd.api.types.is_object_dtype(dtype)
        if pd.api.types.is_string_dtype(dtype) and not plain:
            return "categorical", text(column)
        values = column.dropna()
        kind = pd.api.types.infer_dtype(values, skipna=True)
        if kind.startswith(("date", "period")):
            dates, cut = _instants(column)
            self._note_cut(cut)
            if lost := int((dates.isna() & column.notna()).sum()):
                self._note(f"has {lost} invalid dates, treated as missing")
            return "date", dates
        if kind.startswith("timedelta"):
            self._note("has durations: read as numbers of seconds")
            return "numeric", pd.to_timedelta(column).dt.total_seconds()
        if not plain or kind.startswith(("time", "interval")):
            return None, f"{kind} values"
        if kind == "boolean":
            return "boolean", column.astype("boolean")
        if kind == "empty" or all(isinstance(v, numbers.Real) for v in values):
            return "numeric", self._finite(column)
        if kind == "decimal":
            return "numeric", self._finite(column.astype("float64"))
        usable = (str, numbers.Real, datetime.date, datetime.time)  # a sheet's cells may be mixed
        odd = next((v for v in values if not isinstance(v, usable)), None)
        if odd is not None:
            raise UserError(
                f"{self.what} has a value of type {type(odd).__name__}; "
                "only numbers, booleans, dates and text can be used"
            )
        return "categorical", text(column)

    def _read(self, values: "pd.Series") -> "tuple[str, pd.Series]":
        """Parse text as dates, numbers or booleans, if nearly all values fit."""
        counts = values.value_counts()
        words, weights = counts.index.tolist(), counts.to_numpy()
        absent = np.array(
            [preparation.is_missing(word.strip()) or _placeholder(word) for word in words],
            dtype=bool,
        )
        for kind in [self.role] if self.role else READ:
            found = READ[kind](words, np.where(absent, 0, weights))
            if not found or found[0].share < LEAST:
                continue
            reading = self._decided(kind, found, dict(zip(words, weights.tolist(), strict=True)))
            if reading is None:
                break
            # Missing values have the code -1, which selects the last value.
            missing = np.array("NaT" if kind == "date" else "nan", reading.values.dtype)
            places = counts.index.get_indexer(values)
            read = values.__class__(np.append(reading.values, missing)[places], values.index)
            if kind == "boolean":
                return kind, read.astype("Float64").astype("boolean")
            self.read = reading.style.removesuffix(readings.OFFSETS_AS_UTC)
            return kind, read if kind == "date" else self._finite(read)
        else:
            if self.role:
                example = f"; its values are such as {short(words[0])}" if words else ""
                hint = f"; {DATES_ARE}" if self.role == "date" else ""
                raise UserError(f"{self.what} cannot be read as '{self.role}'{example}{hint}")
        return "categorical", values

    def _decided(
        self, kind: str, found: list[readings.Reading], words: dict[str, int]
    ) -> "readings.Reading | None":
        """Choose how to read words (with counts), if in any way, and add a note."""
        import pandas as pd

        reading = found[0]
        if len(found) > 1 and kind == "date":
            reading = _order(found, words)
        fitting = [w for w, fits in zip(words, reading.fits, strict=True) if fits]
        others = {w: words[w] for w, fits in zip(words, reading.fits, strict=True) if not fits}
        example = short(fitting[0])
        if self.role is None:
            if isinstance(self.values.dtype, pd.CategoricalDtype):
                plain = reading.style == readings.PLAIN and len(fitting) <= FEW
                codes = all(word.strip().isdecimal() for word in fitting)
                if kind != "boolean" and reading.share >= NEARLY and not (plain or codes):
                    self._note(
                        f"stays categorical, as declared, although values such as {example} "
                        f"look like {reading.style}; {self._remedy(kind)} reads them as such"
                    )
                return None
            bare = [word.strip() for word in fitting]
            if all(map(str.isdecimal, bare)) and (
                not others or any(len(word) > 1 and word[0] == "0" for word in bare)
            ):
                return None  # codes; the base preparation decides
            if why := _not_nearly(reading.style, {w: words[w] for w in fitting}, others):
                if kind != "boolean":
                    why += f"; {self._remedy(kind)} treats those as missing"
                if reading.share >= NEARLY or len(fitting) > FEW:
                    self._note(f"stays categorical: {why}")
                return None
        unclear = ""
        if len(found) > 1 and (kind == "date" or self.role is None):
            styles = " or ".join(r.style for r in found)
            unclear = f"values such as {example} may be read as {styles}"
            if kind != "date" and sum("," in word for word in fitting) <= FEW:
                remedy = f"{self._remedy(kind)} reads them as the first"
                self._note(f"stays categorical: {unclear}; {remedy}")
                return None
            form = "2020-12-31" if kind == "date" else "1234.5"
            unclear = f"; {unclear}: if that is wrong, write them as {form}"
        elif kind == "date" and _may_have_years_first(fitting):
            unclear = "; the years may come first: if so, write them as 2020-12-31"
        missing = {**self.missing, **others}
        self.missing.clear()
        besides = f"; {_as_missing(missing)}" if missing else ""
        # Descriptions store the style's name, which does not say that decimals have commas.
        points = "points between thousands"
        style = reading.style.replace(points, f"{points} and decimal commas")
        self._note(f"is text such as {example}: read as {style}{besides}{unclear}")
        pointed = [word.strip() for word in fitting if "." in word]
        if reading.style == readings.PLAIN and 0 < len(pointed) < len(fitting):
            largest = float(np.nanmax(np.abs(reading.values)))
            grouped = all(map(THOUSANDS.fullmatch, pointed))
            if grouped and (said := like_thousands(largest, pointed[0])):
                self._note(said)
        if kind == "date":
            self._note_cut(sum(words[w] for w in fitting if readings.NANOSECONDS.search(w)))
        return reading

    def _finite(self, column: "pd.Series") -> "pd.Series":
        import pandas as pd

        values = pd.Series(column.to_numpy("float64", na_value=np.nan), index=column.index)
        huge = np.abs(values) > preparation.LARGEST
        if huge.any():
            infinite = np.isinf(values[huge]).all()
            what = "infinite values" if infinite else f"values beyond {preparation.LARGEST:.2g}"
            self.notes.append(f"column '{self.name}': {huge.sum()} {what} treated as missing")
            values = values.where(~huge)
        return values


def text(column: "pd.Series") -> "pd.Series":
    """Values as text (integer categories without a decimal point)."""
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        return column.astype("str")
    made = [None if pd.isna(v) else preparation.word(v) for v in column.astype(object)]
    return pd.Series(made, index=column.index, dtype="str")


def listed(words: Sequence[str]) -> str:
    """List the first three of several words, and how many there are beside them."""
    more = f" and {len(words) - 3} others" if len(words) > 3 else ""
    return ", ".join(map(short, words[:3])) + more


def counted(words: Mapping[str, int]) -> str:
    """List words by decreasing count, with the counts in brackets."""
    order = sorted(words, key=lambda word: (-words[word], word))
    more = f" and {len(order) - 3} others" if len(order) > 3 else ""
    return ", ".join(f"{short(word)} ({words[word]})" for word in order[:3]) + more


def _as_numbers(kind: str, present: "pd.Series") -> np.ndarray:
    if kind == "date":
        return preparation.days(present.to_numpy("datetime64[us]"))
    return present.to_numpy("float64")


def twins(labels: "pd.Series") -> tuple[str, str, str] | None:
    """Find the first two labels that probably mean the same, and say how they differ."""
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
        return other, label, how
    return None


def _beside_two(present: "pd.Series") -> str:
    """List the rare categories beside two that have nearly all values."""
    counts = present.value_counts()
    if not 2 < len(counts) <= FEW or counts.iloc[:2].sum() < BINARY * len(present):
        return ""
    if counts.iloc[2] > FEW or counts.iloc[1] <= FEW:
        return ""
    first, second = sorted(counts.index[:2])
    return f"{counted(counts.iloc[2:].to_dict())} beside {short(first)} and {short(second)}"


def _as_missing(words: Mapping[str, int]) -> str:
    count = sum(words.values())
    return f"{count} value{'s' * (count != 1)} treated as missing: {counted(words)}"


def _not_nearly(style: str, fitting: Mapping[str, int], others: Mapping[str, int]) -> str:
    """Explain why words (with counts) are not nearly all of one kind; empty if they are."""
    odd = {w: n for w, n in others.items() if not preparation.is_missing(w.strip())}
    unlike = {w: n for w, n in odd.items() if not _placeholder(w)}
    few = len(fitting) <= FEW
    # Numbers may have any number of placeholders among them, unless few are distinct.
    fits, besides = sum(fitting.values()), sum((odd if few else unlike).values())
    if fits >= NEARLY * (fits + besides) and not (few and unlike):
        return ""
    share = fits / (fits + sum(odd.values()))
    nearly = "nearly all" if share >= NEARLY else f"{100 * share:.0f} % of the"
    return f"{nearly} values can be read as {style}, but not {listed([*odd])}"


def _invisible(word: str) -> bool:
    """Whether a word is blank but not only spaces: the source's reader decides about spaces."""
    return bool(word.strip(" ")) and preparation.is_blank(word)


def _placeholder(word: str) -> bool:
    return stands_for_missing(word) or not any(map(str.isalnum, word))


def stands_for_missing(word: str) -> bool:
    """Whether a word is a placeholder or a spreadsheet error, ignoring case."""
    word = word.strip().casefold()
    return word in PLACEHOLDERS or SHEET_ERROR.fullmatch(word) is not None


def _order(found: list[readings.Reading], words: Mapping[str, int]) -> readings.Reading:
    """Choose between date orders that both fit: with slashes, month first, as in pandas."""
    by_style = {reading.style.partition(",")[0]: reading for reading in found}
    fits = found[0].fits
    slash = any("/" in word for word, fit in zip(words, fits, strict=True) if fit)
    wanted = readings.MONTH_FIRST if slash else readings.DAY_FIRST
    return by_style.get(wanted, found[0])


def _may_have_years_first(words: Sequence[str]) -> bool:
    """Whether dates such as 24-06-08, read with the day first, may have the year first.

    They may if all are valid so and the last two digits vary more, as days do.
    """
    first, last = ({word.strip()[part] for word in words} for part in (slice(2), slice(-2, None)))
    dates = (readings.date(f"20{word.strip()}", readings.ISO) for word in words)
    return len(first) < len(last) and not np.isnat(list(dates)).any()


def _has_integers(values: "pd.Series") -> bool:
    """Whether any value has an integer type."""
    import pandas as pd

    if pd.api.types.is_object_dtype(values.dtype):
        return any(isinstance(value, numbers.Integral) for value in values)
    return pd.api.types.is_integer_dtype(values.dtype)


def losses(values: "pd.Series", rounded: tuple[int, str] | None, apart: str = "") -> list[str]:
    """Describe numbers that lose digits in double precision.

    Parameters
    ----------
    values
        Numbers or text as in their source.
    rounded
        As in :class:`Column`.
    apart
        Text to add for integers.
    """
    said = []
    if lost := inexact(values):
        said.append(
            f"has {len(lost)} integers beyond 2^53, which lose digits as numbers ({lost[0]} "
            f"becomes {float(lost[0]):.0f}){apart}"
        )
    if rounded is None and (found := _rounded(values)):
        rounded = len(found), found[0]
    if rounded:
        said.append(
            f"has {rounded[0]} fractions with too many digits or too close to 0, which lose "
            f"digits as numbers ({rounded[1]} becomes {float(rounded[1].replace(',', '.'))!r})"
        )
    return said


def _rounded(values: "pd.Series") -> list[str]:
    """List the fractions, as text or decimals, that lose digits."""
    import pandas as pd

    if not (pd.api.types.is_string_dtype(values.dtype) or values.dtype == object):
        return []
    words = (str(v).strip() for v in values.dropna() if isinstance(v, (str, decimal.Decimal)))
    return [word for word in words if arff.rounds(word.replace(",", "."))]


def inexact(values: "pd.Series") -> list[int]:
    """List the integers, including text, that double precision does not hold exactly."""
    import pandas as pd

    if pd.api.types.is_integer_dtype(values.dtype):
        values = values[(values > EXACT) | (values < -EXACT)]
    elif not (pd.api.types.is_string_dtype(values.dtype) or values.dtype == object):
        return []
    found = []
    for value in values.dropna():
        if isinstance(value, str):
            digits = value.strip().lstrip("+-")
            if not (16 <= len(digits) <= 39 and digits.isascii() and digits.isdecimal()):
                continue
            whole = int(digits)
        elif isinstance(value, numbers.Integral) or (
            isinstance(value, decimal.Decimal) and value.is_finite() and value == int(value)
        ):
            whole = int(value)
        else:
            continue
        if EXACT < abs(whole) <= preparation.LARGEST and int(float(whole)) != whole:
            found.append(whole)
    return found


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


def _eight_digits(values: "pd.Series", share: float) -> "pd.Series | None":
    """Parse numbers such as 20201231 as dates, if this share of them is valid."""
    import pandas as pd

    possible = values.between(1800_01_01, 2199_12_31) & (values % 1 == 0)
    if not possible.any() or possible.sum() < share * values.notna().sum():
        return None
    words = values.where(possible).map("{:.0f}".format, na_action="ignore").astype("str")
    dates = pd.to_datetime(words, format="%Y%m%d", errors="coerce")
    enough = dates.notna().sum() >= share * values.notna().sum()
    return dates.astype("datetime64[us]") if enough else None


def _instants(column: "pd.Series") -> "tuple[pd.Series, int]":
    """Dates, date-times and periods (by their start); those with an offset in UTC.

    Also how many of them lost digits, as they had nanoseconds.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    elif pd.api.types.is_object_dtype(column.dtype):
        made = [None if pd.isna(v) else getattr(v, "start_time", v).isoformat() for v in column]
        column = pd.Series(made, index=column.index, dtype=object)
        column = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    given = column.to_numpy()
    dates = preparation.microseconds(given)
    cut = int((~np.isnat(dates) & (dates != given)).sum())
    return pd.Series(dates, index=column.index), cut
