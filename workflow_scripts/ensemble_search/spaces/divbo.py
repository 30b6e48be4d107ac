"""The search space of the DivBO paper (Tables 6 and 7): 101 hyperparameters and 3 choices.

The form for regression, which is not in the paper, has 86 hyperparameters and 3 choices.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.spaces.base import Space

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from ensemble_search.learners.operators import Operator


class Divbo(Space):
    """11 classifiers, 6 rescalers and 16 preprocessors (DivBO paper, Tables 6 and 7).

    A pipeline rescales, preprocesses and classifies, in this order. For regression, there are 10
    regressors and 14 preprocessors.
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification", "regression")

    @cached_property
    def stages(self) -> "Mapping[str, Sequence[Operator]]":
        """The choice nodes with their operators, in the order of the pipeline."""
        from ensemble_search.learners.classifiers import CLASSIFIERS
        from ensemble_search.learners.preprocessors import PREPROCESSORS
        from ensemble_search.learners.regression_preprocessors import REGRESSION_PREPROCESSORS
        from ensemble_search.learners.regressors import REGRESSORS
        from ensemble_search.learners.rescalers import RESCALERS

        preprocessors, learners = {
            "classification": (PREPROCESSORS, CLASSIFIERS),
            "regression": (REGRESSION_PREPROCESSORS, REGRESSORS),
        }[self.task]
        return {"rescaler": RESCALERS, "preprocessor": preprocessors, "algorithm": learners}

    def define(self) -> "ConfigurationSpace":
        """Combine the operators, with one choice node per stage."""
        from ensemble_search.learners.operators import joint_space

        return joint_space(self.stages)

    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Build the unfitted pipeline of a configuration; see :class:`Space`."""
        from ensemble_search.learners.operators import pipeline_steps
        from ensemble_search.learners.pipeline import Pipeline

        return Pipeline(pipeline_steps(self.stages, values), categorical, threads)
