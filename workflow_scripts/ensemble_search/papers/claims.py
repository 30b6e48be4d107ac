"""Read what the papers claim, ``<paper>/claims.yaml``."""

from typing import Literal

from pydantic import Field

from ensemble_search.papers.printed import Part, entries


class Decide(Part):
    """How rows of evidence decide a claim; see ``evidence.claims.decide``.

    Attributes
    ----------
    column
        Column of the rows in which methods are compared. ``validation_100``: the lowest validation
        loss up to iteration 100.
    by
        ``mean``: by the mean over runs of each data set; ``rank``: by the rank of that mean among
        the methods named here.
    lower, higher
        Methods: each of the first is claimed to be lower than each of the second.
    size
        The difference that the paper prints, in the column's unit, such as 0.0024 for 0.24 points.
    """

    column: Literal[
        "test",
        "validation",
        "validation_100",
        "minimum_diversity",
        "updates_100",
        "updates_50",
        "disagreement",
    ]
    by: Literal["mean", "rank"] = "mean"
    lower: list[str]
    higher: list[str]
    size: float | None = None


class Claim(Part):
    """A claim.

    Attributes
    ----------
    where
        Section, table or figure.
    claim
        In short, with its numbers.
    numbers
        Entries of ``published.yaml`` that have them.
    study
        Name of the file in ``studies/`` that tests it; empty if none does.
    decide
        How the evidence of that study decides it, if it can.
    """

    where: str
    claim: str
    numbers: list[str] = Field(default_factory=list)
    study: str = ""
    decide: Decide | None = None


def load(paper: str) -> dict[str, Claim]:
    """Read what a paper claims, by name; see ``printed.entries``."""
    return entries(paper, "claims.yaml", Claim)
