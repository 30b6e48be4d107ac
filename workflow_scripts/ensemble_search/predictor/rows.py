"""Read the rows of a file in chunks, so that any file fits into memory; write text safely."""

import csv
import datetime
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.data import file_limits, sheets, text_files
from ensemble_search.data.cells import LARGEST, is_missing
from ensemble_search.runtime.errors import UserError, number_of
from ensemble_search.runtime.plugins import nearest

CHUNK = 10_000
#: A quoted field whose quotes make no difference.
NEEDLESS = re.compile(r'"(?<=[,\n\r]")(?! )([^",\n\r]*)"(?=[,\n\r])')
#: Empty fields between unquoted ones, and their replacements. The first one occurs twice because
#: the fields of ",,," share commas.
GAPS = (*[(",,", ",nan,")] * 2, ("\n,", "\nnan,"), (",\n", ",nan\n"), (",\r", ",nan\r"))
#: Characters that a terminal obeys, line ends, and those that change the direction of text.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: The start of a formula, at the start of a field.
FORMULA = re.compile(r"(^|;)( *[=+\-@＝＋－＠])(?=.)")


def chunks(
    path: Path, names: list[str], size: int = CHUNK, numeric: Collection[str] = ()
) -> Iterator[tuple[dict[str, Any], int]]:
    """Read some columns of a CSV file, ``size`` rows at a time; other columns are ignored.

    The file is text in UTF-8, else Latin-1, possibly compressed by gzip. Line 1 names the columns
    and shows the separator (one of ``text_files.SEPARATORS``). If all fields of the columns
    ``numeric`` are plain numbers or missing and no field needs its quotes, these are parsed as
    whole columns, in a fifth of the time.

    Yields the columns' text by name, or float64 with NaN if parsed as whole columns, and the number
    of bytes of the file read so far. UserError if the file cannot be read, a column is missing or
    duplicated, or a row is too short or too long.
    """
    number = 0  # number of lines before this chunk
    try:
        size_of_file = path.stat().st_size
        with (
            text_files.opened(path) as bytes_,
            io.TextIOWrapper(bytes_, encoding=text_files.encoding(path), newline="") as text,
        ):
            source = file_limits.lines(text)
            first = next(source, "")
            separator = text_files.separator(first, names)
            rows = _fields(chain([first] if first else [], source), separator)
            header = next(rows, None)
            if not header:
                raise UserError(f"--input: line 1 of '{path}' does not name the columns")
            titled = ""
            if len(matching(names, header)) < len(names):
                titled = text_files.below_title(header, source, names, rows.line_num + 1)
            places = dict(zip(names, _places(path, header, names, titled), strict=True))
            number, done = rows.line_num, False
            ahead: Iterator[str] = iter(())
            while not done:
                lines = list(islice(chain(ahead, source), size))
                by_commas = numeric if separator == "," else ()
                columns = _whole(lines, len(header), places, by_commas)
                if columns:
                    number, done = number + len(lines), len(lines) < size
                else:
                    ahead = iter(lines)
                    rows = _fields(chain(ahead, source), separator)
                    read: list[list[str]] = []
                    while len(read) < size:
                        row = next(rows, None)
                        if row is None:
                            done = True
                            break
                        if not row and len(header) > 1:
                            continue  # an empty line
                        row = row or [""]
                        if len(row) != len(header):
                            raise UserError(
                                f"--input: line {number + rows.line_num} of '{path}' has "
                                f"{number_of(len(row), 'field')}, the header has {len(header)}"
                            )
                        read.append(row)
                    number += rows.line_num
                    columns = {name: [row[place] for row in read] for name, place in places.items()}
                yield columns, size_of_file if done else bytes_.tell()
    except OSError as error:
        raise UserError(f"--input: '{path}' cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UserError(
            f"--input: '{path}' is neither UTF-8 nor Latin-1 text; save it as CSV in UTF-8"
        ) from None
    except (EOFError, zlib.error) as error:
        raise UserError(f"--input: '{path}' cannot be unpacked: {error}") from None
    except file_limits.Unreadable as error:
        raise UserError(f"--input: '{path}' cannot be read: {error}") from None
    except csv.Error as error:
        line = number + rows.line_num
        raise UserError(f"--input: line {line} of '{path}': {error}") from None


