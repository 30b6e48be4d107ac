"""The fitted base preparation of a split: applied to its rows, and later to new ones.

New rows are columns in the user's format: text of a CSV file, or numbers, booleans, dates and text
of a frame. This module needs only NumPy: it is copied into delivered ensembles.
"""

import math
import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ensemble_search.data import cells, readings
from ensemble_search.runtime.errors import UserError

#: How values of a column are read, if their kind does not determine it: a style of ``readings``, or
#: one of ``cells``. Styles of numbers may have a unit.
READ = {
    "numeric": (cells.DAYS, cells.FROM_BOOLEANS),
    "date": (*readings.DATES, cells.EIGHT_DIGITS),
    "categorical": (cells.FROM_NUMBERS, cells.FROM_BOOLEANS),
    "text": (cells.FROM_NUMBERS, cells.FROM_BOOLEANS),
}
#: A word of a text, as scikit-learn's ``TfidfVectorizer`` finds them.
WORD = re.compile(r"\b\w\w+\b")
#: What notes say of values, and the number of examples in a note.
UNREADABLE = "that cannot be read, treated as missing"
HUGE = "infinite or above 3.4e38, treated as missing"
ABSENT = "missing: all of them"
UNKNOWN = "that the training rows do not have, treated as none of theirs"
OUTSIDE = "outside the range of the training rows"
EXAMPLES = 3
#: Values are far from those of the training rows if they are outside their range by more than this
#: share of its width. At least so many, and more than this share of the rows, are noted, too, if
#: they are only outside.
FAR, SEVERAL, MANY = 0.25, 3, 0.1
#: Largest number of days in a range of dates: that of ``datetime64[us]``.
LATEST = 2**63 / 86_400e6
#: The end of advice on writing numbers.
MOST_AND_NONE = ", of at most 3.4e38, and leave unknown ones empty"
#: Kinds of columns whose values are read; from this number of given values on, most must be
#: readable. In the training rows, nearly all were.
PARSED, ENOUGH = ("numeric", "date", "boolean"), 10
#: Maximum of ln((1 + n) / (1 + rows with a word)) + 1 for n rows; the minimum is 1.
LARGEST_IDF = 100.0
#: Maximum number of restored columns, and of all their categories: a feature row takes 1 MiB.
MOST = 2**17


