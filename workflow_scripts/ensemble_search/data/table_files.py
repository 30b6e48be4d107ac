"""Readers of CSV, Parquet, ARFF and Excel files; errors name the file and what is wrong with it.

The ``attrs`` of a frame that is read are fields of ``sources.Raw``.
"""

import csv
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ensemble_search.data import arff, digits, file_limits, roles, sheets, text_files
from ensemble_search.data.file_limits import Unreadable
from ensemble_search.runtime.errors import UserError, number_of
from ensemble_search.runtime.names import MISSING, NONE
from ensemble_search.runtime.plugins import nearest

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: Suffix of other packages' messages about a file.
HINTS = {
    "CSV": "it must be text, separated by commas, semicolons, tabs or |",
    "Parquet": "it must be a whole Parquet file",
    "ARFF": "it must be UTF-8 text",
    "Excel": "it must be an Excel file, its first sheet a table",
}
#: First bytes of files that often have the wrong extension.
MAGIC = {
    b"BZh": "it is compressed (bzip2); unpack it",
    b"\xfd7zXZ\0": "it is compressed (xz); unpack it",
    b"\x28\xb5\x2f\xfd": "it is compressed (zstd); unpack it",
    b"PAR1": "it is a Parquet file; call it .parquet",
    b"\xd0\xcf\x11\xe0": "it is an old or encrypted spreadsheet; save it as .xlsx or CSV",
    b"PK\3\4": "it is a zip archive or a spreadsheet; unpack it, or call a spreadsheet .xlsx",
    b"\xff\xfe\0\0": "it is UTF-32 text; save it as UTF-8",
    b"\xff\xfe": "it is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16 text; save it as UTF-8",
}
#: Why the column of an index is not a feature.
STORED = "pandas stored it as the index"
#: Integers with at least this many characters may lose digits in double precision.
LONG = 16
#: Fractions with at most this many characters may be names, such as versions.
SHORT = 6
#: A code that looks like an integer, perhaps with an exponent.
CODE = re.compile(r"0\d+([eE]\d+)?", re.ASCII)


def csv_header(path: Path, target: str, tried: Sequence[str] = text_files.ENCODINGS) -> list[str]:
    """Read and check the names of the columns of a CSV file; see ``sources.from_file``."""
    with readable(path, "CSV"):
        _check_start(path)
        for encoding in tried:
            with suppress(UnicodeDecodeError), text_files.text(path, encoding) as stream:
                lines, separator = _separated(stream, target)
                number, names = next(_rows(lines, separator), (0, None))
                titled = ""
                if names and target not in names:
                    titled = text_files.below_title(names, lines, [target], number + 1)
                break
        else:
            raise Unreadable("line 1 is neither UTF-8 nor Latin-1 text; save it as UTF-8")
    if names and re.match(r"sep=.?$", names[0]):
        said = "is for Excel; remove it: line 1 must name columns"
        raise UserError(f"file: line 1 of '{path}' {said}")
    if not names:
        found = "is empty" if names is None else "begins with an empty line"
        raise UserError(f"file: '{path}' {found}; line 1 must name the columns")
    _check_title(path, titled)
    if names[0].startswith("\ufeff"):  # pandas would leave it out, but the predictor would not
        raise UserError(f"file: '{path}' begins with two byte order marks; remove one")
    if not names[0]:
        names[0] = text_files.INDEX
    return _check_names(path, names, target)


def _check_title(path: Path, titled: str) -> None:
    if titled:
        raise UserError(f"file: '{path}' has a title: {titled}")


def _separated(stream: IO[str], target: str) -> tuple[Iterator[str], str]:
    """Return the lines of a file, and the separator of their fields."""
    lines = file_limits.lines(stream)
    first = next(lines, "")
    return chain([first] if first else [], lines), text_files.separator(first, [target])