def parquet(path: Path, names: list[str], size: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Read some columns of a Parquet file, as :func:`chunks` does.

    UserError also if pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise UserError(
            f"--input: '{path}' needs pyarrow to be read: pip install pyarrow, or save it as CSV"
        ) from None
    try:
        file_limits.check_file(path)
        with pq.ParquetFile(path) as file:
            given = file.schema_arrow.names
            read = [given[place] for place in _places(path, given, names)]
            for field in file.schema_arrow:
                if field.name in read and _extension(field) == "pandas.period":
                    raise UserError(
                        f"--input: column '{field.name}' of '{path}' holds periods, which need "
                        "pandas to be read; save it as dates"
                    )
            for batch in file.iter_batches(size, columns=read):
                listed = {n: _listed(batch[own], n) for n, own in zip(names, read, strict=True)}
                yield listed, 0
            if not file.metadata.num_rows:
                yield {name: [] for name in names}, 0
    except OSError as error:
        raise UserError(f"--input: '{path}' cannot be read: {error.strerror or error}") from None
    except (pa.ArrowException, file_limits.Unreadable) as error:
        raise UserError(f"--input: '{path}' cannot be read: {error}") from None


def _listed(column: Any, name: str) -> list[Any]:
    """Convert a column of a Parquet file to Python's types, which have years up to 9999."""
    try:
        return column.to_pylist()
    except (ArithmeticError, ValueError) as error:
        kind = column.type
        raise file_limits.Unreadable(f"column '{name}' holds {kind}: {error}; convert it") from None


def _extension(field: Any) -> str:
    """Name of an extension type, whether or not Arrow knows it; empty if there is none."""
    name = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode(errors="replace")
    return getattr(field.type, "extension_name", name)


def types(path: Path, names: list[str]) -> dict[str, Any]:
    """Return Arrow types of columns in a Parquet file, without those :func:`parquet` rejects."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:  # reported by :func:`parquet`
        return {}
    try:
        found = {field.name: field.type for field in pq.read_schema(path) if field.name in names}
    except (OSError, pa.ArrowException):
        return {}
    values = {n: t.value_type if pa.types.is_dictionary(t) else t for n, t in found.items()}
    return {name: t for name, t in values.items() if not isinstance(t, pa.BaseExtensionType)}


def alike(values: Iterable[Any]) -> bool:
    """Whether values, except None, are of one kind; Arrow would read 1 beside a date as 1970."""
    return len({_kind(value) for value in values if value is not None}) < 2


def _kind(value: Any) -> Any:
    if type(value) in (int, float):
        return float
    kinds = (bool, str, datetime.datetime, datetime.date, datetime.timedelta)  # the first counts
    return next((kind for kind in kinds if isinstance(value, kind)), type(value))


def excel(path: Path, names: list[str]) -> Iterator[tuple[dict[str, Any], int]]:
    """Read some columns of the first sheet of an Excel file, all rows at once.

    UserError also if openpyxl is not installed.
    """
    if not sheets.is_readable():
        raise UserError(
            f"--input: '{path}' needs openpyxl to be read: pip install openpyxl, or save it as CSV"
        )
    try:
        header = sheets.header(path)
        found_all = len(matching(names, header)) == len(names)
        titled = "" if found_all else sheets.below_title(path, names)
        places = _places(path, header, names, titled)
        found = sheets.values(path)
    except OSError as error:
        raise UserError(f"--input: '{path}' cannot be read: {error.strerror or error}") from None
    except file_limits.Unreadable as error:
        raise UserError(f"--input: '{path}' cannot be read: {error}") from None
    yield {n: [row[place] for row in found] for n, place in zip(names, places, strict=True)}, 0


def uncalculated(path: Path, names: Collection[str]) -> list[str]:
    """Return a note on formulas in some columns of a readable Excel file that have no value."""
    counts = {name: n for name, n in sheets.unsaved(path).items() if name in names}
    return [sheets.about_unsaved(counts)] if counts else []


def _fields(lines: Iterable[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _whole(
    lines: Sequence[str], width: int, places: Mapping[str, int], numeric: Collection[str]
) -> dict[str, Any]:
    """Parse whole columns of lines; return nothing if that would change a value.

    NumPy and ``readings.number`` read the same numbers, except for infinity and words for NaN:
    what NumPy reads, the other reads too.
    """
    own = [place for name, place in places.items() if name in numeric]
    text = NEEDLESS.sub(r"\1", "".join(["\n", *lines]))
    lines = list(io.StringIO(text, newline=""))[1:]
    fits = all(line.count(",") == width - 1 for line in lines)
    if not (own and lines and width > 1 and fits) or '"' in text:
        return {}
    try:
        try:
            values = _numbers(text, own)
        except ValueError:  # possibly because of an empty field
            for gap, filled in GAPS:
                text = text.replace(gap, filled)
            values = _numbers(text, own)
    except ValueError:
        return {}
    others = len(own) < len(places)
    missing = np.isnan(values)
    fields = {
        row: [field.lstrip(" ") for field in lines[row].rstrip("\r\n").split(",")]
        for row in (range(len(lines)) if others else np.flatnonzero(missing.any(axis=1)).tolist())
    }
    cells = (fields[row][own[i]] for row, i in np.argwhere(missing).tolist())
    if (np.abs(values) > LARGEST).any() or not all(map(is_missing, cells)):
        return {}
    columns = iter(values.T)
    return {
        name: next(columns) if name in numeric else [row[place] for row in fields.values()]
        for name, place in places.items()
    }


def _numbers(text: str, places: Sequence[int]) -> np.ndarray:
    lines = io.StringIO(text, newline="")
    return np.loadtxt(lines, delimiter=",", comments=None, usecols=places, ndmin=2)


def _places(path: Path, header: list[str], names: list[str], titled: str = "") -> list[int]:
    if titled:
        raise UserError(f"--input: '{path}' has a title: {titled}")
    found = matching(names, header)
    missing = [name for name in names if name not in found]
    if missing:
        columns = "column" if len(missing) == 1 else "columns"
        quoted = ", ".join(f"'{name}'" for name in missing)
        others = [name for name in header if name not in found.values()]
        near = nearest(missing[0], header, others)
        raise UserError(f"--input: '{path}' has no {columns} {quoted}; {near}")
    counts, places = Counter(header), {name: place for place, name in enumerate(header)}
    for name in found.values():
        if counts[name] > 1:
            raise UserError(f"--input: '{path}' has two columns called '{name}'; rename one")
    return [places[name] for name in found.values()]


def matching(names: Sequence[str], given: Sequence[str]) -> dict[str, str]:
    """Return the given name for each name: the same, or the only one that differs in outer blanks.

    Readers of CSV files differ in which blanks of a header they keep. Names without one are absent.
    """
    exact, wanted = {*given}, {*names}
    if wanted <= exact:
        return {name: name for name in names}
    bare: dict[str, list[str]] = {}
    for name in given:
        if name not in wanted:
            bare.setdefault(name.strip(), []).append(name)
    alike = {name: [name] if name in exact else bare.get(name.strip(), ()) for name in names}
    return {name: own[0] for name, own in alike.items() if len(own) == 1}


def safe(text: str) -> str:
    """Make a text safe for a CSV file that a terminal shows or a spreadsheet opens.

    Control characters, line ends and those that change the direction of text become escapes, such
    as ``\\x1b``. Text that a spreadsheet would read as a
    formula gets a leading apostrophe: it begins with =, +, - or @, also full-width or after spaces,
    and is followed by more, unless it is a number. The same holds for text after a semicolon, which
    separates fields in some countries. Other text is unchanged.
    """
    text = CONTROL.sub(lambda found: repr(found[0])[1:-1], text)
    try:
        float(text)
    except ValueError:
        return FORMULA.sub(r"\1'\2", text)
    return text
