"""The common basis of most pages: compared methods, the reference, and their styles."""

from dataclasses import dataclass
from typing import Any

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.report.plots import figures


@dataclass(frozen=True)
class View:
    """What is compared, and how it is drawn."""

    compared: Comparison  #: the runs that all compared methods have finished
    reference: str  #: the study's reference method, or the last compared one if that has no results
    look: dict[str, dict]  #: colour, dashes and marker by method
    study: dict[str, Any]  #: the study, as in ``Results``
    single: list[str]  #: the methods that take the best model

    @property
    def losses(self) -> Losses:
        """How to show losses by the study's metric."""
        return self.compared.losses

    @property
    def others(self) -> list[str]:
        """The compared methods except the reference."""
        return [m for m in self.compared.methods if m != self.reference]

    @property
    def ensembles(self) -> list[str]:
        """The compared methods that build an ensemble instead of taking the best model."""
        return [m for m in self.compared.methods if m not in self.single]

    @property
    def key(self) -> dict[str, dict]:
        """Styles of the compared methods, for a legend."""
        return {m: self.look[m] for m in self.compared.methods}


def view(results: Results, least: int = 1) -> View | str:
    """Prepare a page that needs at least ``least`` methods with results, or say what is missing."""
    compared = results.compared
    if not compared.methods:
        return "no run has finished"
    if len(compared.methods) < least:
        return f"only {compared.methods[0]} has results: there is nothing to compare it with"
    known = results.reference in compared.methods
    reference = results.reference if known else compared.methods[-1]
    look = figures.styles(results.methods, results.reference)
    return View(compared, reference, look, results.study, results.single)