def _rows(lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Split a CSV file into fields, as pandas does; yield each row's last line and its fields."""
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    while True:
        first = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            said = f"line {first}: {error}; is a quote not closed, or not doubled?"
            raise Unreadable(said) from None
        yield rows.line_num, row


def read_csv(path: Path, target: str, also_text: Collection[str] = ()) -> "pd.DataFrame":
    """Read a CSV file; see ``sources.from_file``."""
    import pandas as pd

    header = csv_header(path, target)
    with readable(path, "CSV"):
        encoding = text_files.encoding(path)
    if encoding == text_files.LATIN_1:  # also if line 1 is UTF-8
        header = csv_header(path, target, [encoding])
    seen, place = {name: _Seen() for name in header}, header.index(target)
    with readable(path, "CSV"):
        with _text(path, encoding) as stream:
            lines, separator = _separated(stream, target)
            # pandas would silently truncate or pad rows that do not fit
            for rows, (number, row) in enumerate(_rows(lines, separator), 1):
                if row and len(row) != len(header):
                    raise UserError(
                        f"file: line {number} of '{path}' has "
                        f"{number_of(len(row), 'field')}, the header has {len(header)}"
                    )
                file_limits.check_cells(rows, len(header))
                if rows > 1:  # a column may be called 01, or nan
                    _look_at(seen.values(), row, bool(row) and row[place] != "")
        words = {name: dict(own.missing) for name, own in seen.items() if own.missing}
        codes = {name for name, own in seen.items() if own.code}
        large = {name for name, own in seen.items() if own.large} - codes
        versions = {
            n: said for n, o in seen.items() if (said := digits.like_versions(o.short, not o.long))
        }

        def read(missing: Iterable[str], **options: Any) -> pd.DataFrame:
            # Pass a stream, not the name, which may look like a URL.
            with text_files.opened(path) as stream:
                return pd.read_csv(
                    stream,
                    sep=separator,
                    encoding=encoding,
                    index_col=False,
                    keep_default_na=False,
                    low_memory=False,
                    na_values={**dict.fromkeys(header, sorted(missing)), target: [""]},
                    skipinitialspace=True,
                    **options,
                )

        as_text = [target, *codes, *large, *also_text, *versions]
        frame = read(MISSING, dtype=dict.fromkeys(as_text, "str"))
        words.pop(target, None)
        if none := [n for n, own in words.items() if NONE in own and frame[n].dtype == "str"]:
            frame[none] = read(MISSING - {NONE}, usecols=none, dtype="str")[none]
    _strip(frame, target, words)
    for name in large - {target, *also_text}:
        frame[name] = digits.exact(frame[name])
    others = {target, *codes, *versions}
    latin = encoding == text_files.LATIN_1
    notes = ["the file is not UTF-8 text: read as Latin-1 (Windows-1252)"] if latin else []
    notes += [
        f"column '{name}' has {said}; if they are names, read them as such with "
        f"{roles.written('categorical', name)}"
        for name, said in versions.items()
        if name not in (target, *also_text)
    ]
    notes += [
        f"column '{name}' {said}"
        for name, own in seen.items()
        if name not in also_text and (said := own.thousands(frame[name]))
    ]
    frame.attrs = {
        "missing": words,
        "rounded": {name: tuple(own.rounded) for name, own in seen.items() if own.rounded},
        "worded": [n for n in header if n not in others and frame[n].dtype == "str"],
        "ignored": {text_files.INDEX: STORED} if header[0] == text_files.INDEX != target else {},
        "notes": notes,
    }
    return frame


def _strip(frame: "pd.DataFrame", target: str, words: dict[str, dict[str, int]]) -> None:
    """Remove spaces at the ends of texts, of which pandas only removes those before a field.

    Texts of spaces only stay: they are quoted. Add those that now mean a missing value to
    ``words``, counts by column.
    """
    for name in frame.columns[frame.dtypes == "str"]:
        bare = frame[name].str.strip(" ")
        changed = bare.ne(frame[name]) & bare.ne("") & bare.notna()
        if not changed.any():
            continue
        frame[name] = frame[name].where(~changed, bare)
        if name != target and (absent := changed & bare.isin(MISSING - {NONE})).any():
            frame[name] = frame[name].mask(absent)
            counts = bare[absent & frame[target].notna()].value_counts().to_dict()
            own = Counter(words.get(name, {})) + Counter(counts)
            words[name] = dict(own)


class _Seen:
    """Properties of a CSV column's fields that pandas does not report."""

    def __init__(self) -> None:
        #: Whether one is a code such as 01234 or 012E4, which is not a number.
        self.code = False
        #: Whether one is an integer that pandas may round.
        self.large = False
        #: Words for missing values, with counts in the rows that have a target.
        self.missing: Counter[str] = Counter()
        #: Number of fractions that lose digits, and the first of them.
        self.rounded: list[Any] = []
        #: Fractions of at most SHORT characters, such as 1.1 and 1.10; whether there are longer
        #: ones, which are not versions.
        self.short, self.long = set[str](), False
        #: Number of fractions such as 1.200, and the first of them; whether there are others.
        self.grouped, self.pointed = list[Any](), False

    def thousands(self, column: "pd.Series") -> str | None:
        """Describe the column's numbers if points may separate their thousands."""
        import pandas as pd

        if not self.grouped or self.pointed or self.grouped[0] == column.count():
            return None
        values = pd.to_numeric(column, errors="coerce")
        if values.count() < column.count():
            return None  # text, in which numbers are looked for later
        values = values.astype(float).abs()
        # 0.125 is a fraction, but is not among the words with a point that were looked at.
        whole = not ((values > 0) & (values < 1)).any()
        return digits.like_thousands(values.max(), self.grouped[1]) if whole else None


def _look_at(columns: Iterable[_Seen], row: Sequence[str], used: bool) -> None:
    """Add a row to what is known of the columns; ``used``: whether it has a target."""
    for own, word in zip(columns, row, strict=False):
        if not word:
            continue
        if (len(word) > digits.DIGITS or word.find("-", 2) > 0) and digits.rounds(word):
            own.rounded = [own.rounded[0] + 1, own.rounded[1]] if own.rounded else [1, word]
        if word in MISSING:
            own.missing[word] += used
        elif word[0] == "0":
            own.code = own.code or CODE.fullmatch(word) is not None
        elif "." in word:
            if len(word) <= SHORT:
                own.short.add(word)
            else:
                own.long = True
            if not own.pointed:
                if digits.THOUSANDS.fullmatch(word):
                    own.grouped = [own.grouped[0] + 1, own.grouped[1]] if own.grouped else [1, word]
                else:
                    own.pointed = True
        elif len(word) >= LONG and not own.large:
            own.large = digits.INTEGER.fullmatch(word) is not None


def parquet_header(path: Path, target: str, drop: Collection[str] = ()) -> list[str]:
    """Read and check the names and types of the columns of a Parquet file.

    An unnamed index stored by pandas is not a column. Columns in ``drop`` may have any type.
    """
    import pyarrow.parquet as pq

    with readable(path, "Parquet"), path.open("rb") as stream:
        file_limits.check_file(path)
        file = pq.ParquetFile(stream)
        schema, content = file.schema_arrow, file.metadata
        file_limits.check_cells(content.num_rows, content.num_columns)
        groups = (content.row_group(i).total_byte_size for i in range(content.num_row_groups))
        file_limits.check_bytes(sum(groups), " unpacked")
        index = _pandas_index((schema.metadata or {}).get(b"pandas", b"{}"))
    columns = [column for column in schema if column.name not in index or index[column.name]]
    names = [column.name for column in columns]
    _check_names(path, names, target)
    used = [column for column in columns if column.name == target or column.name not in drop]
    kinds = {column.name: _unusable(column, column.name == target) for column in used}
    if kind := kinds.pop(target):
        raise UserError(
            f"target: column '{target}' of '{path}' holds {kind}; "
            "a target must be numbers (a regression), text or booleans: convert it"
        )
    if odd := {name: kind for name, kind in kinds.items() if kind}:
        remedy = roles.written("drop", *drop, *odd)
        raise UserError(
            *(
                f"file: column '{name}' of '{path}' holds {kind}; only numbers, booleans, dates "
                f"and text can be used: convert it, or drop it with '{remedy}'"
                for name, kind in odd.items()
            )
        )
    return names


def _pandas_index(metadata: bytes) -> dict[str, bool]:
    """Return the columns in which pandas stored its index, and whether it had a name."""
    try:
        index = json.loads(metadata).get("index_columns", [])
        # A range of row numbers is stored as a mapping and is not a column.
        if isinstance(index, list) and all(isinstance(name, (str, dict)) for name in index):
            names = [name for name in index if isinstance(name, str)]
            return {name: not re.fullmatch(r"__index_level_\d+__", name) for name in names}
    except (ValueError, AttributeError, RecursionError):
        pass
    raise Unreadable("what pandas wrote about its index is damaged; write it again (index=False)")


def _unusable(column: "pa.Field", as_label: bool) -> str | None:
    """Describe the content of a Parquet column if it cannot be used as a feature, or as labels."""
    import pyarrow as pa

    types, values, extension = pa.types, _values(column), _extension(column)
    if extension in ("pandas.period", "pandas.interval"):
        return extension if as_label else None
    # A date of any type is a point in time; as a class, it is treated as a mistake.
    if as_label and types.is_temporal(values):
        return str(values)
    if as_label and types.is_null(values):
        return "no values"
    odd = (
        *(types.is_nested, types.is_binary, types.is_large_binary),
        *(types.is_binary_view, types.is_fixed_size_binary),
    )
    return extension or (str(values)[:60] if any(is_odd(values) for is_odd in odd) else None)


def _values(column: "pa.Field") -> "pa.DataType":
    import pyarrow as pa

    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _extension(column: "pa.Field") -> str:
    """Name of another package's extension type, whether or not Arrow knows it."""
    name = (column.metadata or {}).get(b"ARROW:extension:name", b"").decode(errors="replace")
    return getattr(column.type, "extension_name", name)


def read_parquet(path: Path, target: str, drop: Collection[str] = ()) -> "pd.DataFrame":
    """Read a Parquet file; columns in ``drop`` have missing values only."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    header = parquet_header(path, target, drop)
    names = [name for name in header if name == target or name not in drop]
    with readable(path, "Parquet"), path.open("rb") as stream:
        file = pq.ParquetFile(stream)
        index = _pandas_index((file.schema_arrow.metadata or {}).get(b"pandas", b"{}"))
        table = file.read().select(names)
        for place, field in enumerate(table.schema):
            if field.type == pa.time64("ns"):  # pandas rejects these digits; no role uses them
                cut = table.column(place).cast(pa.time64("us"), safe=False)
                table = table.set_column(place, field.name, cut)
        for column in names:
            try:
                table[column].validate(full=True)
            except ValueError as error:
                raise Unreadable(f"column '{column}' is damaged: {error}") from None
        # Names become text, whatever their type in pandas. Missing values would turn integers into
        # floats, which cannot represent all of them.
        whole = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
        how: dict[str, Any] = {"ignore_metadata": True, "types_mapper": whole.get}
        try:
            frame = table.to_pandas(**how)
        except _rejections():
            for column in names:
                try:
                    table.select([column]).to_pandas(**how)
                except _rejections() as error:
                    kind = table.schema.field(column).type
                    said = f"column '{column}' holds {kind}: {error}; convert it"
                    raise Unreadable(said) from None
            raise
        for field in table.schema:
            if pa.types.is_decimal(_values(field)):
                cells = frame[field.name].astype(object)
                plain = [None if pd.isna(cell) else _plain(cell) for cell in cells]
                frame[field.name] = pd.Series(plain, dtype=object)
        if len(names) < len(header):
            frame = frame.reindex(columns=header)
        left = [n for n, named in index.items() if not named and n in file.schema_arrow.names]
        frame.attrs = {
            "ignored": {name: STORED for name in header if name in index and name != target},
            "notes": [f"column '{name}' left out: {STORED}" for name in left],
        }
        return frame


def _plain(number: Decimal) -> int | float:
    """Convert a decimal number to an integer, if it is one, or to a float."""
    whole = number.is_finite() and number == number.to_integral_value()
    return int(number) if whole else float(number)


def arff_header(path: Path, target: str) -> list[str]:
    """Read and check the names of an ARFF file's attributes, up to ``@data``."""
    with readable(path, "ARFF"), _text(path) as stream:
        names = list(arff.attributes(enumerate(file_limits.lines(stream), 1)))
    return _check_names(path, names, target)


def read_arff(path: Path, target: str | None = None) -> "pd.DataFrame":
    """Read an ARFF file: numeric columns as float64, nominal ones as categories, dates as
    datetime64[us], the rest as text.

    Nominal values are kept as written in the file, regardless of the order of their declaration.
    ``target`` is checked before the rows are read. UserError if it is not ARFF, or has attributes
    other than numeric, nominal, string and date.
    """
    if target is not None:
        arff_header(path, target)
    with readable(path, "ARFF"), _text(path) as stream:
        frame = arff.frame(enumerate(file_limits.lines(stream), 1))
    _check_names(path, list(frame))
    return frame


@contextmanager
def _text(path: Path, encoding: str = text_files.UTF_8) -> Iterator[Any]:
    """Open a text file; raise a clear error if it is too large or not text."""
    _check_start(path)
    with text_files.text(path, encoding) as stream:
        try:
            yield stream
        except UnicodeDecodeError:
            with text_files.opened(path) as lines:
                raise Unreadable(_no_utf8(lines)) from None


def _check_start(path: Path) -> None:
    """Raise Unreadable if a file is too large, or starts like another format."""
    file_limits.check_file(path)
    with path.open("rb") as stream:
        start = stream.read(8)
    for magic, what in MAGIC.items():
        if start.startswith(magic):
            raise Unreadable(what)


def _no_utf8(lines: Iterable[bytes]) -> str:
    """Find the first line that is not UTF-8."""
    for number, line in enumerate(lines, 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = line[error.start]
            return f"line {number} is not UTF-8 text (byte 0x{byte:02x}); save the file as UTF-8"
    return "it is not UTF-8 text; save the file as UTF-8"


@contextmanager
def readable(path: Path, kind: str | None = None) -> Iterator[None]:
    """Turn a reader's exception about a file into one line."""
    try:
        yield
    except MemoryError:
        raise UserError(f"file: '{path}' is too large for the memory, or damaged") from None
    except _rejections() as error:
        if isinstance(error, OSError) and error.errno:
            raise UserError(f"file: '{path}' cannot be read: {os.strerror(error.errno)}") from None
        if kind is None:
            raise
        hint = "" if isinstance(error, Unreadable) else f"; {HINTS[kind]}"
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"file: '{path}' cannot be read as {kind}: {reason}{hint}") from None


def _rejections() -> tuple[type[Exception], ...]:
    """List the exceptions of readers; called only after one was raised: importing Arrow is slow."""
    from pyarrow.lib import ArrowException

    return OSError, EOFError, zlib.error, ValueError, ArithmeticError, ArrowException


def _check_names(path: Path, names: list[str], target: str | None = None) -> list[str]:
    """Reject missing and duplicate column names, and a target that is not among them."""
    seen = set()
    for i, name in enumerate(names):
        if not name.strip():
            raise UserError(f"file: column {i + 1} of '{path}' has no name; name or remove it")
        if "\0" in name:  # NumPy drops it at the end of text
            said = "holds a null character; rename it"
            raise UserError(f"file: the name of column {i + 1} of '{path}' {said}")
        if name in seen:
            raise UserError(f"file: '{path}' has two columns called '{name}'; rename one")
        seen.add(name)
    if target is not None and target not in seen:
        raise UserError(f"target: '{path}' has no column '{target}'; {nearest(target, names)}")
    return names


def excel_header(path: Path, target: str) -> list[str]:
    """Read and check the names of the columns of the first sheet of an Excel file."""
    if not sheets.is_readable():
        said = "needs openpyxl to be read: pip install openpyxl, or save it as CSV"
        raise UserError(f"file: '{path}' {said}")
    with readable(path, "Excel"):
        names = sheets.header(path)
        titled = "" if target in names else sheets.below_title(path, [target])
    _check_title(path, titled)
    return _check_names(path, names, target)


def read_excel(path: Path, target: str) -> "pd.DataFrame":
    """Read the first sheet of an Excel file; its cells keep their types."""
    import pandas as pd

    names = excel_header(path, target)
    with readable(path, "Excel"):
        rows, unsaved = sheets.values(path), sheets.unsaved(path)
    if rows and unsaved.get(target) == len(rows):
        raise UserError(f"target: {sheets.about_unsaved({target: len(rows)})}")
    if rows and len(rows[0]) > len(names):
        raise UserError(f"file: column {len(names) + 1} of '{path}' has no name; name or remove it")
    frame = pd.DataFrame(rows, columns=names, dtype=object)
    frame.attrs = {
        "ignored": {n: STORED for n in names[:1] if n == text_files.INDEX != target},
        "missing": {name: {sheets.UNSAVED: n} for name, n in unsaved.items() if name != target},
        "notes": [sheets.about_unsaved(unsaved)] if unsaved else [],
    }
    return frame


#: By extension: readers of the column names, and of the whole file.
FORMATS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    ".csv": (csv_header, read_csv),
    ".tsv": (csv_header, read_csv),
    ".xlsx": (excel_header, read_excel),
    ".parquet": (parquet_header, read_parquet),
    ".pq": (parquet_header, read_parquet),
    ".arff": (arff_header, read_arff),
}
