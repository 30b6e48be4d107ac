"""Limits of the size of a table, checked before it is read into memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

#: Maximum size of a file on disk, and of unpacked Parquet values (in 10^6 bytes).
LARGEST_MB = 2000
#: Maximum rows times columns: 1.6 GB of numbers.
MOST_CELLS = 200_000_000
#: Maximum number of characters in a line of text.
LONGEST_LINE = 2**24


class Unreadable(ValueError):
    """An error in a file: the problem, the line and the fix."""


def check_file(path: Path) -> None:
    """Raise Unreadable if a file is larger than :data:`LARGEST_MB`."""
    check_bytes(path.stat().st_size)


def check_bytes(size: int, what: str = "") -> None:
    """Raise Unreadable if a size exceeds :data:`LARGEST_MB`; ``what`` follows it in the message."""
    if size > LARGEST_MB * 10**6:
        raise Unreadable(
            f"it has {size / 1e6:,.0f} MB{what}; at most {LARGEST_MB:,} MB can be read: take a "
            "part of the rows"
        )


def check_cells(rows: int, columns: int) -> None:
    """Raise Unreadable if there are more values than :data:`MOST_CELLS`."""
    if rows * columns > MOST_CELLS:
        raise Unreadable(
            f"it has {rows:,} rows of {columns:,} columns or more; at most {MOST_CELLS:,} values "
            "can be read: take a part of the rows"
        )


def lines(stream: IO[str]) -> Iterator[str]:
    """Yield the lines of a text.

    Unreadable if a line holds a null character or is longer than :data:`LONGEST_LINE` (before it is
    read completely), or if the text has more than :data:`LARGEST_MB`.
    """
    number = size = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        size += len(line)
        if "\0" in line:
            raise Unreadable(f"line {number} holds a null character (UTF-16?); save it as UTF-8")
        if len(line) > LONGEST_LINE:
            raise Unreadable(f"line {number} has more than {LONGEST_LINE:,} characters")
        check_bytes(size, " unpacked")
        yield line
