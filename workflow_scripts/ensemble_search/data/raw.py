"""The common form of all sources' data sets."""

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
        Columns that the source does not mark as features (row ids), with the reason.
    missing
        Words that the source's reader treated as missing, with counts, by column.
    rounded
        Number of fractions that lost digits when read, and the first of them, by column.
    worded
        Columns of a CSV file that are text because of a value that is not a number.
    notes
        Notes for the user on how it was read.
    roles
        Roles of columns (``data.roles``) that the source assigns, such as the folds of a task.
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
