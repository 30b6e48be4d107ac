"""Sources of data sets: OpenML, a file, or scikit-learn; one function each.

A source is written as in a study: ``{"openml": 772, "version": 1, "md5": "..."}``,
``{"file": "mine.csv", "target": "label"}`` or ``{"sklearn": "digits"}``. This module imports
nothing heavy, because the workflow uses it for folder names.
"""

import csv
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ensemble_search.data import paper_sets, roles
from ensemble_search.data.arff import Unreadable
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.plugins import nearest

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

KEYS = {
    "openml": {"openml", "version", "md5", "columns"},
    "file": {"file", "target", "columns"},
    "sklearn": {"sklearn", "columns"},
}
#: Address of an OpenML server. The client turns the host name into a folder, part by part.
ADDRESS = re.compile(
    r"https?://([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[!-~]*)?"
)
LARGEST_ID = 10**9
BUNDLED = ("breast_cancer", "digits", "iris", "wine")
#: Follows messages of other packages about a file.
HINTS = {
    "CSV": "it must be UTF-8 text, separated by commas",
    "Parquet": "it must be a whole Parquet file",
    "ARFF": "it must be UTF-8 text",
}
#: First bytes of files that often have the wrong extension.
MAGIC = {
    b"\x1f\x8b": "it is compressed (gzip); unpack it",
    b"BZh": "it is compressed (bzip2); unpack it",
    b"\xfd7zXZ\0": "it is compressed (xz); unpack it",
    b"\x28\xb5\x2f\xfd": "it is compressed (zstd); unpack it",
    b"PK\3\4": "it is a zip archive or a spreadsheet; unpack it, or save it as CSV",
    b"\xff\xfe": "it is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16 text; save it as UTF-8",
}
#: Attribute of a frame: the columns that pandas stored as its index.
INDEX = "index"
# pandas would also treat None and n/a as missing; they are labels in several data sets.
MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"]


@dataclass(frozen=True)
class Raw:
    """A data set as in its source.

    Attributes
    ----------
    frame
        All columns, including the target, of shape (n_rows, n_features + 1).
    target
        Name of the target column.
    name
        Name of the data set in the source.
    source
        The source without pins and absolute paths, as in ``dataset.json``.
    version, md5
        OpenML's version; MD5 of the ARFF or of the user's file. None if not applicable.
    ignored
        Columns that the source marks as no features (row ids), with the reason.
    """

    frame: "pd.DataFrame"
    target: str
    name: str
    source: dict[str, Any]
    version: int | None = None
    md5: str | None = None
    ignored: dict[str, str] = field(default_factory=dict)


def source_kind(source: Mapping[str, Any], where: str = "source") -> str:
    """Return ``openml``, ``file`` or ``sklearn``, and check the keys and values of a source.

    ``where`` is the place of the source, for the messages.

    Raises
    ------
    UserError
        If it is not exactly one of the three, or has an unknown key or a value of the wrong type.
    """
    if not isinstance(source, Mapping):
        raise UserError(f"{where}: {source!r} is no mapping, such as {{openml: 772}}")
    kinds = [kind for kind in KEYS if kind in source]
    if len(kinds) != 1:
        found = " and ".join(kinds) or ", ".join(map(str, source)) or "none"
        raise UserError(f"{where}: needs exactly one of openml, file, sklearn; found {found}")
    kind = kinds[0]
    for key in source:
        if key in KEYS[kind]:
            continue
        if owner := next((k for k in KEYS if key in KEYS[k]), None):
            raise UserError(f"{where}.{key}: goes with '{owner}:' only")
        raise UserError(f"{where}: unknown key '{key}'; {nearest(key, sorted(KEYS[kind]))}")
    for key in ("openml", "version"):
        value = source.get(key, 1)
        if type(value) is not int or not 1 <= value <= LARGEST_ID:
            raise UserError(f"{where}.{key}: {value!r} is no whole number from 1 to {LARGEST_ID}")
    for key in ("file", "target", "sklearn", "md5"):
        if key in source and not isinstance(source[key], str):
            raise UserError(f"{where}.{key}: {source[key]!r} is no text")
        if not source.get(key, "").isascii() and _unencodable(source[key]):
            raise UserError(f"{where}.{key}: '{source[key]}' is no Unicode text; rename it")
    if kind == "file" and not source.get("target"):
        raise UserError(f"{where}.target: is missing; name the column that holds the classes")
    roles.check(source.get("columns", {}), f"{where}.columns")
    return kind


