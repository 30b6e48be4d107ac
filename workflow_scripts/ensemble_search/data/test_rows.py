"""A data set in two files, the second of which contains the test rows."""

from collections import Counter
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from ensemble_search.data.sources import Raw
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def differing(train: Raw, test: Raw) -> dict[str, tuple[str, str]]:
    """Return, by column, the content of both files where it differs."""
    found = {name: (_kind(train.frame[name]), _kind(test.frame[name])) for name in train.frame}
    return {name: kinds for name, kinds in found.items() if len({*kinds} - {""}) > 1}


def _kind(column: "pd.Series") -> str:
    """Describe the content of a column; empty if it has no values."""
    import pandas as pd

    present = column.dropna()
    if present.empty:
        return ""
    kind = pd.api.types.infer_dtype(present)
    if kind in ("integer", "floating", "decimal", "mixed-integer-float"):
        return "numbers"
    return {"string": "text", "categorical": "categories"}.get(kind, kind)


def join(train: Raw, test: Raw, classes: bool) -> Raw:
    """Join the rows of two files, with a column of folds that marks the test rows.

    The files have the same columns in any order. With ``classes``, each label of the test rows must
    be one of the others. UserError for another label, or a column with the name of the folds'.
    """
    import pandas as pd

    from ensemble_search.data.kinds import text

    target, frame, others = train.target, train.frame, test.frame[[*train.frame]]
    here, there = train.source["file"], test.source["file"]
    if classes:
        known, labels = set(text(frame[target].dropna())), text(others[target].dropna())
        for row, label in labels[~labels.isin(known)].items():
            raise UserError(
                f"test: '{there}' has the class '{label}' in row {row + 1}, which no row of "
                f"'{here}' has; training needs rows of every class"
            )
    if not len(frame) or not len(others):
        raise UserError(f"test: '{there if len(frame) else here}' has no rows")
    if others[target].isna().all():
        raise UserError(f"test: no row of '{there}' has a value of the target '{target}'")
    fold = f"rows of {PurePath(there).name}"  # without its folder: the checksum covers the name
    if fold in frame:
        raise UserError(f"file: '{here}' has a column '{fold}', which marks the test rows; drop it")
    columns = {}
    for name in frame:
        both = [frame[name], others[name]]
        if all(isinstance(column.dtype, pd.CategoricalDtype) for column in both):
            columns[name] = pd.Series(pd.api.types.union_categoricals(both))
        else:
            columns[name] = pd.concat(both, ignore_index=True)
    joined = pd.DataFrame(columns)
    joined[fold] = [-1] * len(frame) + [0] * len(others)
    words = {
        name: dict(Counter(train.missing.get(name)) + Counter(test.missing.get(name)))
        for name in {**train.missing, **test.missing}
    }
    rounded = dict(train.rounded)
    for name, (count, first) in test.rounded.items():
        before, example = rounded.get(name, (0, first))
        rounded[name] = before + count, example
    return replace(
        train,
        frame=joined,
        source={**train.source, "test": there},
        md5=files.joined_md5([md5 for md5 in (train.md5, test.md5) if md5]),
        missing=words,
        rounded=rounded,
        worded=[name for name in train.worded if name in test.worded],
        notes=[*train.notes, *(f"'{there}': {n}" for n in test.notes if n not in train.notes)],
        roles={"fold": [fold]},
    )
