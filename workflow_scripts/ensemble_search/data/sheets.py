"""The first sheet of an Excel file, row by row, with limits; shared with delivered ensembles."""

import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ensemble_search.data import file_limits, text_files
from ensemble_search.data.file_limits import Unreadable


def is_readable() -> bool:
    """Whether openpyxl is installed."""
    return find_spec("openpyxl") is not None


def header(path: Path) -> list[str]:
    """Read the names of the columns: the first row; the first may be that of pandas' index.

    Raises
    ------
    Unreadable
        If it is no Excel file.
    OSError
        If the file cannot be read.
    """
    names = ["" if value is None else str(value) for value in next(_rows(path), [])]
    return [text_files.INDEX, *names[1:]] if names and not names[0] else names


def values(path: Path) -> list[list[Any]]:
    """Read the rows below the names, all of one length: None in empty cells, text of errors.

    Raises
    ------
    Unreadable, OSError
        As :func:`header`; also if there are too many cells.
    """
    rows = list(_rows(path))
    while rows and not rows[-1]:
        rows.pop()
    width = max(map(len, rows), default=0)
    return [row + [None] * (width - len(row)) for row in rows[1:]]


def _rows(path: Path) -> Iterator[list[Any]]:
    """Yield the cells of each row, without empty ones at its end."""
    file_limits.check_file(path)
    width = 0
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                file_limits.check_bytes(sum(i.file_size for i in archive.infolist()), " unpacked")
            import openpyxl

            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # which may be wrong
            for number, cells in enumerate(sheet.rows):
                row = [_value(cell) for cell in cells]
                while row and row[-1] is None:
                    row.pop()
                width = max(width, len(row))
                if row:  # a cell far from all others makes the table as large
                    file_limits.check_cells(number, width)
                yield row
        except (OSError, MemoryError, Unreadable):
            raise
        except Exception as error:  # openpyxl checks little: damage ends in all kinds of them
            raise Unreadable(f"it is no Excel file: {error}") from None


def _value(cell: Any) -> Any:
    """Return the value; floats without a fraction become integers, which Excel does not have."""
    value = cell.value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if value == "" else value
