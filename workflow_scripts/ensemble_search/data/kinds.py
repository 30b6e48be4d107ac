"""Kinds of columns: number, boolean, date or category."""

import datetime
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import cells, digits, prepare, readings, roles
from ensemble_search.data.cells import short
from ensemble_search.runtime.errors import UserError, number_of

if TYPE_CHECKING:
    import pandas as pd

# A text column is read as numbers, dates or booleans if at least this share of its values fits; the
# rest are missing. If the study assigns the kind, the second share suffices.
NEARLY, LEAST = prepare.NEARLY, 0.5
# With at most this many distinct numbers, dates or booleans, other words may be categories like
# them (0, 1, 2, 3+), so all are kept.
FEW = 10
BOOLEANS = (bool, np.bool_)
READ = {"date": readings.dates, "numeric": readings.numbers, "boolean": readings.booleans}
DATES_ARE = "dates are written as 2020-12-31, with times as 2020-12-31 13:45"


class Column:
    """A column whose kind is being determined.

    ``name`` and ``values`` are as in its source; ``role`` is ``numeric``, ``categorical``, ``date``
    or ``text``, if the study assigns one; ``what`` is its place in errors. Notes for the user are
    added to ``notes``. ``missing`` and ``rounded`` are those of this column in ``sources.Raw``.

    :meth:`typed` sets ``read``: how values are read (``preparation.READ``), if the kind does not
    determine it.
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

        UserError if it cannot have its role, or values are not numbers, booleans, dates or text.
        """
        kind, values = self._by_type()
        if kind is None:
            return f"{values} cannot be features"
        if kind == "categorical":
            # The source's reader has decided about spaces.
            blank = values.map(lambda w: cells.is_blank(w) and w.strip(" ") != "", "ignore")
            blank = blank.eq(True)
            self.missing.update(values[blank].value_counts().to_dict())
            values = values.where(~blank)
        if kind == "categorical" and self.role != kind:
            return self._read(values)
        match self.role:
            case None:
                return kind, values
            case "categorical" if kind == "date":
                seconds = text(values.dt.strftime("%Y-%m-%dT%H:%M:%S"))
                distinct = _instants(self.values).nunique()
                if (kept := seconds.nunique()) < distinct:
                    self.note(
                        f"has {distinct} distinct times, but {kept} without fractions of a second, "
                        "which are not kept"
                    )
                return "categorical", seconds
            case "categorical":
                read = {"numeric": cells.FROM_NUMBERS, "boolean": cells.FROM_BOOLEANS}
                self.read = read.get(kind)
                given = self.values.astype(object)
                if kind == "numeric" and any(isinstance(v, numbers.Integral) for v in given):
                    # Unchanged: integers beyond 2^53 may not be floats.
                    values = self.values.where(values.notna())
                return "categorical", text(values)
            case "numeric" if kind == "date":
                self.read = cells.DAYS
                elapsed = cells.days(values.to_numpy("datetime64[us]"))
                return "numeric", values.__class__(elapsed, values.index)
            case "numeric":
                self.read = cells.FROM_BOOLEANS if kind == "boolean" else None
                return "numeric", values.astype("Float64").astype("float64")
            case "date" if kind == "numeric":
                given, values = values, eight_digits(values, LEAST)
                if values is not None:
                    odd = given[values.isna() & given.notna()]
                    self.missing.update(map(cells.word, odd))
                self.read = cells.EIGHT_DIGITS
        if kind == "boolean" or values is None:
            raise UserError(f"{self.what} cannot be read as 'date': {DATES_ARE}")
        return "date", values

    def _note_nanoseconds(self, count: int) -> None:
        if count:
            times = "a time" if count == 1 else f"{count} times"
            self.note(f"has {times} with nanoseconds, of which only the microseconds are kept")

    def note(self, said: str) -> None:
        """Add a note on the column."""
        self.notes.append(f"column '{self.name}' {said}")

    def remedy(self, role: str) -> str:
        """Quote how a study assigns a role to the column."""
        return f"'{roles.written(role, self.name)}'"

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
            given = _instants(column)
            dates = pd.Series(cells.microseconds(given.to_numpy()), index=column.index)
            self._note_nanoseconds(int((dates.notna() & (dates != given)).sum()))
            if lost := int((dates.isna() & column.notna()).sum()):
                self.note(f"has {lost} invalid dates, treated as missing")
            return "date", dates
        if kind.startswith("timedelta"):
            self.note("has durations: read as numbers of seconds")
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
            [cells.is_missing(word.strip()) or cells.is_placeholder(word) for word in words],
            dtype=bool,
        )
        for kind in [self.role] if self.role else READ:
            least = {"months": LEAST} if self.role == "date" else {}
            found = READ[kind](words, np.where(absent, 0, weights), **least)
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
        if len(found) > 1 and kind == "date":  # with slashes, month first, as in pandas
            slash = any("/" in w for w, fits in zip(words, reading.fits, strict=True) if fits)
            wanted = readings.MONTH_FIRST if slash else readings.DAY_FIRST
            reading = next((r for r in found if r.style.startswith(wanted)), reading)
        fitting = [w for w, fits in zip(words, reading.fits, strict=True) if fits]
        others = {w: words[w] for w, fits in zip(words, reading.fits, strict=True) if not fits}
        example = short(_telling(list(words), found, reading))
        if self.role is None:
            if isinstance(self.values.dtype, pd.CategoricalDtype):
                plain = reading.style == readings.PLAIN and len(fitting) <= FEW
                codes = all(word.strip().isdecimal() for word in fitting)
                if kind != "boolean" and reading.share >= NEARLY and not (plain or codes):
                    self.note(
                        f"stays categorical, as declared, although values such as {example} "
                        f"look like {reading.style}; {self.remedy(kind)} reads them as such"
                    )
                return None
            bare = [word.strip() for word in fitting]
            if all(map(str.isdecimal, bare)) and (
                not others or any(len(word) > 1 and word[0] == "0" for word in bare)
            ):
                return None  # codes; the base preparation decides
            if why := _not_nearly(reading.style, {w: words[w] for w in fitting}, others):
                if kind != "boolean":
                    why += f"; {self.remedy(kind)} treats those as missing"
                if reading.share >= NEARLY or len(fitting) > FEW:
                    self.note(f"stays categorical: {why}")
                return None
        unclear = ""
        if len(found) > 1 and (kind == "date" or self.role is None):
            styles = " or ".join(r.style for r in found)
            unclear = f"values such as {example} may be read as {styles}"
            if kind != "date" and sum("," in word for word in fitting) <= FEW:
                remedy = f"{self.remedy(kind)} reads them as the first"
                self.note(f"stays categorical: {unclear}; {remedy}")
                return None
            form = "2020-12-31" if kind == "date" else "1234.5"
            unclear = f"; {unclear}: if that is wrong, write them as {form}"
        elif kind == "date" and _may_have_years_first(fitting):
            unclear = "; the years may come first: if so, write them as 2020-12-31"
        missing = {**self.missing, **others}
        self.missing.clear()
        besides = f"; {as_missing(missing)}" if missing else ""
        style = readings.in_words(reading.style)
        self.note(f"is text such as {example}: read as {style}{besides}{unclear}")
        pointed = [word.strip() for word in fitting if "." in word]
        if reading.style == readings.PLAIN and 0 < len(pointed) < len(fitting):
            largest = float(np.nanmax(np.abs(reading.values)))
            grouped = all(map(digits.THOUSANDS.fullmatch, pointed))
            if grouped and (said := digits.like_thousands(largest, pointed[0])):
                self.note(said)
        if kind == "date":
            self._note_nanoseconds(sum(words[w] for w in fitting if readings.NANOSECONDS.search(w)))
        return reading

    def _finite(self, column: "pd.Series") -> "pd.Series":
        import pandas as pd

        values = pd.Series(column.to_numpy("float64", na_value=np.nan), index=column.index)
        huge = np.abs(values) > cells.LARGEST
        if huge.any():
            infinite = np.isinf(values[huge]).all()
            count = number_of(int(huge.sum()), "infinite value" if infinite else "value")
            count += "" if infinite else f" beyond {cells.LARGEST:.2g}"
            self.notes.append(f"column '{self.name}': {count} treated as missing")
            values = values.where(~huge)
        return values


