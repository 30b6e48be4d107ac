"""Test rows from a separate file: `deliver.test`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import kinds, normalise, readings, sources
from ensemble_search.data.cells import is_missing, number
from ensemble_search.data.preparation import Column, Preparation
from ensemble_search.runtime.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

#: What columns of some kinds hold.
KINDS = {"numeric": "number", "date": "date", "boolean": "yes or no"}


@dataclass(frozen=True)
class OwnRows:
    """Rows to test on."""

    name: str  #: name of the file
    X: np.ndarray  #: features, float64, of shape (n, p)
    labels: np.ndarray  #: codes of classes, or standardised numbers, of shape (n,)
    weights: np.ndarray  #: of shape (n,); empty if equal
    groups: np.ndarray | None  #: codes of groups, int, of shape (n,), or None
    notes: Sequence[str]  #: unusual properties, one line each
    unknown: int = 0  #: number of rows of unknown classes, which are left out


def read(
    file: str,
    prepared: Mapping[str, Any],
    described: Mapping[str, Any],
    classes: Sequence[str],
    used: Sequence[Any] = (),
) -> OwnRows:
    """Read test rows from a CSV, Parquet, ARFF or Excel file with the columns of the table.

    ``prepared`` and ``described`` are the content of the split's ``preparation.json`` and
    ``split.json``; ``classes`` those of the target, empty in a regression; ``used`` the data set's
    ``classes`` in the study, which merge or leave out labels of the file, too. UserError if the
    file lacks rows or a column, has a weight that is not above 0, no row with a known target, or a
    column whose values are all of another kind than in the table.
    """
    import pandas as pd

    target, by = prepared["target"], described.get("by", {})
    preparation = Preparation.from_json(prepared)
    others = [by[role] for role in ("group", "weight") if role in by]
    needed = [*preparation.names, *others]
    # As numbers, 1.234 would be 1.234 although the table's 1.234,5 is 1234.5.
    styled = [c.name for c in preparation.columns if c.kind == "numeric" and _separates(c.read)]
    text = styled if sources.extension(file) in (".csv", ".tsv") else ()
    raw = sources.from_file(file, target, text, sources.unneeded(file, [*needed, target]))
    frame = raw.frame
    for name in needed:
        if name not in frame:
            raise UserError(f"deliver.test: '{file}' has no column '{name}', which the table has")
    if not len(frame):
        raise UserError(f"deliver.test: '{file}' has no rows")
    for column in preparation.columns:
        if column.kind in ("numeric", "date", "boolean") and not _fits(column, frame[column.name]):
            raise UserError(
                f"deliver.test: column '{column.name}' of '{file}' has no {KINDS[column.kind]}, "
                "unlike that of the table; write both alike"
            )
    if classes:
        places = {word: code for code, word in enumerate(classes)}
        names = kinds.text(frame[target])
        codes = (names.map(normalise.names_of_classes(used)) if used else names).map(places)
        known = codes.notna().to_numpy()
        labels = codes[known].to_numpy(np.int64)
        wanted = f"the classes are {kinds.listed(classes)}"
    else:
        scale = described["target"]
        if style := scale.get("read"):
            given = frame[target].map(lambda value: number(value, style))
        else:
            given = normalise.as_numbers(frame[target])[0]
        numbers = pd.to_numeric(given.astype(object), errors="coerce").to_numpy(float)
        known = np.isfinite(numbers)
        wanted = f"write them as {readings.example(style or readings.PLAIN)}"
        labels = (numbers[known] - scale["mean"]) / scale["std"]
    odd = kinds.text(frame[target][~known].dropna())
    such = f"such as {kinds.short(odd.iloc[0])}" if len(odd) else ""
    if not len(labels):
        raise UserError(
            f"deliver.test: '{file}' has no row with a known value of '{target}'"
            + (f"; it has values {such}; {wanted}" if such else "")
        )
    empty = int(frame[target].isna().sum()) if classes else 0  # not numbers, either
    frame, notes = frame[known], [f"{Path(file).name}: {note}" for note in raw.notes]
    if empty:
        notes.append(f"rows of {Path(file).name} without a value of '{target}' left out: {empty}")
    count = int(np.count_nonzero(~known)) - empty
    if count:
        what = "with an unknown class" if classes else "without a number"
        what = "with another class" if used else what
        own = f"rows of {Path(file).name} {what} in '{target}'"
        notes.append(f"{own} are left out: {count}" + (f", {such}" if such else ""))
    columns = {name: frame[name].to_numpy() for name in preparation.names}
    try:
        X, unusual = preparation.transform(columns)
    except UserError as error:
        raise UserError(*(f"deliver.test: '{file}': {line}" for line in error.problems)) from None
    said = [*unusual]  # the table may have notes on the same columns

    def of_rows(role: str) -> np.ndarray:
        name, what = by[role], f"deliver.test: '{file}': column '{by[role]}'"
        return normalise.row_values(name, role, frame[name], what, said)[1].to_numpy()

    weights = of_rows("weight") if "weight" in by else np.empty(0)
    groups = np.unique(of_rows("group"), return_inverse=True)[1] if "group" in by else None
    notes += [f"{Path(file).name}: {note}" for note in said]
    unknown = count if classes and not used else 0
    return OwnRows(Path(file).name, X, labels, weights, groups, notes, unknown)


def _separates(style: str | None) -> bool:
    """Whether numbers of a column are text in another form than plain numbers."""
    return bool(style and readings.is_style(style)) and style != readings.PLAIN


def _fits(column: Column, values: "pd.Series") -> bool:
    """Whether a value can be read, or all are missing."""
    present = [value for value in values.astype(object).unique().tolist() if not is_missing(value)]
    return not present or any(column.typed(value) is not None for value in present)
