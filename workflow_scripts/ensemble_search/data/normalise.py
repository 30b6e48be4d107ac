"""Normalisation of data sets: typed columns, the target last, and notes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import digits, prepare, readings, roles
from ensemble_search.data.cells import (
    FROM_BOOLEANS,
    FROM_NUMBERS,
    is_blank,
    short,
    stands_for_missing,
)
from ensemble_search.data.column_notes import ROW_IDS, look_at, twins
from ensemble_search.data.kinds import Column, counted, listed, text
from ensemble_search.data.rows import PARTS
from ensemble_search.data.sources import Raw
from ensemble_search.runtime.errors import UserError, number_of
from ensemble_search.runtime.files import reading, write_json, write_parquet
from ensemble_search.runtime.names import CLASSIFICATION, MISSING, NONE, REGRESSION
from ensemble_search.runtime.plugins import nearest

if TYPE_CHECKING:
    import pandas as pd

#: Smallest and largest weight: sums of products with losses need a margin in single precision.
WEIGHTS = 1e-30, 1e30
SMALLEST_CLASS = 3  # one row each for training, validation and test
# A target with more distinct numbers than these is a regression target.
MAX_FRACTIONS, MAX_INTEGERS = 10, 100


def normalise(
    raw: Raw,
    columns: Mapping[str, Sequence[str]] | None = None,
    task: str = CLASSIFICATION,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
) -> tuple["pd.DataFrame", dict[str, Any]]:
    """Convert a data set to ``dataset.parquet`` and ``dataset.json``.

    Numbers become float64 (missing if infinite or beyond single precision), booleans nullable
    booleans, dates datetime64, everything else text; labels are text, or float64 in regression.
    Text is parsed if nearly every value is a number (perhaps with separators and a unit), a date or
    a boolean; the other values become missing. Rows without a label, times of day and columns that
    the source does not mark as features are dropped. Notes describe all of this, and ambiguous
    columns.

    Parameters
    ----------
    raw
        The data set as in its source.
    columns
        Names of columns by role (``roles.ROLES``), as in a study.
    task
        ``classification`` or ``regression``.
    classes
        The classes to use: labels, or lists of labels that form one class; rows of other classes
        are left out. Default: all.
    positive
        Of two classes, the one that precision, recall and thresholds are about, as it is called
        after merging. Default: the second in the order of text.

    Returns
    -------
    frame
        Of shape (n_rows, n_features + 1), the target last.
    description
        The content of ``dataset.json``, a function of the data.

    Raises
    ------
    UserError
        If there are no rows or features, values have other types, the target does not suit the
        task, a column cannot have its role, ``classes`` or ``positive`` names an unknown label, or
        there is a ``positive`` one among more than two.
    """
    import pandas as pd

    what = f"data set '{raw.name}'"
    if not len(raw.frame):
        raise UserError(f"{what}: has no rows")
    frame, target = raw.frame.rename(columns=str), str(raw.target)
    columns = {**raw.roles, **(columns or {})}
    roles.check_names(columns, list(frame), target)
    pairs, counts, read = roles.pairs(columns), {}, {}
    of_row = {name: role for name, role in pairs if role in roles.OF_ROWS}
    asked = {name: role for name, role in pairs if role not in roles.OF_ROWS}
    dropped = tuple(f"column '{name}' has " for name in columns.get("drop", ()))
    notes = [note for note in raw.notes if not note.startswith(dropped)]
    about = f"{what}: target '{target}'"
    frame = _with_target(frame, target, task, classes, about, notes)
    counted_rows = len(frame) == raw.frame[raw.target].notna().sum()
    if len(frame) < len(raw.frame):
        # Sums and remarks below a table are words among numbers.
        frame = frame.assign(**{name: digits.exact(frame[name]) for name in raw.worded})
    if task == REGRESSION:
        numbers, style = as_numbers(frame[target])
        if style:
            such, read[target] = short(frame[target].iloc[0]), style
            notes.append(
                f"the target '{target}' is text such as {such}: read as {readings.in_words(style)}"
            )
        frame = frame.assign(**{target: numbers})
        labels = _numbers(frame[target], about)
        said = digits.losses(frame[target], raw.rounded.get(target))
        notes += [f"the target '{target}' {lost}" for lost in said]
    else:
        labels = _labels(frame[target], about)
        if values := _written_as(frame[target]):
            read[target] = values
        counts = {str(k): int(v) for k, v in labels.value_counts().sort_index().items()}
        notes += _words(labels, target) + _twins(labels)
        _check_positive(positive, labels, about)
    frame, labels = frame.reset_index(drop=True), labels.reset_index(drop=True)

    taken: dict[str, pd.Series] = {}
    kinds, left_out, of_rows, gaps = {}, {}, {}, {}
    for name in frame.columns.drop(target):
        role, about = asked.get(name), f"{what}: column '{name}'"
        if name in of_row:
            said = notes if role is None else []  # those on a feature follow
            kind, taken[name] = row_values(name, of_row[name], frame[name], about, said, role)
            of_rows[of_row[name]] = {"column": name, "kind": kind}
            if role is None:
                own = f"column '{name}' is the {of_row[name]} of the rows, not a feature"
                if of_row[name] == "time":
                    also = roles.written(kind, name)
                    own += f": if the target has a trend or a season, make it one by '{also}'"
                notes.append(own)
                continue
        if role == "drop":
            left_out[name] = "the study drops it"
        elif name in raw.ignored and role is None:
            left_out[name] = raw.ignored[name]
        else:
            words = raw.missing.get(name, {})
            given = frame[name], role, about, notes, words, raw.rounded.get(name)
            column = Column(name, *given)
            made = column.typed()
            if isinstance(made, str):
                left_out[name] = made
                continue
            kinds[name], taken[name] = made
            look_at(column, *made)
            if absent := int(made[1].isna().sum()):
                # The words were counted in all rows that have a target.
                empty = min(absent, _empty(frame[name], words)) if counted_rows else absent
                gaps[name] = [empty, absent - empty]
            if _absence_tells(made[1], labels):
                column.note(
                    f"has no value in {absent} rows, which says much about the target '{target}': "
                    "if values are filled in once it is known, remove it with "
                    f"{column.remedy('drop')}; if not, imputed values hide it: add a column that "
                    "says where there are values"
                )
            if column.read:
                read[name] = column.read
    notes += [f"column '{name}' left out: {reason}" for name, reason in left_out.items()]
    if not kinds:
        why = "; ".join(f"'{name}': {said}" for name, said in left_out.items())
        raise UserError(
            f"{what}: no column beside the target '{target}' is left" + f" ({why})" * bool(why)
        )

    result = pd.DataFrame({**taken, target: labels}, copy=False)
    description = {
        "name": raw.name,
        "source": raw.source,
        "version": raw.version,
        "md5": raw.md5,
        "checksum": checksum(result, kinds, of_rows),
        "rows": len(result),
        "features": len(kinds),
        "missing": int(result[list(kinds)].isna().to_numpy().sum()),
        "target": target,
        "columns": kinds,
        "asked": asked,
        "of_rows": of_rows,
        "read": read,
        "left_out": left_out,
        "gaps": gaps,
        "prepared": prepare.width(result, kinds, asked),
        "classes": counts,
        **({} if positive is None else {"positive": str(positive)}),
        "notes": notes,
    }
    return result, description


def _with_target(
    frame: "pd.DataFrame", target: str, task: str, classes, about: str, notes: list[str]
) -> "pd.DataFrame":
    """Leave out rows without a label or of other classes, and note how many."""
    absent = frame[target].isna()
    if task == REGRESSION:
        absent |= frame[target].isin(MISSING)
    if missing := int(absent.sum()):
        frame = frame[~absent]
        rows = f"{missing} row{'s' * (missing > 1)}"
        notes.append(f"{rows} without a value of the target '{target}' left out")
    if not classes:
        return frame
    labels = text(frame[target])
    merged = _merged(labels, classes, about)
    if others := int(merged.isna().sum()):
        names = counted(labels[merged.isna()].value_counts().to_dict())
        notes.append(f"{number_of(others, 'row')} left out because of the class: {names}")
    return frame.assign(**{target: merged})[merged.notna()]


def row_values(
    name: str,
    role: str,
    values: "pd.Series",
    what: str,
    notes: list[str],
    feature: str | None = None,
) -> tuple[str, "pd.Series"]:
    """Return the kind and values of a column that divides or weights rows.

    ``role`` is one of ``roles.OF_ROWS``, ``what`` the column's place in messages; ``notes`` are
    added to, and ``feature`` is the role of a time as a feature, if it is one. UserError if a value
    is missing or cannot have this role.
    """
    wanted = {"weight": "numeric", "fold": "numeric", "time": feature}.get(role, "categorical")
    made = Column(name, values, wanted, what, notes).typed()
    if isinstance(made, str):
        raise UserError(f"{what}: cannot be the {role} of the rows: {made}")
    kind, typed = made
    if role == "time" and kind not in ("date", "numeric"):
        said = "cannot be the time of the rows: it holds neither dates nor numbers"
        raise UserError(f"{what}: {said}")
    if lacking := int(typed.isna().sum()):
        raise UserError(
            f"{what}: has no value, or an infinite or unreadable one, in {lacking} "
            f"row{'s' * (lacking > 1)}; each row needs its {role}"
        )
    if role == "weight":
        least, most = WEIGHTS
        if not (typed > 0).all():
            raise UserError(f"{what}: has the weight {typed.min():g}; weights must be above 0")
        if (odd := typed[(typed < least) | (typed > most)]).size:
            raise UserError(
                f"{what}: has the weight {odd.iloc[0]:g}; weights must be from {least:g} to "
                f"{most:g}: multiply all by a number"
            )
        parts = (typed / typed.sum()).to_numpy(float)
        if (equal := 1 / np.square(parts).sum()) < len(typed) / 10:
            notes.append(
                f"column '{name}' weights rows so unequally that their effective number is "
                f"{equal:.0f} of {len(typed)}"
            )
    if role == "fold":
        if len(odd := typed[typed != typed.round()]):
            raise UserError(f"{what}: has the fold {odd.iloc[0]:g}; folds are integers")
        if (far := typed.abs() >= digits.EXACT).any():  # doubles merge some of them
            found = f"has the fold {values[far].iloc[0]}"
            raise UserError(f"{what}: {found}; folds are below {digits.EXACT} in absolute value")
    if role == "part" and len(others := typed[~typed.isin(PARTS)]):
        raise UserError(f"{what}: has the part '{others.iloc[0]}'; parts are {', '.join(PARTS)}")
    return kind, typed


def checksum(
    frame: "pd.DataFrame | Stored",
    kinds: Mapping[str, str],
    of_rows: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Return the SHA-256 of names, kinds and values; it does not depend on the Parquet writer."""
    digest = hashlib.sha256()
    kinds = {**kinds, **{c["column"]: c["kind"] for c in (of_rows or {}).values()}}
    for name in frame.columns:
        digest.update(json.dumps([name, kinds.get(name, "target")]).encode())
        if kinds.get(name) == "numeric":
            values = frame[name].to_numpy("<f8") + 0.0  # -0.0 is 0.0
            digest.update(np.where(np.isnan(values), np.float64("nan"), values).tobytes())
        elif kinds.get(name) == "date":
            digest.update(frame[name].to_numpy("datetime64[us]").astype("<i8").tobytes())
        else:
            values = frame[name].astype(object)
            digest.update(json.dumps(values.where(values.notna(), None).tolist()).encode())
    return digest.hexdigest()


