"""The common form of all sources' data sets."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Raw:
    """A data set as in its source."""

    #: All columns, including the target, of shape (n_rows, n_features + 1).
    frame: "pd.DataFrame"
    #: Name of the target column.
    target: str
    #: Name of the data set in the source.
    name: str
    #: The source without pins and absolute paths, as in ``dataset.json``.
    source: dict[str, Any]
    #: OpenML's version, and MD5 of the ARFF or of the user's file; None if not applicable.
    version: int | None = None
    md5: str | None = None
    #: Columns that the source does not mark as features (row ids), with the reason.
    ignored: dict[str, str] = field(default_factory=dict)
    #: Words that the source's reader treated as missing, with counts, by column.
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Number of fractions that lost digits when read, and the first of them, by column.
    rounded: dict[str, tuple[int, str]] = field(default_factory=dict)
    #: Columns of a CSV file that are text because of a value that is not a number.
    worded: list[str] = field(default_factory=list)
    #: Notes for the user on how it was read.
    notes: list[str] = field(default_factory=list)
    #: Roles of columns (``data.roles``) that the source assigns, such as the folds of a task.
    roles: dict[str, list[str]] = field(default_factory=dict)
