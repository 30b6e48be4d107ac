"""What most pages start from: the methods that are compared, the reference, how they look."""

from dataclasses import dataclass
from typing import Any

from ensemble_search.analysis.load import Results
from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.report.plots import figures


@dataclass(frozen=True)
class View:
    """What is compared, and how it is drawn.

    Attributes
    ----------
    compared
        The runs that all compared methods have finished.
    reference
        The study's reference method, or the last compared one where it has no results.
    look
        Colour, dashes and marker by method.
    study
        The study, as in ``Results``.
    """

    compared: Comparison
    reference: str
    look: dict[str, dict]
    study: dict[str, Any]

    @property
    def losses(self) -> Losses:
        """How losses by the study's metric are shown."""
        return self.compared.losses

    @property
    def others(self) -> list[str]:
        """The compared methods but the reference."""
        return [m for m in self.compared.methods if m != self.reference]

    @property
    def ensembles(self) -> list[str]:
        """The compared methods that build an ensemble, and not just take the best model."""
        types = {m: self.study["ensembles"][parts["ensemble"]]["type"]
                 for m, parts in self.study["methods"].items()}  # fmt: skip
        return [m for m in self.compared.methods if types[m] != "best"]

    @property
    def key(self) -> dict[str, dict]:
        """Looks of the compared methods, for a legend."""
        return {m: self.look[m] for m in self.compared.methods}


def view(results: Results, least: int = 1) -> View | str:
    """Prepare a page that needs at least so many methods with results, or say why it has none."""
    compared = results.compared
    if not compared.methods:
        return "no run has finished"
    if len(compared.methods) < least:
        return f"only {compared.methods[0]} has results: there is nothing to compare it with"
    reference = results.reference
    if reference not in compared.methods:
        reference = compared.methods[-1]
    look = figures.styles(results.methods, results.reference)
    return View(compared, reference, look, results.study)
