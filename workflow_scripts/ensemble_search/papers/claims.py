"""Read the papers' claims, ``<paper>/claims.yaml``."""

from typing import Literal

from pydantic import Field

from ensemble_search.papers.printed import Part, entries


class Decide(Part):
    """How rows of evidence decide a claim; see ``evidence.claims.decide``."""

    #: Column by which methods are compared. ``validation_100``: the lowest validation loss up to
    #: iteration 100; ``test_1``: the test loss after a tenth of the budget; ``reached``: log2 of
    #: the iterations to the higher of two methods' final validation losses, which both reach, so
    #: that a difference of 1 means twice as many iterations; ``seconds``: log2 of the CPU seconds
    #: to fit and the wall-clock seconds to suggest; ``test_divisions``: the mean over all divisions
    #: of the held-out rows. Columns of ``evidence.measured``: ``tau``, ``discrepancy``, ``centre``,
    #: ``origin``.
    column: Literal[
        "test",
        "test_1",
        "test_divisions",
        "validation",
        "validation_100",
        "reached",
        "seconds",
        "minimum_diversity",
        "updates_100",
        "updates_50",
        "member_error",
        "disagreement",
        "suggested_error",
        "suggested_beats",
        "tau",
        "discrepancy",
        "centre",
        "origin",
    ]
    #: Units of the intervals: ``datasets``, or ``repeats``, each with its mean over the data sets.
    #: Intervals over repeats apply only to these data sets and splits.
    over: Literal["datasets", "repeats"] = "datasets"
    #: ``mean``: the mean over runs of each data set; ``rank``: the rank of that mean among the
    #: methods named here; ``spread``: the absolute deviation from the method's median over repeats
    #: (Brown and Forsythe 1974); ``tied``: the share of data sets on which its mean is not the
    #: higher of two, compared with the share of methods that are alike, with as many ties;
    #: ``best``: the same, of all methods.
    by: Literal["mean", "rank", "spread", "tied", "best"] = "mean"
    #: Methods: each in ``lower`` is claimed to be lower than each in ``higher``; with ``best``, to
    #: be the lowest more often than by chance.
    lower: list[str]
    higher: list[str] = Field(default_factory=list)
    #: The difference printed in the paper, in the column's unit, such as 0.0024 for 0.24 points.
    size: float | None = None
    #: The methods are claimed to differ by less than this, in either direction.
    within: float | None = None
    #: The methods in ``lower`` are only claimed not to be higher by this or more.
    margin: float = 0.0
    #: Data sets that the claim covers; empty: all.
    datasets: list[str] = Field(default_factory=list)
    #: Instead of ``higher``: a method halfway between these two.
    halfway: list[str] = Field(default_factory=list)
    #: Instead of ``higher``: the paper's printed values for the method, by data set.
    printed: dict[str, float] = Field(default_factory=dict)
    #: The difference is claimed to be larger in the claim's first study than in each other one.
    #: Repeats with the same number are compared.
    largest_in_first: bool = False
    #: The claim is about the mean over its studies: each data set counts with its mean over them.
    pooled: bool = False


class Claim(Part):
    """A claim."""

    where: str  #: section, table or figure
    claim: str  #: short form, with its numbers
    #: Entries of ``published.yaml`` with these numbers.
    numbers: list[str] = Field(default_factory=list)
    #: Names of the files in ``studies/`` that test it: the claim is about each of them.
    studies: list[str] = Field(default_factory=list)
    decide: Decide | None = None  #: how their evidence decides the claim, if it can
    #: How the rule changed after the first results of its studies, with the verdicts then.
    changed: str = ""


def load(paper: str) -> dict[str, Claim]:
    """Read a paper's claims, by name; see ``printed.entries``."""
    return entries(paper, "claims.yaml", Claim)
