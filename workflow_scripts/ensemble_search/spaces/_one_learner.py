"""Spaces of one learner, without choices between operators."""

from abc import abstractmethod
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.spaces.base import Space

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from ensemble_search.learners.operators import Operator


class OneLearner(Space):
    """The hyperparameters of one learner, by their short names."""

    has_algorithms: ClassVar[bool] = False
    #: Name of the learner in the module ``learners``, by task.
    learner: ClassVar[Mapping[str, str]]
    #: Whether features are standardised first.
    standardised: ClassVar[bool] = False
    #: Modules that the worker imports before the first evaluation.
    modules: ClassVar[tuple[str, ...]] = (
        "ensemble_search.learners.esmbo",
        "ensemble_search.learners.huber_boosting",
        "ensemble_search.learners.mlp",
        "ensemble_search.learners.pipeline",
        "ensemble_search.learners.rescalers",
        "ensemble_search.learners.scores",
        "sklearn.ensemble",
        "sklearn.preprocessing",
        "sklearn.svm",
    )

    @property
    @abstractmethod
    def learners(self) -> ModuleType:
        """The learner's module, imported here because code versions follow imports."""

    @property
    def operator(self) -> "Operator":
        """The learner."""
        return getattr(self.learners, self.learner[self.task])

    def define(self) -> "ConfigurationSpace":
        """Return the space of the learner alone."""
        return self.operator.space()

    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Build the unfitted pipeline of a configuration; see :class:`Space`."""
        from ensemble_search.learners import rescalers
        from ensemble_search.learners.pipeline import Pipeline

        before: list[tuple[Operator, dict[str, Any]]] = (
            [(rescalers.standard, {})] if self.standardised else []
        )
        return Pipeline([*before, (self.operator, values)], categorical, threads)