def _telling(words: list[str], found: list[readings.Reading], chosen: readings.Reading) -> str:
    """Return the first word that shows which reading was chosen, else the first that fits."""
    fitting = np.flatnonzero(chosen.fits)
    differ = np.zeros(len(words), dtype=bool)
    for other in found:
        differ |= (other.fits != chosen.fits) | (other.values != chosen.values)
    if len(found) == 1:  # the plain readings are not among those found
        plain = readings.PLAIN, readings.ISO
        differ = np.array([chosen.style not in plain and not _is_plain(word) for word in words])
    telling = fitting[differ[fitting]]
    return words[[*telling, *fitting][0]]


def _is_plain(word: str) -> bool:
    """Whether a word is a number or date that looks alike in all styles."""
    date = readings.date(word, readings.ISO)
    return readings.number(word, readings.PLAIN) is not None or not np.isnat(date)


def text(column: "pd.Series") -> "pd.Series":
    """Values as text (integer categories without a decimal point)."""
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        return column.astype("str")
    made = [None if pd.isna(v) else cells.word(v) for v in column.astype(object)]
    return pd.Series(made, index=column.index, dtype="str")


def listed(words: Sequence[str]) -> str:
    """List the first three of several words, and how many there are beside them."""
    return ", ".join(map(short, words[:3])) + _others(words)


