"""Reading fetched data sets below ``results/data/``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ensemble_search.runtime import files, schema
from ensemble_search.runtime.schema import Count, Stored

if TYPE_CHECKING:
    from ensemble_search.data import normalise


class Description(Stored):
    """``dataset.json``."""

    name: str
    source: dict[str, Any]
    version: int | None
    md5: str | None
    checksum: str
    rows: Count
    features: Count
    target: str
    columns: dict[str, str]
    classes: dict[str, Count]
    # Older versions of the project did not store these.
    asked: dict[str, str] = Field(default_factory=dict)
    of_rows: dict[str, dict[str, str]] = Field(default_factory=dict)
    read: dict[str, str] = Field(default_factory=dict)
    left_out: dict[str, str] = Field(default_factory=dict)
    gaps: dict[str, list[Count]] = Field(default_factory=dict)
    prepared: Count = 0
    notes: list[str] = Field(default_factory=list)


def description(folder: Path) -> dict[str, Any]:
    """Read ``dataset.json``."""
    return schema.read_json(folder / "dataset.json", Description)


def read(folder: Path) -> "tuple[normalise.Stored, dict[str, Any]]":
    """Read a fetched data set, and check ``dataset.parquet`` against ``dataset.json``.

    Unusable if a file is missing or damaged, or the two do not match.
    """
    from ensemble_search.data import normalise

    described = description(folder)
    path = folder / "dataset.parquet"
    stored = normalise.Stored(path)
    with files.reading(path):
        kinds = described["columns"], described.get("of_rows")
        if normalise.checksum(stored, *kinds) != described["checksum"]:
            raise ValueError("it does not hold the values that dataset.json was written for")
    return stored, described
