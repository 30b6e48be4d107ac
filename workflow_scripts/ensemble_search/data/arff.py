"""A reader of ARFF files with precise errors, in one pass and linear time.

Attributes are numeric (``numeric``, ``real``, ``integer``), nominal (``{a, b}``), ``string`` or
``date``, with a format such as ``"yyyy-MM-dd"`` (Java's ``SimpleDateFormat``, as in Weka). Rows are
dense (``1, a`` or, as in Weka, ``1 a``) or sparse (``{0 1, 3 a}``). Values and names with spaces,
commas, quotes or braces are quoted by ``'`` or ``"``; a quote inside is escaped by ``\\``.
"""

import datetime
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ensemble_search.data import digits, file_limits
from ensemble_search.data.file_limits import Unreadable

if TYPE_CHECKING:
    import pandas as pd

NUMERIC = {"numeric", "real", "integer"}
QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*\'"""
VALUE = re.compile(rf"""\s*({QUOTED}|[^,\s"'{{}}]*)\s*(,|$)""")
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
ENTRY = re.compile(rf"""\s*(\d+)\s+({QUOTED}|[^,\s"'{{}}]+)\s*(,|$)""")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
QUOTES = re.compile(r"""["'{}]""")
SPECIAL = re.compile(r"""["'{}]|[^\s,]\s+[^\s,]""")  # needs more than splitting at commas
#: Letters of Java's date formats, single or repeated, and their equivalents for ``strptime``.
DATE_PARTS = {"d": "%d", "H": "%H", "h": "%I", "m": "%M", "s": "%S", "S": "%f", "a": "%p"}
DATE_PARTS |= {"Z": "%z", "X": "%z", "yy": "%y", "y": "%Y", "MMMM": "%B", "MMM": "%b", "M": "%m"}
DATE_PIECE = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z']+)")
ISO = "yyyy-MM-dd'T'HH:mm:ss"  # for dates without a format
DATE = "date "  # prefix of the strptime format
NAMED = 60  # maximum characters of a value in a message


def attributes(lines: Iterator[tuple[int, str]]) -> dict[str, list[str] | str]:
    """Read the header, up to and including ``@data``, from lines with their numbers.

    Returns, by name, ``numeric``, ``string``, ``date`` followed by a space and a ``strptime``
    format, or the list of its values (nominal), in order. Unreadable if a line does not belong in
    an ARFF header, or ``@data`` is missing.
    """
    found: dict[str, list[str] | str] = {}
    for number, line in _content(lines):
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@data":
            if not found:
                raise Unreadable(f"line {number}: there is no @attribute before @data")
            return found
        if keyword == "@relation":
            continue
        if keyword != "@attribute":
            raise Unreadable(
                f"line {number}: {_shown(line)} begins with none of @relation, @attribute, @data "
                "and % (a comment)"
            )
        name, kind = _attribute(number, line)
        if name in found:
            said = f"a second attribute is called {_shown(name)}; rename one"
            raise Unreadable(f"line {number}: {said}")
        found[name] = kind
    raise Unreadable("there is no line @data; the values stand below it")


def frame(lines: Iterator[tuple[int, str]]) -> "pd.DataFrame":
    """Read header and rows; see ``table_files.read_arff`` for the types.

    Unreadable as in :func:`attributes`, or if a row does not fit the header.
    """
    import pandas as pd

    kinds = attributes(lines)
    converters = [_converter(kind) for kind in kinds.values()]
    rows: list[list[Any]] = []
    for number, line in _content(lines):
        values = _sparse(number, line, kinds) if line[0] == "{" else _dense(number, line, kinds)
        file_limits.check_cells(len(rows) + 1, len(kinds))
        if len(values) == len(kinds) + 1 and line.endswith(","):
            values.pop()
        if len(values) != len(kinds):
            raise Unreadable(
                f"line {number}: has {len(values)} value{'s' * (len(values) != 1)}, the header has "
                f"{len(kinds)} attributes"
            )
        try:
            rows.append(
                [
                    None if value is None else convert(value)
                    for convert, value in zip(converters, values, strict=True)
                ]
            )
        except (ValueError, KeyError):
            raise Unreadable(f"line {number}: {_misfit(kinds, values)}") from None
    columns = zip(*rows, strict=True) if rows else ((),) * len(kinds)
    series = []
    for (name, kind), own in zip(kinds.items(), columns, strict=True):
        if isinstance(kind, list):
            # Without a value, categories would have the type of missing numbers.
            series.append(pd.Series(own, name=name, dtype="str").astype("category"))
        else:
            dtype = {"numeric": "float64", "string": "str"}.get(kind, "datetime64[us]")
            if any(type(value) is int for value in own):
                dtype = "object"
            series.append(pd.Series(own, name=name, dtype=dtype))
    return pd.concat(series, axis=1)