def counted(words: Mapping[str, int]) -> str:
    """List words by decreasing count, with the counts in brackets."""
    order = sorted(words, key=lambda word: (-words[word], word))
    return ", ".join(f"{short(word)} ({words[word]})" for word in order[:3]) + _others(order)


def _others(words: Sequence[str]) -> str:
    return f" and {number_of(len(words) - 3, 'other')}" if len(words) > 3 else ""


def as_missing(words: Mapping[str, int]) -> str:
    """Describe words treated as missing, with counts."""
    count = sum(words.values())
    return f"{count} value{'s' * (count != 1)} treated as missing: {counted(words)}"


def _not_nearly(style: str, fitting: Mapping[str, int], others: Mapping[str, int]) -> str:
    """Explain why words (with counts) are not nearly all of one kind; empty if they are."""
    odd = {w: n for w, n in others.items() if not cells.is_missing(w.strip())}
    unlike = {w: n for w, n in odd.items() if not cells.is_placeholder(w)}
    few = len(fitting) <= FEW
    # Numbers may have any number of placeholders among them, unless few are distinct.
    fits, besides = sum(fitting.values()), sum((odd if few else unlike).values())
    if fits >= NEARLY * (fits + besides) and not (few and unlike):
        return ""
    share = fits / (fits + sum(odd.values()))
    nearly = "nearly all" if share >= NEARLY else f"{100 * share:.0f} % of the"
    return f"{nearly} values can be read as {style}, but not {listed([*odd])}"


def _may_have_years_first(words: Sequence[str]) -> bool:
    """Whether dates such as 24-06-08, read with the day first, may have the year first.

    They may if all are valid so and the last two digits vary more, as days do.
    """
    first, last = ({word.strip()[part] for word in words} for part in (slice(2), slice(-2, None)))
    dates = (readings.date(f"20{word.strip()}", readings.ISO) for word in words)
    return len(first) < len(last) and not np.isnat(list(dates)).any()


def eight_digits(values: "pd.Series", share: float) -> "pd.Series | None":
    """Parse numbers such as 20201231 as dates, if this share of them is valid."""
    import pandas as pd

    possible, least = values.between(1800_01_01, 2199_12_31) & (values % 1 == 0), values.count()
    if not possible.any() or possible.sum() < share * least:
        return None
    words = values.where(possible).map("{:.0f}".format, na_action="ignore").astype("str")
    dates = pd.to_datetime(words, format="%Y%m%d", errors="coerce")
    return dates.astype("datetime64[us]") if dates.count() >= share * least else None


def _instants(column: "pd.Series") -> "pd.Series":
    """Dates, date-times and periods (by their start); those with an offset in UTC."""
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    elif pd.api.types.is_object_dtype(column.dtype):
        made = [None if pd.isna(v) else getattr(v, "start_time", v).isoformat() for v in column]
        column = pd.Series(made, index=column.index, dtype=object)
        column = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column