def _of_known(compute: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Compute numbers from dates; NaN for a missing date."""
    return lambda dates: np.where(np.isnat(dates), np.nan, compute(dates).astype(float))


def _since(dates: np.ndarray, unit: str, larger: str) -> np.ndarray:
    """Count full units since the beginning of the larger unit, from 0."""
    begun = dates.astype(f"M8[{unit}]")
    return begun - dates.astype(f"M8[{larger}]").astype(begun.dtype)


#: Numeric parts of a date (datetime64[us]). The hour includes minutes as a fraction; weekdays start
#: with Monday, 0.
DATE_PARTS = {
    "year": _of_known(lambda dates: dates.astype("M8[Y]").astype(float) + 1970),
    "month": _of_known(lambda dates: _since(dates, "M", "Y").astype(float) + 1),
    "day": _of_known(lambda dates: _since(dates, "D", "M").astype(float) + 1),
    "weekday": _of_known(lambda dates: (dates.astype("M8[D]").astype(np.int64) + 3) % 7),
    "hour": _of_known(lambda dates: _since(dates, "us", "D").astype(float) / 1e6 / 3600),
    "days": cells.days,
}


def ranged(name: str, kind: str) -> str:
    """Return the feature whose range in the training rows is stored; empty for other kinds."""
    return {"numeric": name, "date": f"{name}.days"}.get(kind, "")


class _Column:
    """What columns of all kinds have: how words and texts are read, unless a kind differs."""

    name: str
    kind: str
    read: str | None
    categorical: bool = False  # whether the features are categories
    missing: Any = None  # the typed representation of a missing value

    def typed(self, value: Any) -> Any:
        """Convert a value, which is not missing, to a typed one; None if impossible."""
        return cells.written(value, self.read)

    def to_json(self) -> dict[str, Any]:
        """Return a description for :meth:`Preparation.to_json`."""
        return {"name": self.name, "kind": self.kind, **vars(self)}


@dataclass(frozen=True)
class Numbers(_Column):
    """The numeric features of a ``numeric``, ``date`` or ``boolean`` column.

    ``fills`` has the imputed values by feature: the column itself, or ``<column>.<part>`` of a
    date. ``read`` is how values are read, if the kind does not determine it (:data:`READ`).
    ``ends`` are the least and the greatest number of the training rows, days of dates (None:
    unknown, or no numbers).
    """

    name: str
    kind: str
    fills: Mapping[str, float]
    read: str | None = None
    ends: Sequence[float] | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return list(self.fills)

    @property
    def measured(self) -> int:
        """Place of the feature that ``ends`` are about."""
        return self.features.index(ranged(self.name, self.kind))

    def shown(self, number: float) -> str:
        """Write a number of the feature that ``ends`` are about: as a date, if it is one."""
        dated = self.kind == "date" or self.read == cells.DAYS
        if not dated or abs(number) > LATEST:
            return f"{number:.10g}"
        if number.is_integer():
            return str(np.datetime64(int(number), "D"))
        return str(np.datetime64(round(number * 24 * 60), "m")).replace("T", " ")

    @property
    def categorical(self) -> bool:  # type: ignore[override]
        """Whether the features are categories."""
        return self.kind == "boolean"

    @property
    def missing(self) -> Any:
        """The typed representation of a missing value."""
        return np.datetime64("NaT", "us") if self.kind == "date" else math.nan

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write the features of typed values, float64 with NaN or datetime64[us] with NaT, of shape
        (n,), into ``out``, float64, of shape (n, len(features)).
        """
        for place, (feature, fill) in enumerate(self.fills.items()):
            own = values
            if self.kind == "date":
                own = DATE_PARTS[feature.removeprefix(f"{self.name}.")](values)
            out[:, place] = np.where(np.isnan(own), fill, own)

    def typed(self, value: Any) -> Any:
        """Convert a value, which is not missing, to a float or datetime64; None if impossible."""
        if self.kind == "boolean" or self.read == cells.FROM_BOOLEANS:
            return cells.truth(value)
        if self.kind == "date":
            return cells.date(value, self.read)
        if self.read == cells.DAYS:
            date = cells.date(value, None)
            return None if date is None else float(cells.days(np.array([date]))[0])
        return cells.number(value, self.read)


@dataclass(frozen=True)
class Categories(_Column):
    """The one-hot features of a column.

    ``words`` are the categories with a feature, in the order of the features, and ``rare`` known
    ones without. ``fill`` is the category for missing values, and for words for these
    (``names.MISSING``). ``read`` is how values are read, if they are not text.
    """

    kind = "categorical"
    categorical = True

    name: str
    words: Sequence[str]
    rare: Sequence[str]
    fill: str
    read: str | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}={word}" for word in self.words]

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write the features of words, objects of shape (n,), with None for missing ones."""
        known = {word: place for place, word in enumerate(self.words)}
        missing = known.get(self.fill, -1)
        places = np.array(
            [
                known.get(word, missing if cells.is_missing(word) else -1)
                for word in values.tolist()
            ],
            dtype=int,
        )
        rows = np.flatnonzero(places >= 0)
        out[:] = 0
        out[rows, places[rows]] = 1


@dataclass(frozen=True)
class Texts(_Column):
    """The words of a text column: TF-IDF, as computed by scikit-learn's ``TfidfVectorizer``.

    ``words`` are those with a feature, in lower case, and ``idf`` their inverse document
    frequencies. ``read`` is how values are read, if they are not text.
    """

    kind = "text"

    name: str
    words: Sequence[str]
    idf: Sequence[float]
    read: str | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}:{word}" for word in self.words]

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write the features of texts, objects of shape (n,); None (missing) becomes all 0.

        Rows have the Euclidean norm 1, from exact sums, which are equal on all processors.
        """
        known = {word: place for place, word in enumerate(self.words)}
        out[:] = 0
        for row, text in enumerate(values.tolist()):
            counts = Counter(known[word] for word in split_words(text) if word in known)
            own = {place: count * self.idf[place] for place, count in counts.items()}
            norm = math.sqrt(math.fsum(value * value for value in own.values()))
            for place, value in own.items():
                out[row, place] = value / norm