def _content(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield lines without comments and empty lines."""
    for number, line in lines:
        text = line.strip()
        if text and text[0] != "%":
            yield number, text


def _attribute(number: int, line: str) -> tuple[str, list[str] | str]:
    match = ATTRIBUTE.fullmatch(line)
    if match is None:
        raise Unreadable(f"line {number}: {_shown(line)} is not '@attribute name type'")
    name, kind = _unquoted(match[1]), match[2]
    what = f"line {number}: attribute {_shown(name)}"
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise Unreadable(f"{what}: '{{' is not closed by '}}' at the end of the line")
        values = [v for v in _values(number, kind[1:-1]) if v is not None]
        if not values:
            raise Unreadable(f"{what}: {_shown(kind)} declares no value")
        return name, values
    if kind.lower() in NUMERIC:
        return name, "numeric"
    if kind.lower() == "string":
        return name, "string"
    if kind.split(None, 1)[:1] and kind.split(None, 1)[0].lower() == DATE.strip():
        return name, DATE + _strptime(what, _unquoted(kind[len(DATE) :].strip()) or ISO)
    said = f"type {_shown(kind)} cannot be read" if kind else "has no type"
    raise Unreadable(
        f"{what}: {said}; attributes must be numeric, nominal (values in braces), string or date"
    )


def _strptime(what: str, written: str) -> str:
    """Translate a date format of Java's ``SimpleDateFormat``."""
    found, place = "", 0
    while place < len(written):
        match = DATE_PIECE.match(written, place)
        part = match and match[2]
        known = part and next((DATE_PARTS[p] for p in (part, part[0]) if p in DATE_PARTS), None)
        if match is None or (part and not known):
            raise Unreadable(
                f"{what}: its dates {_shown(written)} cannot be read; a format such as yyyy-MM-dd "
                "HH:mm:ss consists of y, M, d, H, h, a, m, s, S, Z, X and text in single quotes"
            )
        text = "'" if match[1] == "" else (match[1] or match[4] or "").replace("''", "'")
        found += known or text.replace("%", "%%")
        place = match.end()
    return found


def _date(text: str, written: str) -> datetime.datetime:
    """Parse a date; convert one with an offset to UTC."""
    found = datetime.datetime.strptime(text.strip(), written)
    return found.astimezone(datetime.UTC).replace(tzinfo=None) if found.tzinfo else found


def _converter(kind: list[str] | str) -> Any:
    """Return a value's parser, which raises KeyError or ValueError if the text does not fit."""
    if isinstance(kind, list):
        return {value: value for value in kind}.__getitem__
    if kind.startswith(DATE):
        return functools.partial(_date, written=kind.removeprefix(DATE))
    return digits.number if kind == "numeric" else str


def _misfit(kinds: Mapping[str, list[str] | str], values: list[str | None]) -> str:
    """Describe which value does not fit its attribute."""
    for (name, kind), value in zip(kinds.items(), values, strict=True):
        what, missing = f"{_shown(value or '')} of attribute {_shown(name)}", "a missing value is ?"
        try:
            if value is not None:
                _converter(kind)(value)
        except ValueError:
            kind_of = "a number" if kind == "numeric" else "a date of the format that it declares"
            return f"{what} is not {kind_of}; {missing}"
        except KeyError:
            return f"{what} is not among the values that it declares; add it there; {missing}"
    raise AssertionError(values)


def _dense(number: int, line: str, kinds: Mapping[str, list[str] | str]) -> list[str | None]:
    """Split a row at commas, or at spaces if that gives a value for each attribute."""
    if "," not in line and len(kinds) > 1 and not QUOTES.search(line):
        words = line.split()
        if len(words) == len(kinds):
            return [None if word == "?" else word for word in words]
    return _values(number, line)


def _values(number: int, line: str) -> list[str | None]:
    """Split at commas; ``?`` and empty values are None."""
    if not SPECIAL.search(line):
        return [None if v in ("?", "") else v for v in map(str.strip, line.split(","))]
    found, place = [], 0
    while True:
        match = VALUE.match(line, place)
        if match is None:
            raise Unreadable(
                f"line {number}: {_shown(line[place:])} cannot be split into values; those with "
                "spaces, quotes or braces must be quoted"
            )
        found.append(_value(match[1]))
        place = match.end()
        if not match[2]:
            return found


def _sparse(number: int, line: str, kinds: Mapping[str, list[str] | str]) -> list[str | None]:
    """Complete a sparse row: 0 for numbers, the first value for nominal attributes.

    Dates become the beginning of 1970.
    """
    values: list[str | None] = [
        kind[0]
        if isinstance(kind, list)
        else datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC).strftime(kind.removeprefix(DATE))
        if kind.startswith(DATE)
        else "0"
        for kind in kinds.values()
    ]
    text, place = line[1:-1].rstrip(), 0
    if not line.endswith("}"):
        raise Unreadable(f"line {number}: '{{' is not closed by '}}' at the end of the line")
    seen = set()
    while place < len(text):
        match = ENTRY.match(text, place)
        if match is None or (match[3] and match.end() == len(text)):
            raise Unreadable(
                f"line {number}: {_shown(text[place:])} of a sparse row is not 'index value'"
            )
        index = int(match[1]) if len(match[1]) < 10 else len(values)
        if index >= len(values):
            raise Unreadable(
                f"line {number}: index {_shown(match[1])} of a sparse row; the last attribute has "
                f"{len(values) - 1}"
            )
        if index in seen:
            raise Unreadable(f"line {number}: index {index} is duplicated in a sparse row")
        seen.add(index)
        values[index] = _value(match[2])
        place = match.end()
    return values


def _value(text: str) -> str | None:
    return None if text in ("?", "") else _unquoted(text)


def _unquoted(text: str) -> str:
    if text[:1] not in ("'", '"') or len(text) < 2:
        return text
    return ESCAPE.sub(_escaped, text[1:-1]) if "\\" in text else text[1:-1]


def _escaped(match: re.Match) -> str:
    code = match[1]
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return ESCAPES.get(code, code)


def _shown(text: str) -> str:
    return f"'{text[:NAMED]}...'" if len(text) > NAMED else f"'{text}'"