def write(frame: "pd.DataFrame", description: dict[str, Any], folder: Path) -> None:
    """Write ``dataset.parquet`` and, last, ``dataset.json``, each atomically."""
    write_parquet(folder / "dataset.parquet", frame)
    write_json(folder / "dataset.json", description)


class Stored:
    """The columns of ``dataset.parquet``, loaded lazily, with the interface of a frame.

    Unusable if the file is missing or damaged; also when a column is read.
    """

    def __init__(self, path: Path):
        import pyarrow.parquet as pq

        self._path = path
        with reading(path):
            self._file = pq.ParquetFile(path)
        self.columns = self._file.schema_arrow.names
        self._last: tuple[str, pd.Series] | None = None

    def __getitem__(self, name: str) -> "pd.Series":
        if self._last is None or self._last[0] != name:
            with reading(self._path):
                self._last = name, self._file.read([name])[name].to_pandas()
        return self._last[1]


def _labels(target, what: str) -> "pd.Series":
    """Check that a target has no missing values, and return its labels as text."""
    import pandas as pd

    if not len(target):
        raise UserError(f"{what}: has no values")
    if pd.api.types.is_datetime64_any_dtype(target.dtype):
        raise UserError(f"{what}: holds dates; a target of classes is needed")
    if not isinstance(target.dtype, pd.CategoricalDtype) and (distinct := many_numbers(target)):
        raise UserError(
            f"{what}: holds {distinct} distinct numbers; for a regression, "
            "set 'metric: squared-error' in the study; otherwise, a target of classes is needed"
        )
    if pd.api.types.is_float_dtype(target.dtype) and np.isinf(target.to_numpy("float64")).any():
        raise UserError(f"{what}: holds infinite values, which are not a class; remove them")
    labels = text(target)
    counts = labels.value_counts().sort_index()
    if odd := [label for label in counts.index if "\0" in label]:  # NumPy drops it at the end
        raise UserError(f"{what}: class '{odd[0]}' holds a null character; remove it")
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


