"""The first sheet of an Excel file, row by row, with limits; shared with delivered ensembles."""

import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from ensemble_search.data import file_limits, text_files
from ensemble_search.data.file_limits import Unreadable

#: The start of a formula in a sheet's XML, and the maximum number of characters of such a start.
FORMULA, LONGEST_START = re.compile(rb"<(\w+:)?f[ />]"), 32
#: Name of formulas without a saved value, among words for missing values.
UNSAVED = "formulas never calculated"


def is_readable() -> bool:
    """Whether openpyxl is installed."""
    return find_spec("openpyxl") is not None


def header(path: Path) -> list[str]:
    """Read the names of the columns: the first row; the first may be that of pandas' index.

    Raises Unreadable if it is not an Excel file, or its first row is empty, or OSError.
    """
    names = ["" if value is None else str(value) for value in next(_rows(path), [])]
    if not names:
        raise Unreadable("row 1 of its first sheet is empty; it must name the columns")
    return names if names[0] else [text_files.INDEX, *names[1:]]


def below_title(path: Path, names: Collection[str]) -> str:
    """Return ``text_files.below_title`` of a sheet; errors are as in :func:`header`."""
    rows = (["" if value is None else str(value) for value in row] for row in _rows(path))
    return text_files.below_title(next(rows, []), rows, names)


def values(path: Path) -> list[list[Any]]:
    """Read the rows below the names, all of one length: None in empty cells, text of errors.

    Beside other values of a column, TRUE and FALSE are text, as in a CSV file: 1 and 0 would be
    numbers that nobody wrote. Errors are as in :func:`header`, or that there are too many cells.
    """
    rows = list(_rows(path))
    while rows and not rows[-1]:
        rows.pop()
    width = max(map(len, rows), default=0)
    below = [row + [None] * (width - len(row)) for row in rows[1:]]
    for i in range(width):
        logical = [type(row[i]) is bool for row in below if row[i] is not None]
        if any(logical) and not all(logical):
            for row in below:
                if type(row[i]) is bool:
                    row[i] = str(row[i]).upper()
    return below


def unsaved(path: Path) -> dict[str, int]:
    """Count formulas that no program has calculated and saved, which read as empty, by column.

    Errors are as in :func:`header`.
    """
    if not _has_formulas(path):
        return {}
    counts: Counter[int] = Counter()
    both = zip(_cells(path), _cells(path, formulas=True), strict=True)
    for saved, written in islice(both, 1, None):
        for i, (value, cell) in enumerate(zip(saved, written, strict=True)):
            # A calculated text has type "str", even if it is empty.
            if cell.data_type == "f" and value.value is None and value.data_type != "str":
                counts[i] += 1
    return {name: counts[i] for i, name in enumerate(header(path)) if counts[i]}


def about_unsaved(counts: Mapping[str, int]) -> str:
    """Describe formulas without a saved value, of which :func:`unsaved` has counts."""
    listed = ", ".join(f"'{name}' ({n})" for name, n in counts.items())
    return (
        f"formulas were never calculated, and are missing values, in {listed}: open the file in a "
        "spreadsheet program and save it"
    )


def _has_formulas(path: Path) -> bool:
    with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/"):
                with archive.open(name) as sheet:
                    end = b""
                    while part := sheet.read(2**20):
                        if FORMULA.search(end + part):
                            return True
                        end = part[-LONGEST_START:]
    return False


def _rows(path: Path) -> Iterator[list[Any]]:
    """Yield the values of each row, without empty ones at its end."""
    width = 0
    for number, cells in enumerate(_cells(path)):
        row = [_value(cell) for cell in cells]
        while row and row[-1] is None:
            row.pop()
        width = max(width, len(row))
        if row:  # a cell far from all others makes the table as large
            file_limits.check_cells(number, width)
        yield row


def _cells(path: Path, formulas: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of each row, with saved values or formulas."""
    file_limits.check_file(path)
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                file_limits.check_bytes(sum(i.file_size for i in archive.infolist()), " unpacked")
            import openpyxl

            book = openpyxl.load_workbook(stream, read_only=True, data_only=not formulas)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # which may be wrong
            yield from sheet.rows
        except (OSError, MemoryError, Unreadable):
            raise
        except zipfile.BadZipFile:
            raise Unreadable(
                "it is not an Excel file, or encrypted; save it as .xlsx without a password"
            ) from None
        except Exception as error:  # openpyxl checks little: damage ends in all kinds of them
            raise Unreadable(
                f"openpyxl reports {type(error).__name__}: {error}; save the sheet in a new file"
            ) from None


def _value(cell: Any) -> Any:
    """Return the value; floats without a fraction become integers, which Excel does not have."""
    value = cell.value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if value == "" else value
