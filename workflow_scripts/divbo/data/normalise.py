"""One form for every data set: typed columns, the target last, and a word on what was done."""

import hashlib
import json
import numbers
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from divbo.data.sources import Raw
from divbo.errors import UserError
from divbo.files import write_json, write_parquet

if TYPE_CHECKING:
    import pandas as pd

SMALLEST_CLASS = 3  # one row each for training, validation and test
# More distinct numbers than these are taken for a regression target.
MAX_FRACTIONS, MAX_INTEGERS = 10, 100
DATES = ("date", "time", "period", "interval")  # how pandas calls what is no feature


def normalise(raw: Raw) -> tuple["pd.DataFrame", dict[str, Any]]:
    """Bring a data set into the form of ``dataset.parquet`` and ``dataset.json``.

    Numbers become float64 (infinite ones missing), booleans nullable booleans, everything else
    text; labels are text. Rows without a label, columns of dates and columns that the source
    marks as no features are left out, each with a note.

    Returns
    -------
    frame
        Of shape (n_rows, n_features + 1), the target last.
    description
        The content of ``dataset.json``; the same data give the same content.

    Raises
    ------
    UserError
        If there are no rows or features, columns hold values that are neither numbers, booleans
        nor text, or the target is no classification target: one class only, a class with fewer
        than three rows, or many distinct numbers.
    """
    import pandas as pd

    what = f"data set '{raw.name}'"
    if not len(raw.frame):
        raise UserError(f"{what}: has no rows")
    notes = []
    frame = raw.frame[raw.frame[raw.target].notna()].reset_index(drop=True)
    if missing := len(raw.frame) - len(frame):
        notes.append(f"{missing} rows without a value of the target '{raw.target}' left out")
    labels = _labels(frame[raw.target], f"{what}: target '{raw.target}'")

    columns: dict[str, pd.Series] = {}
    kinds = {}
    for name in frame.columns.drop(raw.target):
        if name in raw.ignored:
            notes.append(f"column '{name}' left out: {raw.ignored[name]}")
            continue
        typed = _typed(frame[name], f"{what}: column '{name}'", notes)
        if typed is not None:
            kinds[str(name)], columns[str(name)] = typed
    if not columns:
        raise UserError(f"{what}: no column beside the target '{raw.target}' is left")
    for name, column in columns.items():
        if column.nunique() < 2:
            value = "no value" if column.isna().all() else "a single value"
            notes.append(f"column '{name}' holds {value}; the base preparation drops it")

    columns[str(raw.target)] = labels
    result = pd.DataFrame(columns)
    description = {
        "name": raw.name,
        "source": raw.source,
        "version": raw.version,
        "md5": raw.md5,
        "checksum": checksum(result, kinds),
        "rows": len(result),
        "features": len(kinds),
        "missing": int(result[list(kinds)].isna().to_numpy().sum()),
        "target": str(raw.target),
        "columns": kinds,
        "classes": {str(k): int(v) for k, v in labels.value_counts().sort_index().items()},
        "notes": notes,
    }
    return result, description


def checksum(frame: "pd.DataFrame", kinds: dict[str, str]) -> str:
    """Return the SHA-256 of names, kinds and values, whatever wrote the Parquet file."""
    digest = hashlib.sha256()
    for name in frame.columns:
        digest.update(json.dumps([name, kinds.get(name, "target")]).encode())
        if kinds.get(name) == "numeric":
            values = frame[name].to_numpy("<f8") + 0.0  # -0.0 is 0.0
            digest.update(np.where(np.isnan(values), np.float64("nan"), values).tobytes())
        else:
            values = frame[name].astype(object)
            digest.update(json.dumps(values.where(values.notna(), None).tolist()).encode())
    return digest.hexdigest()


def write(frame: "pd.DataFrame", description: dict[str, Any], folder: Path) -> None:
    """Write ``dataset.parquet`` and, last, ``dataset.json``, each whole or not at all."""
    write_parquet(folder / "dataset.parquet", frame)
    write_json(folder / "dataset.json", description)