def _written_as(target: "pd.Series") -> str | None:
    """Return what kind of values, other than text, the labels are text of: integers or booleans."""
    import pandas as pd

    values = pd.Series([*target.dropna().unique()])
    if pd.api.types.is_bool_dtype(values.dtype):
        return FROM_BOOLEANS
    if not pd.api.types.is_numeric_dtype(values.dtype):
        return None
    values = values.astype("float64")
    exact = (values % 1 == 0) & (values.abs() < digits.EXACT)
    return FROM_NUMBERS if exact.all() else None


def names_of_classes(classes: Sequence[Any]) -> dict[str, str]:
    """Return the class, such as ``1+2``, of each label of a data set's ``classes`` in a study."""
    groups = [[str(label) for label in (c if isinstance(c, list) else [c])] for c in classes]
    return {label: "+".join(group) for group in groups for label in group}


def _merged(labels, classes: Sequence[Any], what: str) -> "pd.Series":
    """Replace labels by the study's classes, such as ``1+2``; labels of no class are missing."""
    new = names_of_classes(classes)
    known = sorted(labels.unique())
    for label in new:
        if label not in known:
            raise UserError(f"classes: {what} has no class '{label}'; {nearest(label, known)}")
    return labels.map(new)


def _check_positive(positive: Any, labels: "pd.Series", what: str) -> None:
    if positive is None:
        return
    classes = sorted(labels.unique())
    if len(classes) > 2:
        found = f"{what} has {len(classes)} classes, {listed(classes)}; only a target "
        found += "of two classes has a positive one"
        for one, other, how in islice(twins(labels), 1):
            found += f"; {short(one)} and {short(other)} {how}: write them the same way if they "
            found += "mean the same"
        raise UserError(f"positive: {found}")
    if str(positive) not in classes:
        raise UserError(f"positive: {what} has no class '{positive}'; {nearest(positive, classes)}")


