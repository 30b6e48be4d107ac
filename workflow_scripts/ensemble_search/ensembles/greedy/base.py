"""Base of the ensembles that add models one by one, each time the one with the lowest loss."""

from abc import ABC
from typing import Literal

from pydantic import field_validator

from ensemble_search.ensembles.base import Ensemble, Pool
from ensemble_search.metrics.base import Metric
from ensemble_search.runtime import plugins

Ties = Literal["random", "selected-first", "log-loss"]


class GreedyEnsemble(Ensemble, ABC):
    """What they have in common.

    Attributes
    ----------
    ties
        Which of the models with the fewest errors a round adds. ``random`` (default): any, as in
        auto-sklearn. ``selected-first``: one already selected, as in AutoGluon. ``log-loss``: the
        one that minimises the log loss of the mean probability (``selection.log_losses``).
        Remaining ties are broken uniformly at random.
    metric
        Loss that the rounds minimise, a file in metrics/. Default: the study's.
    """

    ties: Ties = "random"
    metric: str | None = None

    @field_validator("metric")
    @classmethod
    def _is_a_metric(cls, name: str | None) -> str | None:
        """Refuse a metric that does not exist."""
        if name is not None:
            plugins.checked("metrics", name)
        return name

    @property
    def modules(self) -> list[str]:
        """The metric's module, unless it is the study's."""
        return [plugins.module_name("metrics", self.metric)] if self.metric else []

    def minimised(self, pool: Pool) -> Metric:
        """Return the loss that the rounds minimise."""
        return plugins.load("metrics", self.metric)() if self.metric else pool.problem.metric