Column = Numbers | Categories | Texts


def split_words(text: str | None) -> list[str]:
    """Return the words of a text, in lower case."""
    return WORD.findall(text.lower()) if text else []


@dataclass(frozen=True)
class Preparation:
    """The fitted base preparation.

    ``columns`` are in the order of their features, ``names`` in that of the user's data.
    """

    columns: Sequence[Column]
    names: Sequence[str]

    @property
    def features(self) -> list[str]:
        """Names of the features; a one-hot one is ``<column>=<word>``."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def categorical(self) -> np.ndarray:
        """Which features are categories, bool, of shape (p,)."""
        return np.array([c.categorical for c in self.columns for _ in c.features], dtype=bool)

    def places(self) -> dict[str, list[int]]:
        """Return the indices of every column's features."""
        found, place = {}, 0
        for column in self.columns:
            found[column.name] = list(range(place, place := place + len(column.features)))
        return found

    def write(self, typed: Callable[[str], np.ndarray], n: int) -> np.ndarray:
        """Compute the features of n rows, float64, of shape (n, p).

        ``typed`` returns a column by name: float64 with NaN, datetime64[us] with NaT, or words as
        objects with None.
        """
        X = np.empty((n, len(self.features)))
        for column, places in zip(self.columns, self.places().values(), strict=True):
            column.write(typed(column.name), X[:, places[0] : places[-1] + 1])
        return X

    def transform(self, columns: Mapping[str, Any]) -> tuple[np.ndarray, list[str]]:
        """Compute the features of new rows, float64, of shape (n, p).

        ``columns`` has the values of every column in ``names``, of equal length (else UserError):
        text as in a CSV file, or numbers, booleans, dates and text. Other columns are ignored.

        Also return notes, one line per column with unknown categories (all of its features are 0),
        with values that cannot be read (treated as missing, so imputed), or with numbers far from
        those of the training rows (:data:`FAR`), or if all of at least :data:`ENOUGH` values are
        missing. UserError if unreadable values are more than half
        of at least :data:`ENOUGH` values that are not missing.
        """
        lengths = {len(columns[name]) for name in self.names}
        if len(lengths) > 1:
            raise UserError(f"the columns have different lengths: {sorted(lengths)}")
        notes = _Notes()
        typed = {c.name: _typed(c, columns[c.name], notes) for c in self.columns}
        for column in self.columns:
            own = typed[column.name]
            if column.name in notes.unread:
                _check_read(column, own, notes)
            elif len(own) >= ENOUGH and _all_missing(own):
                notes.lines.append(f"column '{column.name}': {_values(len(own))} {ABSENT}")
        X = self.write(typed.__getitem__, max(lengths, default=0))
        return X, [*notes.lines, *self._far(X)]

    @cached_property
    def _ends(self) -> tuple[list[Numbers], list[int], np.ndarray]:
        """Columns with a known range, places of their features, and ranges of shape (2, n)."""
        places = self.places()
        known = [c for c in self.columns if isinstance(c, Numbers) and c.ends]
        ends = np.reshape([c.ends for c in known], (-1, 2)).T
        return known, [places[c.name][c.measured] for c in known], ends

    def widened(self, X: np.ndarray) -> "Preparation":
        """Return this preparation with ranges of numbers that include those in more feature rows.

        ``X`` are features of further rows that members are fitted on, of shape (n, p).
        """
        known, places, (low, high) = self._ends
        own = X[:, places]
        low, high = np.minimum(low, own.min(axis=0)), np.maximum(high, own.max(axis=0))
        ends = dict(zip((c.name for c in known), np.transpose([low, high]).tolist(), strict=True))
        columns = [replace(c, ends=ends[c.name]) if c.name in ends else c for c in self.columns]
        return replace(self, columns=columns)

    def _far(self, X: np.ndarray) -> Iterator[str]:
        """Note numbers and dates far from those of the training rows: in other units, say."""
        known, places, (low, high) = self._ends
        own = X[:, places]
        outside = (own < low) | (own > high)
        if not outside.any():
            return
        counts, beyond = outside.sum(axis=0), np.maximum(low - own, own - high)
        many = (counts >= SEVERAL) & (counts > MANY * len(X))
        for k in np.flatnonzero(many | (beyond > FAR * (high - low)).any(axis=0)).tolist():
            column = known[k]
            some, first = np.unique(own[outside[:, k], k], return_index=True)
            some = some[np.argsort(-beyond[outside[:, k], k][first], kind="stable")]
            such = ", ".join(dict.fromkeys(map(column.shown, some[:EXAMPLES].tolist())))
            such += ", ..." * (len(some) > EXAMPLES)
            yield (
                f"column '{column.name}': {_values(int(counts[k]))} {OUTSIDE}, "
                f"{column.shown(float(low[k]))} to {column.shown(float(high[k]))}: {such}"
            )

    def to_json(self) -> dict[str, Any]:
        """Describe the preparation as JSON, from which :meth:`from_json` restores it exactly."""
        return {"names": list(self.names), "columns": [c.to_json() for c in self.columns]}

    def outline(self) -> list[list[Any]]:
        """List name, kind, reading and number of features of each column, as JSON.

        Manifests also store this, to detect a preparation that is not the members'.
        """
        return [[c.name, c.kind, c.read, len(c.features)] for c in self.columns]

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> "Preparation":
        """Restore a preparation; raise UserError if it is not a result of :meth:`to_json`."""
        try:
            parts = described["columns"]
            words = sum(len(part.get(key, ())) for part in parts for key in ("words", "rare"))
            if len(parts) + words > MOST:
                raise ValueError(f"it has more than {MOST} columns and categories")
            columns = [_restored(part) for part in parts]
            names = [_text(name) for name in described["names"]]
            if sorted(names) != sorted(column.name for column in columns) or not columns:
                raise ValueError("names are not those of the columns")
            if len(set(names)) < len(names):
                raise ValueError("two columns have the same name")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            said = f"{type(error).__name__}: {error}"
            raise UserError(f"the preparation is damaged or forged: {said}") from None
        return cls(columns, names)


