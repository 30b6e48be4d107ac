"""Rows of a CSV file in chunks, so that files of any length fit into memory; safe text in one."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from ensemble_search.data import file_limits
from ensemble_search.runtime.errors import UserError, printable
from ensemble_search.runtime.plugins import nearest

CHUNK = 10_000
#: The beginning of a formula, at the start of a field.
FORMULA = re.compile(r"(^|;)( *[=+\-@＝＋－＠])(?=.)")


def chunks(
    path: Path, names: list[str], size: int = CHUNK
) -> Iterator[tuple[dict[str, list[str]], int]]:
    """Read some columns of a CSV file.

    Parameters
    ----------
    path
        UTF-8 text, separated by commas; line 1 names the columns.
    names
        The columns to read; others are ignored.
    size
        Rows of a chunk.

    Yields
    ------
    columns
        Their text by name.
    position
        Bytes of the file that have been read.

    Raises
    ------
    UserError
        If the file cannot be read, a column is missing or twice there, or a row is too short or
        too long.
    """
    try:
        size_of_file = path.stat().st_size
        with path.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(file_limits.lines(text), skipinitialspace=True, strict=True)
            header = next(rows, None)
            if not header:
                raise UserError(f"--input: line 1 of '{path}' does not name the columns")
            places = _places(path, header, names)
            done, position = False, 0
            while not done:
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
                            f"--input: line {rows.line_num} of '{path}' has {len(row)} fields, the "
                            f"header has {len(header)}"
                        )
                    read.append(row)
                columns = {
                    name: [row[place] for row in read]
                    for name, place in zip(names, places, strict=True)
                }
                position = size_of_file if done else text.buffer.tell()
                yield columns, position
    except OSError as error:
        raise UserError(f"--input: '{path}' cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"--input: '{path}' is not UTF-8 text; save it as CSV in UTF-8") from None
    except file_limits.Unreadable as error:
        raise UserError(f"--input: '{path}' cannot be read: {error}") from None
    except csv.Error as error:
        raise UserError(f"--input: line {rows.line_num} of '{path}': {error}") from None


def _places(path: Path, header: list[str], names: list[str]) -> list[int]:
    missing = [name for name in names if name not in header]
    if missing:
        line = ",".join(header)
        separated = any(line.count(s) >= len(header) for s in ";\t|")
        hint = "; fields must be separated by commas" if separated else ""
        columns = "column" if len(missing) == 1 else "columns"
        quoted = ", ".join(f"'{name}'" for name in missing)
        raise UserError(
            f"--input: '{path}' has no {columns} {quoted}; {nearest(missing[0], header)}{hint}"
        )
    for name in names:
        if header.count(name) > 1:
            raise UserError(f"--input: '{path}' has two columns called '{name}'; rename one")
    return [header.index(name) for name in names]


def safe(text: str) -> str:
    """Make a text safe for a CSV file that a terminal shows or a spreadsheet opens.

    Control characters become escapes, such as ``\\x1b``. What a spreadsheet would read as a formula
    gets an apostrophe in front: a text that begins with =, +, - or @, perhaps wide ones or after
    spaces, and goes on, unless it is a number; so does what follows a semicolon, which separates
    fields in some countries. Other texts stay as they are.
    """
    text = printable(text)
    try:
        float(text)
    except ValueError:
        return FORMULA.sub(r"\1'\2", text)
    return text
