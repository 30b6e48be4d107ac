"""Text of tables on disk: compression, encoding, and separators of fields."""

import codecs
import csv
import gzip
import io
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

#: Separators of fields; the first one is used if several fit equally.
SEPARATORS = ",;\t|"
#: Encodings to try in order; the second is Windows' form of Latin-1.
ENCODINGS = UTF_8, LATIN_1 = "utf-8-sig", "cp1252"
#: The first bytes of a gzip file.
GZIP = b"\x1f\x8b"
#: The column, without a name in the file, in which pandas stores an index.
INDEX = "Unnamed: 0"
#: Names of columns below a title are looked for in this many lines or rows.
TITLES = 20


def kind(path: Path | str) -> str:
    """Return the extension of a file, in lower case, without ``.gz``."""
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix


def stem(path: Path | str) -> str:
    """Return the name of a file without extensions."""
    name = Path(path).name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem


def opened(path: Path) -> Any:
    """Open a file for reading; decompress gzip on the fly."""
    stream = path.open("rb")
    if path.is_file() and stream.peek(2)[:2] == GZIP:
        stream.close()
        return gzip.open(path)
    return stream


def text(path: Path, encoding: str) -> IO[str]:
    """Open a file as text, keeping line ends."""
    return io.TextIOWrapper(opened(path), encoding=encoding, newline="")


def encoding(path: Path) -> str:
    """Return UTF-8 if the whole file is UTF-8, else Latin-1; for a pipe, UTF-8."""
    if not path.is_file():
        return UTF_8
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(path) as stream:
        try:
            while part := stream.read(2**20):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return LATIN_1
    return UTF_8


def separator(header: str, names: Collection[str]) -> str:
    """Return the separator that finds certain names in a header, or else the most fields."""
    fields = {own: _fields(header, own) for own in SEPARATORS}
    return max(SEPARATORS, key=lambda own: (set(names) <= {*fields[own]}, len(fields[own])))


def below_title(
    title: Sequence[str],
    rows: Iterable[str | Sequence[str]],
    names: Collection[str],
    start: int = 2,
) -> str:
    """Describe the repair of a table whose columns are named below a title; else return ''.

    ``title`` is row 1. ``rows`` are those from number ``start`` on, as lines or as cells. One names
    the columns if it has all of ``names``, and more cells that are not empty than row 1, counting
    its first: it may be the empty name of an index.
    """
    filled = 1 + sum(map(bool, title[1:]))
    for number, row in enumerate(islice(rows, TITLES), start):
        cells = _fields(row, separator(row, names)) if isinstance(row, str) else row
        if {*names} <= {*cells} and filled < sum(map(bool, cells)):
            what = "line" if isinstance(row, str) else "row"
            return f"the names of the columns are in {what} {number}: remove what is above it"
    return ""


def _fields(header: str, separator: str) -> list[str]:
    """Return the fields of a header; empty if one is longer than the csv module allows."""
    try:
        return next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return []