def _words(labels, target: str) -> list[str]:
    """Note classes whose names are words for missing values."""
    words = [w for w in labels.unique() if w in MISSING or stands_for_missing(w) or is_blank(w)]
    counts = labels[labels.isin(words)].value_counts().sort_index()
    return [
        f"'{label}' is a class of the target '{target}', in {count} rows; a row without a label "
        "needs an empty field"
        for label, count in counts.items()
    ]


def _twins(labels) -> list[str]:
    """Return notes on the first pairs of classes that are probably the same."""
    return [
        f"classes {short(one)} and {short(other)} of the target {how}; if they mean the same, "
        "write them the same way"
        for one, other, how in islice(twins(labels), 3)
    ]


def _empty(values, words: Mapping[str, int]) -> int:
    """Count values that are empty in the source, not words for missing values."""
    kept = NONE in words and values.isin([NONE]).any()
    read = sum(count for word, count in words.items() if not (kept and word == NONE))
    return max(0, int(values.isna().sum()) - read)


def _absence_tells(values, labels) -> bool:
    """Whether knowing where values are missing halves the error of predicting labels.

    Predictions are the most frequent class, or the mean, with squared errors. The split loses this
    information.
    """
    absent = values.isna()
    # If there is a category for missing values, nothing is lost.
    if len(labels) < ROW_IDS or not 0 < absent.sum() < len(absent) or values.isin(MISSING).any():
        return False
    groups = labels.groupby(absent)
    if labels.dtype.kind == "f":
        left = groups.transform("var", ddof=0).sum()
        return bool(2 * left <= len(labels) * labels.var(ddof=0))
    right = sum(group.value_counts().iloc[0] for _, group in groups)
    return bool(2 * (len(labels) - right) <= len(labels) - labels.value_counts().iloc[0])