def _restored(described: Mapping[str, Any]) -> Column:
    name, kind, read = _text(described["name"]), described["kind"], described["read"]
    styled = kind == "numeric" and isinstance(read, str) and readings.is_style(read)
    if read is not None and not styled and read not in READ.get(kind, ()):
        raise ValueError(f"'{name}' is read as {read!r}")
    if kind in ("categorical", "text"):
        keys = ("words", "rare") if kind == "categorical" else ("words",)
        if not all(isinstance(described[key], list) for key in keys):
            raise TypeError(f"the words of '{name}' are not a list")
        words, *rare = ([_text(w) for w in described[key]] for key in keys)
        known = [*words, *(rare[0] if rare else ())]
        if not words or len(set(known)) < len(known):
            raise ValueError(f"the words of '{name}' are none, or one is there twice")
    if kind == "categorical":
        if described["fill"] not in known:
            raise ValueError(f"the imputed value of '{name}' is none of its categories")
        return Categories(name, words, rare[0], described["fill"], read)
    if kind == "text":
        idf = list(described["idf"])
        if len(idf) != len(words) or not all(
            type(value) is float and 1 <= value <= LARGEST_IDF for value in idf
        ):
            raise ValueError(
                f"the frequencies of the words of '{name}' are not from 1 to {LARGEST_IDF:g}"
            )
        return Texts(name, words, idf, read)
    if kind not in ("numeric", "boolean", "date"):
        raise ValueError(f"'{name}' is of kind {kind!r}")
    fills = {_text(feature): fill for feature, fill in described["fills"].items()}
    known = [f"{name}.{part}" for part in DATE_PARTS] if kind == "date" else [name]
    fine = all(type(fill) in (int, float) and abs(fill) <= cells.LARGEST for fill in fills.values())
    if not fills or not fine or not set(fills) <= set(known):
        raise ValueError(f"the imputed values of '{name}' are not numbers of its features")
    if kind == "boolean" and not set(fills.values()) <= {0, 1}:
        raise ValueError(f"the imputed value of '{name}' is not 0 or 1")
    ends = described.get("ends")  # which earlier versions did not write
    if ends is not None:
        least, greatest = ends
        limit = LATEST if kind == "date" or read == cells.DAYS else cells.LARGEST
        if not (ranged(name, kind) in fills and -limit <= least <= greatest <= limit):
            raise ValueError(f"the range of '{name}' is not two numbers in order")
        ends = [float(least), float(greatest)]
    return Numbers(name, kind, {f: float(fill) for f, fill in fills.items()}, read, ends)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


