"""What every source of a data set gives."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Raw:
    """A data set as in its source.

    Attributes
    ----------
    frame
        All columns, including the target, of shape (n_rows, n_features + 1).
    target
        Name of the target column.
    name
        Name of the data set in the source.
    source
        The source without pins and absolute paths, as in ``dataset.json``.
    version, md5
        OpenML's version; MD5 of the ARFF or of the user's file. None if not applicable.
    ignored
        Columns that the source marks as no features (row ids), with the reason.
    missing
        Words that the reader of the source treated as missing, with counts, by column.
    rounded
        Of fractions that lost digits when they were read, the number and the first, by column.
    worded
        Columns of a CSV file that are text because of a value that is no number.
    notes
        For people, on how it was read.
    roles
        Roles of columns (``data.roles``) that the source gives, such as the folds of a task.
    """

    frame: "pd.DataFrame"
    target: str
    name: str
    source: dict[str, Any]
    version: int | None = None
    md5: str | None = None
    ignored: dict[str, str] = field(default_factory=dict)
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    rounded: dict[str, tuple[int, str]] = field(default_factory=dict)
    worded: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)