def many_numbers(target: "pd.Series") -> int:
    """Count the distinct values of a numeric target, if they are too many to be classes.

    0 if values (without missing ones and dates) can be classes: booleans; text other than numbers
    (perhaps with separators or units) and words for missing values; at most :data:`MAX_INTEGERS`
    distinct integers or :data:`MAX_FRACTIONS` distinct numbers.
    """
    import pandas as pd

    if pd.api.types.is_bool_dtype(target.dtype):
        return 0
    if pd.api.types.is_numeric_dtype(target.dtype):
        values = target
    else:
        counts = text(target[~target.isin(MISSING)]).value_counts()
        found = readings.numbers(counts.index.tolist(), counts.to_numpy())
        if not found or found[0].share < 1:
            return 0
        values = pd.Series(found[0].values)
    distinct = values.nunique()
    fractional = bool((values % 1 != 0).any())
    return distinct if distinct > (MAX_FRACTIONS if fractional else MAX_INTEGERS) else 0


def as_numbers(target: "pd.Series") -> tuple["pd.Series", str]:
    """Parse text that consists of numbers with separators or units, if there is one way to do so.

    Returns the values, unchanged if they cannot be parsed, and the style of ``readings``, or "".
    """
    import pandas as pd

    present = target.dropna()
    if pd.api.types.is_numeric_dtype(target.dtype) or not present.map(type).eq(str).all():
        return target, ""
    counts = present.value_counts()
    found = readings.numbers(counts.index.tolist(), counts.to_numpy())
    if len(found) != 1 or found[0].share < 1 or found[0].style == readings.PLAIN:
        return target, ""
    return target.map(dict(zip(counts.index, found[0].values, strict=True))), found[0].style


def _numbers(target, what: str) -> "pd.Series":
    """Check a regression target without missing values, and return it as float64."""
    import pandas as pd

    if not len(target):
        raise UserError(f"{what}: has no values")
    kind = pd.api.types.infer_dtype(target)
    if kind == "boolean" or pd.api.types.is_datetime64_any_dtype(target):
        raise UserError(f"{what}: holds {kind} values; a regression needs numbers")
    values = pd.to_numeric(target.astype(object), errors="coerce").astype("float64")
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        raise UserError(
            f"{what}: holds {short(str(target.iloc[row]))} in row {target.index[row] + 1}; "
            "a regression needs finite numbers, written as -1234.5"
        )
    if values.nunique() < 2:
        value = f"{values.iloc[0]:g} in double precision"
        raise UserError(f"{what}: has the single value {value}; two are needed")
    return values