@dataclass
class _Notes:
    """Notes on unusual values, and the numbers of unreadable ones and examples by column."""

    lines: list[str] = field(default_factory=list)
    unread: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, column: Column, count: int, what: str, examples: Sequence[str]) -> None:
        """Add a note."""
        some = ", ".join(map(cells.short, examples[:EXAMPLES]))
        some += ", ..." * (len(examples) > EXAMPLES)
        hint = ""
        if what == UNREADABLE:
            self.unread[column.name] = count, some
            hint = f"; {_how_to_write(column)}"
        self.lines.append(f"column '{column.name}': {_values(count)} {what}: {some}{hint}")


def about(note: str) -> str:
    """Return the column and what is odd in a note, which those on other rows may share."""
    odd = "|".join((UNREADABLE, HUGE, ABSENT, UNKNOWN, OUTSIDE))
    return re.sub(rf"': \d+ values? ({odd}).*", r"': \1", note, flags=re.DOTALL)


def _values(count: int) -> str:
    return f"{count} value{'s' * (count != 1)}"


def _check_read(column: Column, typed: np.ndarray, notes: _Notes) -> None:
    """Raise UserError if most values of a column cannot be read: another form, or another unit."""
    count, some = notes.unread[column.name]
    given = count + int(np.count_nonzero(~np.isnan(typed))) if column.kind in PARSED else 0
    if given >= ENOUGH and 2 * count > given:
        raise UserError(
            f"column '{column.name}': {count} of {given} values cannot be read as those of the "
            f"training rows: {some}; {_how_to_write(column)}"
        )


def _all_missing(typed: np.ndarray) -> bool:
    if typed.dtype == object:
        return all(value is None for value in typed)
    return bool(np.isnan(typed).all())


