"""The setting of ensembles and optimizers that names a metric."""

from pydantic import BaseModel, Field, field_validator

from ensemble_search.metrics.base import Metric
from ensemble_search.problems.base import Problem
from ensemble_search.runtime import plugins


class OwnMetric(BaseModel):
    """A mixin, listed before the plugin's base class: a loss other than the study's."""

    metric: str | None = Field(
        None,
        description="Loss of the selection, defined in metrics/ (default: the study's).",
    )

    @field_validator("metric")
    @classmethod
    def _is_a_metric(cls, name: str | None) -> str | None:
        """Reject a metric that does not exist."""
        if name is not None:
            plugins.checked("metrics", name)
        return name

    @property
    def modules(self) -> list[str]:
        """Modules that the plugin loads by name, including the metric unless it is the study's."""
        own = [plugins.module_name("metrics", self.metric)] if self.metric else []
        return [*super().modules, *own]  # type: ignore[misc]  # of the base listed after it

    def minimised(self, problem: Problem) -> Metric:
        """Return the named metric, or the study's."""
        if not self.metric:
            return problem.metric
        return plugins.load("metrics", self.metric)().with_weights(problem.metric.weights)
