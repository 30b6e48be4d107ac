"""Read a paper's numbers and its inconsistencies, and validate these files."""

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

FOLDER = Path(__file__).parent
PAPERS = ("divbo", "esmbo", "boasf", "dodge")


class Part(BaseModel):
    """Base of the parts of the papers' files."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


P = TypeVar("P", bound=Part)


class Significant(Part):
    """Data sets on which the text calls a difference significant."""

    of: list[str] = Field(min_length=2, max_length=2)
    better: list[str]
    same: list[str]
    also: str = ""


class Entry(Part):
    """A table, or numbers from the text."""

    where: str  #: section, table or figure
    what: str  #: meaning of the numbers
    #: ``percent`` (numbers from 0 to 100), ``share`` (from 0 to 1), or empty.
    unit: Literal["", "percent", "share"] = ""
    columns: list[str] = []  #: headings for the rows of ``values``; empty if there are no rows
    settings: dict[str, Any] = {}  #: experimental settings that differ from the entry ``settings``
    significant: Significant | None = None  #: the text's statements on significant differences
    #: Numbers, lists and mappings of numbers, and a few words.
    values: dict[str | int, Any] | list[Any]

    @model_validator(mode="after")
    def _shape(self):
        if self.columns and not isinstance(self.values, dict):
            raise ValueError(f"{self.where}: columns need rows by name")
        rows = self.values.items() if isinstance(self.values, dict) and self.columns else ()
        for name, row in rows:
            if not isinstance(row, list) or len(row) != len(self.columns):
                raise ValueError(f"{self.where}: {name} does not have {len(self.columns)} numbers")
        end = {"percent": 100, "share": 1}.get(self.unit)
        for value in numbers(self.values):
            if end and not 0 <= value <= end:
                raise ValueError(f"{self.where}: {value:g} is not from 0 to {end}")
        return self


def numbers(values: Any) -> Iterator[float]:
    """Yield the numbers in lists and mappings."""
    if isinstance(values, dict | list):
        for value in values.values() if isinstance(values, dict) else values:
            yield from numbers(value)
    elif isinstance(values, int | float):
        yield values


def read(paper: str, file: str) -> Any:
    """Read a YAML file of a paper."""
    import yaml

    return yaml.safe_load((FOLDER / paper / file).read_text(encoding="utf-8"))


@cache
def entries(paper: str, file: str, kind: type[P]) -> dict[str, P]:
    """Read the entries of a YAML file of a paper by name.

    Raises pydantic.ValidationError if an entry does not have the schema of ``kind``.
    """
    return {name: kind.model_validate(entry) for name, entry in read(paper, file).items()}


@cache
def load(paper: str) -> dict[str, dict[str, Any]]:
    """Read the numbers of a paper, one of :data:`PAPERS`: entries by name, as in the file.

    Raises pydantic.ValidationError if one does not have the schema of :class:`Entry`.
    """
    content = read(paper, "published.yaml")
    del content["paper"]
    for entry in content.values():
        Entry.model_validate(entry)
    return content


def values(paper: str, name: str) -> Any:
    """Return the values of an entry."""
    return load(paper)[name]["values"]


def table(paper: str, name: str) -> pd.DataFrame:
    """Return an entry with ``columns`` as a data frame, one row per name."""
    entry = load(paper)[name]
    return pd.DataFrame.from_dict(entry["values"], orient="index", columns=entry["columns"])


class Inconsistency(Part):
    """An entry of ``<paper>/inconsistencies.yaml``."""

    where: str  #: tables and sections
    what: str  #: the inconsistency in one sentence
    #: ``contradicts``: both cannot be true; ``qualifies``: the printed statement means less than it
    #: seems to, or is unlikely.
    kind: Literal["contradicts", "qualifies"]
    printed: Any = None  #: the paper's printed value
    by: str  #: name of the function in ``<paper>/checks.py`` that computes ``computed``
    of: dict[str, Any] = Field(default_factory=dict)  #: arguments of the function
    computed: Any  #: the value that follows from other numbers of the paper, rounded
    #: ``computed`` in words: a format string whose fields are the keys or positions of
    #: ``computed``. A list of lists is formatted list by list.
    words: str = "{}"

    @property
    def shown(self) -> str:
        """Return ``computed`` in words."""
        found = self.computed
        if isinstance(found, dict):
            return self.words.format(**found)
        rows = found if isinstance(found, list) else [found]
        if not all(isinstance(row, list) for row in rows):
            rows = [rows]
        return "; ".join(self.words.format(*row) for row in rows)


def inconsistencies(paper: str) -> dict[str, Inconsistency]:
    """Read what a paper's own numbers contradict or qualify in its statements.

    From ``inconsistencies.yaml``, by name; see :func:`entries`.
    """
    return entries(paper, "inconsistencies.yaml", Inconsistency)


def compute(paper: str, name: str) -> Any:
    """Compute the value of :attr:`Inconsistency.computed`."""
    entry = inconsistencies(paper)[name]
    checks = importlib.import_module(f"ensemble_search.papers.{paper}.checks")
    function: Callable[..., Any] = getattr(checks, entry.by)
    return function(**entry.of)