def _typed(column, what: str, notes: list[str]) -> "tuple[str, pd.Series] | None":
    """Return kind and values of a column, or None if it is left out."""
    import pandas as pd

    dtype = column.dtype
    values = column.dropna()
    if isinstance(dtype, pd.CategoricalDtype):
        if len(values) and all(isinstance(v, (bool, np.bool_)) for v in dtype.categories):
            return "boolean", column.astype(object).astype("boolean")
        return "categorical", _text(column)
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean", column.astype("boolean")
    if pd.api.types.is_complex_dtype(dtype):
        raise UserError(f"{what} holds complex numbers; only real ones can be used")
    if pd.api.types.is_numeric_dtype(dtype):
        return "numeric", _finite(column, notes)
    plain = pd.api.types.is_object_dtype(dtype)
    if pd.api.types.is_string_dtype(dtype) and not plain:
        return "categorical", _text(column)
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if not plain or kind.startswith(DATES):
        notes.append(f"column '{column.name}' left out: {kind} values are no features")
        return None
    if kind == "boolean":
        return "boolean", column.astype("boolean")
    if kind == "empty" or all(isinstance(v, numbers.Real) for v in values):
        return "numeric", _finite(column, notes)
    if kind == "decimal":
        return "numeric", _finite(column.astype("float64"), notes)
    odd = next((v for v in values if not isinstance(v, (str, numbers.Real))), None)
    if odd is not None:
        raise UserError(
            f"{what} holds a value of type {type(odd).__name__}; "
            "only numbers, booleans and text can be used"
        )
    return "categorical", _text(column)


def _finite(column, notes: list[str]) -> "pd.Series":
    import pandas as pd

    values = pd.Series(column.to_numpy("float64", na_value=np.nan), index=column.index)
    infinite = int(np.isinf(values).sum())
    if infinite:
        notes.append(f"column '{column.name}': {infinite} infinite values taken for missing")
        values = values.where(~np.isinf(values))
    return values


def _text(column) -> "pd.Series":
    """Values as text (a category of whole numbers stays without a decimal point)."""
    import pandas as pd

    made = [None if pd.isna(v) else _word(v) for v in column.astype(object)]
    return pd.Series(made, index=column.index, dtype="str")


def _word(value) -> str:
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _labels(target, what: str) -> "pd.Series":
    """Check a target without missing values, and return its labels as text."""
    import pandas as pd

    if not len(target):
        raise UserError(f"{what}: has no values")
    if not isinstance(target.dtype, pd.CategoricalDtype):
        _refuse_regression(target, what)
    labels = _text(target)
    counts = labels.value_counts().sort_index()
    if len(counts) < 2:
        raise UserError(f"{what}: has the single class '{counts.index[0]}'; two are needed")
    small = counts[counts < SMALLEST_CLASS]
    if len(small):
        rows = "row" if small.iloc[0] == 1 else "rows"
        more = f" (and {len(small) - 1} more such classes)" if len(small) > 1 else ""
        raise UserError(
            f"{what}: class '{small.index[0]}' has {small.iloc[0]} {rows}{more}; training, "
            f"validation and test need {SMALLEST_CLASS} at least; merge or remove it"
        )
    return labels


def _refuse_regression(target, what: str) -> None:
    import pandas as pd

    if pd.api.types.is_bool_dtype(target.dtype):
        return
    if pd.api.types.is_datetime64_any_dtype(target.dtype):
        raise UserError(f"{what}: holds dates; a target of classes is needed")
    values = pd.to_numeric(target, errors="coerce")
    if values.isna().any():
        return
    distinct = values.nunique()
    fractional = bool((values % 1 != 0).any())
    if distinct > (MAX_FRACTIONS if fractional else MAX_INTEGERS):
        raise UserError(
            f"{what}: holds {distinct} distinct numbers, as in regression; "
            "a target of classes is needed"
        )