def _unencodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def source_key(source: Mapping[str, Any]) -> str:
    """Return the folder name of a source below ``results/data/``.

    ``openml-772``, ``sklearn-digits``, or ``file-<stem>-<8 hex digits of path and target>``; with
    ``columns`` 8 more hex digits; at most 255 characters.

    Raises
    ------
    UserError
        As :func:`source_kind`.
    """
    kind = source_kind(source)
    suffix = roles.suffix(source.get("columns", {}))
    if kind != "file":
        return f"{kind}-{source[kind]}{suffix}"
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(source["file"]).stem)[:232]
    digest = hashlib.sha256(f"{source['file']}\n{source['target']}".encode()).hexdigest()
    return f"file-{stem}-{digest[:8]}{suffix}"


def read(
    source: Mapping[str, Any],
    openml: Mapping[str, Any] | None = None,
    beside: Path | None = None,
) -> Raw:
    """Read a data set from its source.

    Parameters
    ----------
    source
        As in a study.
    openml
        How OpenML is reached: fields of ``Access``.
    beside
        Path beside which downloads are stored until read (default: in the temporary folder).

    Raises
    ------
    UserError
        If the source is wrong, cannot be reached or cannot be read, or if it is one of the DivBO
        paper's data sets with another size than the paper prints, and no ``md5`` pins it.
    """
    kind = source_kind(source)
    if kind == "openml":
        from ensemble_search.data import openml_client

        number, md5 = source["openml"], source.get("md5")
        how = openml_client.access(openml or {})
        raw = openml_client.fetch(number, source.get("version"), md5, how, beside)
        if md5 is None:  # a pinned file is accepted
            paper_sets.check(number, raw)
        return raw
    if kind == "file":
        return from_file(source["file"], source["target"])
    return from_sklearn(source["sklearn"])


def from_file(name: str, target: str) -> Raw:
    """Read a CSV, Parquet or ARFF file; a relative path starts at the working directory.

    CSV is UTF-8, separated by commas, with a header; empty fields, ``?`` and the words in
    :data:`MISSING` are missing values. The target of a CSV is read as text, and so are columns with
    values such as ``01``, which would lose their zeros.

    Raises
    ------
    UserError
        If there is no such file or column, the file cannot be read, or a column name is missing or
        duplicated.
    """
    from ensemble_search.runtime import files

    path = _existing(name)
    _, reader = FORMATS[path.suffix.lower()]
    with _readable(path):
        before = _state(path)
        md5 = files.md5(path)
        frame = reader(path, target)
        if _state(path) != before:
            raise UserError(
                f"file: '{name}' was changed while it was read; run again when it is whole"
            )
    shown = path.name if path.is_absolute() else path.as_posix()
    index = dict.fromkeys(frame.attrs.pop(INDEX, ()), "pandas stored it as the index")
    source = {"file": shown, "target": target}
    return Raw(frame, target, path.stem, source, md5=md5, ignored=index)


def _state(path: Path) -> tuple:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def check_file(name: str, target: str) -> list[str]:
    """Check that a file can be read and has the target, from its header alone.

    Returns
    -------
    names
        Names of its columns.

    Raises
    ------
    UserError
        As :func:`from_file`, without reading the rows.
    """
    path = _existing(name)
    header, _ = FORMATS[path.suffix.lower()]
    return header(path, target)


