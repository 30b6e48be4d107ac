"""Text of tables on the disk: packed or not, in which encoding, and what separates its fields."""

import codecs
import csv
import gzip
import io
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

#: Separators of fields, the first of those that fit.
SEPARATORS = ",;\t|"
#: Tried one after the other; the second is Windows' form of Latin-1.
ENCODINGS = UTF_8, LATIN_1 = "utf-8-sig", "cp1252"
#: The first bytes of a file that gzip has written.
GZIP = b"\x1f\x8b"
#: The column, without a name in the file, in which pandas stores an index.
INDEX = "Unnamed: 0"


def kind(path: Path | str) -> str:
    """Return the extension of a file, in lower case, before ``.gz``."""
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix


def stem(path: Path | str) -> str:
    """Return the name of a file without extensions."""
    name = Path(path).name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem


def opened(path: Path) -> Any:
    """Open a file to be read; one that gzip has packed is unpacked on the way."""
    stream = path.open("rb")
    if path.is_file() and stream.peek(2)[:2] == GZIP:
        stream.close()
        return gzip.open(path)
    return stream


def text(path: Path, encoding: str) -> IO[str]:
    """Open a file as text, with the ends of its lines."""
    return io.TextIOWrapper(opened(path), encoding=encoding, newline="")


def encoding(path: Path) -> str:
    """Return UTF-8 if all of a file is that, else Latin-1; of a pipe, UTF-8."""
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
    """Return what separates the fields of a header: with it, it has some names, or most fields."""
    fields = {own: _fields(header, own) for own in SEPARATORS}
    return max(SEPARATORS, key=lambda own: (set(names) <= {*fields[own]}, len(fields[own])))


def _fields(header: str, separator: str) -> list[str]:
    """Return the fields of a header; none if one is longer than the csv module allows."""
    try:
        return next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return []
