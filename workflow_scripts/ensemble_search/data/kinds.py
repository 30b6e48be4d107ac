"""Kinds of columns: number, boolean, date or category; with notes on surprising ones."""

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import preparation, prepare, readings
from ensemble_search.data.preparation import short
from ensemble_search.runtime.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

# A column is taken for one of numbers or dates with mistakes in it from this share of such values,
# and one that the study calls so must have this share.
NEARLY, LEAST = 0.9, 0.5
# With fewer rows, distinct numbers need not be row numbers.
ROW_IDS = 10
UUID = r"\{?[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\}?"
BOOLEANS = (bool, np.bool_)
READ = {"date": readings.dates, "numeric": readings.numbers}
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
        ``numeric``, ``categorical`` or ``date``, if the study assigns a role.
    what
        Data set and column, for errors.
    notes
        Notes for people are appended here.

    Attributes
    ----------
    read
        How its values are read (``preparation.Numbers.read``), if its kind does not say it; set by
        :meth:`typed`.
    """

    def __init__(self, name: str, values: "pd.Series", role: str | None, what: str, notes: list):
        self.name, self.values, self.role, self.what, self.notes = name, values, role, what, notes
        self.read: str | None = None

    def typed(self) -> "tuple[str, pd.Series] | str":
        """Return kind and values, or the reason why the column is dropped.

        Raises
        ------
        UserError
            If it cannot have its role, or its values are not numbers, booleans, dates or text.
        """
        import pandas as pd

        kind, values = self._by_type()
        if kind is None:
            return f"{values} are not features"
        if kind == "categorical" and self.role != kind:
            return self._read(values)
        match self.role:
            case None:
                return kind, values
            case "categorical" if kind == "date":
                return "categorical", text(values.dt.strftime("%Y-%m-%dT%H:%M:%S"))
            case "categorical":
                read = {"numeric": preparation.FROM_NUMBERS, "boolean": preparation.FROM_BOOLEANS}
                self.read = read.get(kind)
                # As they are: there are whole numbers beyond 2^53 that no float has.
                whole = pd.api.types.is_integer_dtype(self.values.dtype)
                return "categorical", text(self.values if whole else values)
            case "numeric" if kind == "date":
                self.read = preparation.DAYS
                elapsed = preparation.days(values.to_numpy("datetime64[us]"))
                return "numeric", values.__class__(elapsed, values.index)
            case "numeric":
                self.read = preparation.FROM_BOOLEANS if kind == "boolean" else None
                return "numeric", values.astype("Float64").astype("float64")
            case "date" if kind == "numeric":
                values = _eight_digits(values)
                self.read = preparation.EIGHT_DIGITS
        if kind == "boolean" or values is None:
            raise UserError(f"{self.what} cannot be taken as 'date': {DATES_ARE}")
        return "date", values

    def look_at(self, kind: str, values: "pd.Series") -> None:
        """Add notes on columns that may need another role."""
        present = values.dropna()
        distinct = present.nunique()
        if distinct < 2:
            value = "a single value" if len(present) else "no value"
            self._note(f"holds {value}; the base preparation drops it")
        elif kind == "categorical":
            self._look_at_categories(present, distinct)
        elif kind == "numeric" and self.role is None and len(present) >= ROW_IDS:
            if distinct == len(values) and (counts := _counts_rows(present.to_numpy())):
                self._note(
                    f"{counts}, as row numbers do: it is kept, because an order may mean "
                    f"something; where it does not, {self._remedy('drop')} leaves it out"
                )
            elif _eight_digits(values) is not None:
                self._note(
                    f"holds numbers such as {present.iloc[0]:.0f}, which may be dates; "
                    f"{self._remedy('date')} takes them as such"
                )

    def _look_at_categories(self, present: "pd.Series", distinct: int) -> None:
        among = f"{distinct} distinct among {len(present)} values, such as {short(present.iloc[0])}"
        if prepare.too_distinct(distinct, len(present)):
            like = "UUIDs" if present.str.fullmatch(UUID).all() else "as names and identifiers have"
            self._note(f"is dropped by the base preparation: {among} ({like})")
        elif distinct > prepare.MAX_CODES:
            code = self.role is None and prepare.is_code(present)
            becomes = "codes, taken as one number" if code else "each makes a column"
            self._note(f"has {among}: {becomes}")

    def _note(self, said: str) -> None:
        self.notes.append(f"column '{self.name}' {said}")

    def _remedy(self, role: str) -> str:
        return f"'columns: {{{role}: [{self.name}]}}'"

    def _by_type(self) -> "tuple[str | None, Any]":
        """Return kind and values by the type of the column, without parsing text."""
        import pandas as pd

        column, dtype = self.values, self.values.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            if column.notna().any() and all(isinstance(v, BOOLEANS) for v in dtype.categories):
                return "boolean", column.astype(object).astype("boolean")
            return "categorical", text(column)
        if pd.api.types.is_bool_dtype(dtype):
            return "boolean", column.astype("boolean")
        if pd.api.types.is_complex_dtype(dtype):
            raise UserError(f"{self.what} holds complex numbers; only real ones can be used")
        if pd.api.types.is_numeric_dtype(dtype):
            return "numeric", self._finite(column)
        plain = pd.api.types.is_object_dtype(dtype)
        if pd.api.types.is_string_dtype(dtype) and not plain:
            return "categorical", text(column)
        values = column.dropna()
        kind = pd.api.types.infer_dtype(values, skipna=True)
        if kind.startswith(("date", "period")):
            return "date", _instants(column)
        if kind.startswith("timedelta"):
            self._note("holds spans of time: taken as numbers of seconds")
            return "numeric", pd.to_timedelta(column).dt.total_seconds()
        if not plain or kind.startswith(("time", "interval")):
            return None, f"{kind} values"
        if kind == "boolean":
            return "boolean", column.astype("boolean")
        if kind == "empty" or all(isinstance(v, numbers.Real) for v in values):
            return "numeric", self._finite(column)
        if kind == "decimal":
            return "numeric", self._finite(column.astype("float64"))
        odd = next((v for v in values if not isinstance(v, (str, numbers.Real))), None)
        if odd is not None:
            raise UserError(
                f"{self.what} holds a value of type {type(odd).__name__}; "
                "only numbers, booleans, dates and text can be used"
            )
        return "categorical", text(column)

    def _read(self, values: "pd.Series") -> "tuple[str, pd.Series]":
        """Parse text as dates or numbers, if the format is unambiguous."""
        counts = values.value_counts()
        words, weights = counts.index.tolist(), counts.to_numpy()
        for kind in [self.role] if self.role else READ:
            found = READ[kind](words, weights)
            if not found or found[0].share < (LEAST if self.role else NEARLY):
                continue
            reading = self._decided(kind, found, words)
            if reading is None:
                break
            # Missing values have the code -1, hence the last value.
            missing = np.array("NaT" if kind == "date" else "nan", reading.values.dtype)
            places = counts.index.get_indexer(values)
            read = values.__class__(np.append(reading.values, missing)[places], values.index)
            self.read = reading.style.removesuffix(readings.OFFSETS_AS_UTC)
            return kind, read if kind == "date" else self._finite(read)
        else:
            if self.role:
                example = f"; its values are such as {short(words[0])}" if words else ""
                hint = f"; {DATES_ARE}" if self.role == "date" else ""
                raise UserError(f"{self.what} cannot be taken as '{self.role}'{example}{hint}")
        return "categorical", values

    def _decided(self, kind: str, found: list, words: list[str]) -> "readings.Reading | None":
        """Choose the reading, if any, and add a note."""
        import pandas as pd

        reading = found[0]
        example = short(next(w for w, fits in zip(words, reading.fits, strict=True) if fits))
        odd = [w for w, fits in zip(words, reading.fits, strict=True) if not fits]
        if self.role is None:
            if isinstance(self.values.dtype, pd.CategoricalDtype):
                if reading.style != readings.PLAIN and not odd:
                    self._note(
                        f"stays categories, as it is declared, though values such as {example} "
                        f"look like {reading.style}; {self._remedy(kind)} takes them as such"
                    )
                return None
            if all(word.strip().isdecimal() for word in words):
                return None  # codes; the base preparation decides
            if odd:
                self._note(
                    f"stays categories: nearly all values read as {reading.style}, but not "
                    f"{_listed(odd)}; {self._remedy(kind)} takes those for missing"
                )
                return None
        if len(found) > 1 and (kind == "date" or self.role is None):
            styles = " or ".join(r.style for r in found)
            unclear = f"values such as {example} may be read as {styles}"
            if self.role:
                raise UserError(f"{self.what}: {unclear}; {DATES_ARE}")
            remedy = f"{self._remedy(kind)} takes them as the first"
            self._note(f"stays categories: {unclear}; {remedy if kind != 'date' else DATES_ARE}")
            return None
        besides = f", and {_listed(odd)} taken for missing" if odd else ""
        self._note(f"is text such as {example}: read as {reading.style}{besides}")
        return reading

    def _finite(self, column: "pd.Series") -> "pd.Series":
        import pandas as pd

        values = pd.Series(column.to_numpy("float64", na_value=np.nan), index=column.index)
        huge = np.abs(values) > preparation.LARGEST
        if huge.any():
            infinite = np.isinf(values[huge]).all()
            what = "infinite values" if infinite else f"values beyond {preparation.LARGEST:.2g}"
            self.notes.append(f"column '{self.name}': {huge.sum()} {what} taken for missing")
            values = values.where(~huge)
        return values


def text(column: "pd.Series") -> "pd.Series":
    """Values as text (integer categories without a decimal point)."""
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        return column.astype("str")
    made = [None if pd.isna(v) else preparation.word(v) for v in column.astype(object)]
    return pd.Series(made, index=column.index, dtype="str")


def _listed(words: list[str]) -> str:
    more = f" and {len(words) - 3} others" if len(words) > 3 else ""
    return ", ".join(map(short, words[:3])) + more


def _counts_rows(values: np.ndarray) -> str:
    """Describe how distinct numbers resemble row numbers; empty if they do not."""
    if (values % 1 != 0).any():
        return ""
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return f"{'rises' if steps[0] > 0 else 'falls'} from row to row, in whole numbers"
    once = values.max() - values.min() == len(values) - 1
    return "holds each whole number of a range once" if once else ""


def _eight_digits(values: "pd.Series") -> "pd.Series | None":
    """Parse numbers such as 20201231 as dates, if all of them are valid."""
    import pandas as pd

    present = values.dropna()
    if not len(present) or not present.between(1800_01_01, 2199_12_31).all():
        return None
    if (present % 1 != 0).any():
        return None
    words = values.map("{:.0f}".format, na_action="ignore").astype("str")
    dates = pd.to_datetime(words, format="%Y%m%d", errors="coerce")
    return dates.astype("datetime64[us]") if dates.notna().sum() == len(present) else None


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
    return column.astype("datetime64[us]")