def _typed(column: Column, values: Any, notes: _Notes) -> np.ndarray:
    """Convert the values of a column to typed ones; append notes on unusual ones."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(object), None)
    array: Any = values if isinstance(values, np.ndarray) else None
    code = "" if array is None else array.dtype.kind
    if code == "m":
        array, code = array / np.timedelta64(1, "s"), "f"
    if column.kind == "numeric" and code in ("f", "i", "u"):
        with np.errstate(over="ignore"):  # of wider floats: infinite
            own = array.astype(float)
        return _kept(column, own, np.abs(own) <= cells.LARGEST, np.isnan(own), own, notes)
    if column.kind == "date" and code == "M":
        own = cells.microseconds(array)
        return _kept(column, own, ~np.isnat(own), np.isnat(array), array, notes)
    listed = array.tolist() if code in ("O", "U", "T") else list(values if array is None else array)
    if column.kind == "numeric" and column.read in (None, readings.PLAIN):
        own, read = readings.plain(listed)
        read &= ~(np.abs(own) > cells.LARGEST)
        rest = np.flatnonzero(~read)
        if len(rest):
            own[rest] = _each(column, [listed[place] for place in rest.tolist()], notes)
        return own
    return _each(column, listed, notes)


def _kept(column, own, usable, absent, given, notes: _Notes) -> np.ndarray:
    """Replace unusable values by missing ones, and note those that were not absent."""
    if len(odd := np.flatnonzero(~usable & ~absent)):
        what = HUGE if column.kind == "numeric" else UNREADABLE
        notes.add(column, len(odd), what, [*map(str, np.unique(given[odd]))])
    return np.where(usable, own, column.missing)


def _each(column: Column, values: list[Any], notes: _Notes) -> np.ndarray:
    """Convert values to typed ones, one by one; append notes on unusual ones."""
    # Each distinct value once; by type, too, because 1 == True.
    places: dict[Any, int] = {}
    try:
        rows = [places.setdefault((type(cell), cell), len(places)) for cell in values]
    except TypeError:
        if any(map(cells.is_signalling, values)):
            values = [None if cells.is_signalling(cell) else cell for cell in values]
            return _each(column, values, notes)
        raise UserError(
            f"column '{column.name}' holds lists or the like; a value has to be text, a number, a "
            "boolean or a date"
        ) from None
    known = {*column.words, *column.rare} if isinstance(column, Categories) else None
    by_number = _by_number({*column.words} if isinstance(column, Texts) else known or set())
    found: list[Any] = []
    odd: dict[str, dict[int, str]] = {UNREADABLE: {}, HUGE: {}, UNKNOWN: {}}
    for place, (_, given) in enumerate(places):
        cell = getattr(given, "start_time", given)  # for a period
        # Known words stay unchanged: NA, in data not from a CSV file, or an integer beyond 2^53.
        itself = known is not None and isinstance(cell, str) and cell in known
        if isinstance(cell, str) and not itself:
            cell = cell.strip(" ")  # as in the training rows of a CSV file
            itself = known is not None and cell in known
        missing = not itself and cells.is_missing(cell)
        value: Any = cell if itself else None if missing else column.typed(cell)
        huge = isinstance(cell, int) and abs(cell) > cells.LARGEST  # Python may not convert it
        what = UNREADABLE
        if column.kind == "numeric" and (
            huge or (value is not None and not abs(value) <= cells.LARGEST)
        ):
            value, what = None, HUGE
        unknown, number = known is None or value not in known, isinstance(cell, numbers.Real)
        if isinstance(cell, (bool, np.bool_)):  # TRUE, of a sheet or text, among other words
            alike = [word for word in known or () if word.lower() == str(cell).lower()]
            value = alike[0] if unknown and len(alike) == 1 else value
        elif unknown and number:
            value = by_number.get(_key(cell), value)
        if value is None and isinstance(cell, str) and column.kind in PARSED:
            missing |= cells.is_placeholder(cell)  # as in the training rows
        if value is None and not missing:
            odd[what][place] = "a huge number" if huge else str(cell)
        elif value is not None and known is not None and value not in known:
            odd[UNKNOWN][place] = str(cell)
        found.append(column.missing if value is None else value)
    for what, own in odd.items():
        if own:
            notes.add(column, sum(row in own for row in rows), what, [*own.values()])
    dtype = object if column.missing is None else "M8[us]" if column.kind == "date" else float
    return np.array(found, dtype)[np.array(rows, dtype=int)]


def _by_number(words: set[str]) -> dict[Any, str]:
    """Return the words that are numbers, by number, unless several words have the same number.

    pandas may read parts of such a column as numbers: the code 01234 as 1234. Integers that floats
    do not hold have a :func:`_key` of their own.
    """
    found: dict[Any, list[str]] = {}
    for own in words:
        number = readings.number(own, readings.PLAIN)
        if number is not None:
            found.setdefault(number, []).append(own)
            if abs(number) >= cells.EXACT and cells.INTEGER.fullmatch(own):
                found.setdefault(_key(int(own)), []).append(own)
    return {number: alike[0] for number, alike in found.items() if len(alike) == 1}


def _key(cell: Any) -> Any:
    """Return the key of a number: itself, or (integer,) if floats do not distinguish it."""
    whole = isinstance(cell, numbers.Integral) and abs(int(cell)) >= cells.EXACT
    return (int(cell),) if whole else cell


def _how_to_write(column: Column) -> str:
    if column.kind == "date" or column.read == cells.DAYS:
        return "write dates as 2020-12-31"
    if column.kind == "boolean" or column.read == cells.FROM_BOOLEANS:
        return "write true or false"
    if column.kind != "numeric":  # numbers as categories or texts
        return f"write numbers as -1234.5{MOST_AND_NONE}"
    return f"write numbers as {readings.example(column.read or readings.PLAIN)}{MOST_AND_NONE}"