def _existing(name: str) -> Path:
    path = Path(name)
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"file: '{name}' must end in .csv, .parquet or .arff")
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null character
        raise UserError(
            f"file: there is no file '{name}' (relative paths start at {Path.cwd()})"
        ) from None
    except OSError as error:
        raise UserError(f"file: '{name}' cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise UserError(f"file: '{name}' is {kind}; a file is needed")
    return path


def _check_target(name: str | Path, target: str, names: Sequence[str]) -> None:
    if target in names:
        return
    separators = [s for s in (";", "\t", "|") if len(names) == 1 and s in names[0]]
    hint = "; fields must be separated by commas" if separators else ""
    raise UserError(f"target: '{name}' has no column '{target}'; {nearest(target, names)}{hint}")


def from_sklearn(name: str) -> Raw:
    """Load one of the data sets that scikit-learn ships (:data:`BUNDLED`), classes by their names.

    Raises
    ------
    UserError
        If scikit-learn does not ship it.
    """
    if name not in BUNDLED:
        raise UserError(f"sklearn: there is no '{name}'; {nearest(name, BUNDLED)}")
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = pd.Categorical([str(bunch.target_names[code]) for code in bunch.target])
    frame = bunch.data.assign(target=labels)
    return Raw(frame, "target", name, {"sklearn": name})


def csv_header(path: Path, target: str) -> list[str]:
    """Read and check the names of the columns of a CSV file; see :func:`from_file`."""
    with _readable(path, "CSV"), _text(path) as stream:
        _, names = next(_rows(stream), (0, None))
    if not names:
        found = "is empty" if names is None else "begins with an empty line"
        raise UserError(f"file: '{path}' {found}; line 1 must name the columns")
    _check_names(path, names)
    _check_target(path, target, names)
    return names


def _rows(stream: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Split a CSV file into fields, as pandas is told to; yield them and their last line."""
    rows = csv.reader(_without_null(stream), skipinitialspace=True, strict=True)
    while True:
        first = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise Unreadable(
                f"line {first}: {error}; is a quote not closed, or not doubled?"
            ) from None
        yield rows.line_num, row


def _without_null(stream: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        if "\0" in line:
            raise Unreadable(f"line {number} holds a null character (UTF-16?); save it as UTF-8")
        yield line


def read_csv(path: Path, target: str) -> "pd.DataFrame":
    """Read a CSV file; see :func:`from_file`."""
    import pandas as pd

    header = csv_header(path, target)
    with _readable(path, "CSV"):
        with _text(path) as stream:
            # pandas would silently truncate or pad rows that do not fit
            codes = set()
            for number, row in _rows(stream):
                if row and len(row) != len(header):
                    raise UserError(
                        f"file: line {number} of '{path}' has {len(row)} fields, "
                        f"the header has {len(header)}"
                    )
                codes.update(i for i, word in enumerate(row) if word[:1] == "0" and _is_code(word))
        with path.open("rb") as stream:  # not by its name, which may look like a URL
            frame = pd.read_csv(
                stream,
                dtype=dict.fromkeys([target, *(header[i] for i in codes)], "str"),
                encoding="utf-8-sig",
                index_col=False,
                keep_default_na=False,
                low_memory=False,
                na_values=MISSING,
                skipinitialspace=True,
            )
    for name, dtype in frame.dtypes.items():
        if pd.api.types.is_object_dtype(dtype):  # integers of more than 64 bits, among others
            frame[name] = frame[name].map(_float, na_action="ignore")
    return frame


def _is_code(word: str) -> bool:
    """Whether digits are not a number: parsed as one, 01234 would lose its zero."""
    return len(word) > 1 and word.isascii() and word.isdigit()


def _float(value: Any) -> Any:
    """Turn an integer too large for a float into infinity, as ``1e999`` is read."""
    try:
        return float(value) if type(value) is int else value
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def parquet_header(path: Path, target: str) -> list[str]:
    """Read and check the names and types of the columns of a Parquet file.

    An unnamed index stored by pandas is not a column.
    """
    import pyarrow.parquet as pq

    with _readable(path, "Parquet"), path.open("rb") as stream:
        schema = pq.ParquetFile(stream).schema_arrow
        index = _pandas_index((schema.metadata or {}).get(b"pandas", b"{}"))
    columns = [column for column in schema if column.name not in index or index[column.name]]
    names = [column.name for column in columns]
    _check_names(path, names)
    _check_target(path, target, names)
    for column in columns:
        if column.name == target and (kind := _no_label(column)):
            raise UserError(
                f"target: column '{target}' of '{path}' holds {kind}; "
                "classes must be text, whole numbers or booleans: convert it"
            )
        if kind := _no_feature(column):
            raise UserError(
                f"file: column '{column.name}' of '{path}' holds {kind}; "
                "only numbers, booleans, dates and text can be used: convert or remove it"
            )
    return names


def _pandas_index(metadata: bytes) -> dict[str, bool]:
    """Return the columns that pandas stored its index in, and whether it had a name."""
    try:
        index = json.loads(metadata).get("index_columns", [])
        # A range of row numbers is stored as a mapping and is not a column.
        if isinstance(index, list) and all(isinstance(name, (str, dict)) for name in index):
            names = [name for name in index if isinstance(name, str)]
            return {name: not re.fullmatch(r"__index_level_\d+__", name) for name in names}
    except (ValueError, AttributeError, RecursionError):
        pass
    raise Unreadable(
        "what pandas wrote into it about its index is damaged; write it again (index=False)"
    )


def _no_label(column: "pa.Field") -> str | None:
    """Say what a column of a Parquet file holds if its values cannot be labels."""
    import pyarrow as pa

    types, values = pa.types, _values(column)
    if _extension(column) in ("pandas.period", "pandas.interval"):
        return _extension(column)
    # A date of any type is a point in time: as a class it is treated as a mistake.
    if types.is_temporal(values) or types.is_decimal(values):
        return str(values)
    return "no values" if types.is_null(values) else _no_feature(column)


def _no_feature(column: "pa.Field") -> str | None:
    """Say what a column of a Parquet file holds if it is nothing that can be used."""
    import pyarrow as pa

    if extension := _extension(column):
        return None if extension in ("pandas.period", "pandas.interval") else extension
    types, values = pa.types, _values(column)
    odd = (
        *(types.is_nested, types.is_binary, types.is_large_binary),
        *(types.is_binary_view, types.is_fixed_size_binary),
    )
    return str(values)[:60] if any(is_odd(values) for is_odd in odd) else None


def _values(column: "pa.Field") -> "pa.DataType":
    import pyarrow as pa

    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _extension(column: "pa.Field") -> str:
    """Name of an extension type of another package, whether Arrow knows it or not."""
    name = (column.metadata or {}).get(b"ARROW:extension:name", b"").decode(errors="replace")
    return getattr(column.type, "extension_name", name)


def read_parquet(path: Path, target: str) -> "pd.DataFrame":
    """Read a Parquet file; its ``attrs`` name the columns of an index that pandas stored."""
    import pyarrow.parquet as pq

    names = parquet_header(path, target)
    with _readable(path, "Parquet"), path.open("rb") as stream:
        file = pq.ParquetFile(stream)
        index = _pandas_index((file.schema_arrow.metadata or {}).get(b"pandas", b"{}"))
        table = file.read().select(names)
        for column in names:
            try:
                table[column].validate(full=True)
            except ValueError as error:
                raise Unreadable(f"column '{column}' is damaged: {error}") from None
        # Their names are text, whatever their type in pandas.
        frame = table.to_pandas(ignore_metadata=True)
        frame.attrs[INDEX] = [name for name in names if name in index and name != target]
        return frame


def arff_header(path: Path, target: str) -> list[str]:
    """Read and check the names of the attributes of an ARFF file, down to ``@data``."""
    from ensemble_search.data import arff

    with _readable(path, "ARFF"), _text(path) as stream:
        names = list(arff.attributes(enumerate(_without_null(stream), 1)))
    _check_names(path, names)
    _check_target(path, target, names)
    return names


def read_arff(path: Path, target: str | None = None) -> "pd.DataFrame":
    """Read an ARFF file: numeric columns as float64, nominal ones as categories, the rest as text.

    Nominal values are kept as written in the file, regardless of the order of their declaration.
    ``target`` is checked before the rows are read.

    Raises
    ------
    UserError
        If it is not ARFF, or has attributes other than numeric, nominal and string.
    """
    from ensemble_search.data import arff

    if target is not None:
        arff_header(path, target)
    with _readable(path, "ARFF"), _text(path) as stream:
        frame = arff.frame(enumerate(_without_null(stream), 1))
    _check_names(path, list(frame))
    return frame


@contextmanager
def _text(path: Path) -> Iterator[Any]:
    """Open a text file, with a plain error if it is not text."""
    with path.open("rb") as stream:
        start = stream.read(8)
    for magic, what in MAGIC.items():
        if start.startswith(magic):
            raise Unreadable(what)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            yield stream
        except UnicodeDecodeError:
            with path.open("rb") as lines:
                raise Unreadable(_no_utf8(lines)) from None


def _no_utf8(lines: Iterable[bytes]) -> str:
    """Find the first line that is not UTF-8."""
    for number, line in enumerate(lines, 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = line[error.start]
            return f"line {number} is no UTF-8 text (byte 0x{byte:02x}); save the file as UTF-8"
    return "it is no UTF-8 text; save the file as UTF-8"


@contextmanager
def _readable(path: Path, kind: str | None = None) -> Iterator[None]:
    """Turn a reader's exception about a file into one line."""
    try:
        yield
    except MemoryError:
        raise UserError(f"file: '{path}' is too large for the memory, or damaged") from None
    except _refusals() as error:
        if isinstance(error, OSError) and error.errno:
            raise UserError(f"file: '{path}' cannot be read: {os.strerror(error.errno)}") from None
        if kind is None:
            raise
        hint = "" if isinstance(error, Unreadable) else f"; {HINTS[kind]}"
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"file: '{path}' cannot be read as {kind}: {reason}{hint}") from None


def _refusals() -> tuple[type[Exception], ...]:
    """List the exceptions of readers; called only after one was raised: importing Arrow is slow."""
    from pyarrow.lib import ArrowException

    return OSError, ValueError, ArithmeticError, ArrowException


def _check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse missing and duplicate column names."""
    seen = set()
    for i, name in enumerate(names):
        if not name.strip():
            raise UserError(
                f"file: column {i + 1} of '{path}' has no name (row numbers?); name or remove it"
            )
        if name in seen:
            raise UserError(f"file: '{path}' has two columns called '{name}'; rename one")
        seen.add(name)


#: By extension: readers of the column names, and of the whole file.
FORMATS = {
    ".csv": (csv_header, read_csv),
    ".parquet": (parquet_header, read_parquet),
    ".pq": (parquet_header, read_parquet),
    ".arff": (arff_header, read_arff),
}
