"""A space of one learner, without choices between operators."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.spaces.base import Space

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from ensemble_search.learners.operators import Operator


class OneLearner(Space):
    """The hyperparameters of a learner, under their short names."""

    has_algorithms: ClassVar[bool] = False
    #: What the worker imports before the first evaluation.
    modules: ClassVar = (
        "ensemble_search.learners.esmbo",
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
    def steps(self) -> "Sequence[Operator]":
        """The operators in order, the learner last; only it has hyperparameters."""

    def define(self) -> "ConfigurationSpace":
        """Return the space of the learner alone."""
        return self.steps[-1].space()

    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Build the unfitted pipeline of a configuration; see :class:`Space`."""
        from ensemble_search.learners.pipeline import Pipeline

        *before, learner = self.steps
        steps = [*((operator, {}) for operator in before), (learner, values)]
        return Pipeline(steps, categorical, threads)
