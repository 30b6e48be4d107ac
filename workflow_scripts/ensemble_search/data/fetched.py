"""A fetched data set as it lies below ``results/data/``, read back."""

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
    # What older versions of the project did not write.
    asked: dict[str, str] = Field(default_factory=dict)
    left_out: dict[str, str] = Field(default_factory=dict)
    prepared: Count = 0
    notes: list[str] = Field(default_factory=list)


def description(folder: Path) -> dict[str, Any]:
    """Read ``dataset.json``."""
    return schema.read_json(folder / "dataset.json", Description)


def read(folder: Path) -> "tuple[normalise.Stored, dict[str, Any]]":
    """Read a fetched data set: ``dataset.parquet``, with the values that ``dataset.json`` names.

    Raises
    ------
    Unusable
        Also if the values are others.
    """
    from ensemble_search.data import normalise

    described = description(folder)
    path = folder / "dataset.parquet"
    stored = normalise.Stored(path)
    with files.reading(path):
        if normalise.checksum(stored, described["columns"]) != described["checksum"]:
            raise ValueError("it does not hold the values that dataset.json was written for")
    return stored, described
