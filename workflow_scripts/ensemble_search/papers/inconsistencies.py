"""Read what follows from a paper's own numbers and contradicts or qualifies what it says."""

import importlib
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from ensemble_search.papers.printed import Part, entries


class Inconsistency(Part):
    """An entry of ``<paper>/inconsistencies.yaml``.

    Attributes
    ----------
    where
        Tables and sections.
    what
        In a sentence.
    kind
        ``contradicts``: both cannot be true; ``qualifies``: what is printed says less than it seems
        to, or is unlikely.
    printed
        What the paper prints.
    by
        Name of the function in ``<paper>/checks.py`` that computes ``computed``.
    of
        Its arguments.
    computed
        What follows from other numbers of the paper, rounded.
    """

    where: str
    what: str
    kind: Literal["contradicts", "qualifies"]
    printed: Any = None
    by: str
    of: dict[str, Any] = Field(default_factory=dict)
    computed: Any


def load(paper: str) -> dict[str, Inconsistency]:
    """Read the inconsistencies of a paper, by name; see ``printed.entries``."""
    return entries(paper, "inconsistencies.yaml", Inconsistency)


def compute(paper: str, name: str) -> Any:
    """Compute what :attr:`Inconsistency.computed` holds."""
    entry = load(paper)[name]
    checks = importlib.import_module(f"ensemble_search.papers.{paper}.checks")
    function: Callable[..., Any] = getattr(checks, entry.by)
    return function(**entry.of)
