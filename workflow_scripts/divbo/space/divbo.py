"""The search space of the DivBO paper (Tables 6 and 7): 101 hyperparameters and 3 choices."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from ConfigSpace import ConfigurationSpace

from divbo.learners.classifiers import CLASSIFIERS
from divbo.learners.operators import joint_space, pipeline_steps
from divbo.learners.pipeline import Pipeline
from divbo.learners.preprocessors import PREPROCESSORS
from divbo.learners.rescalers import RESCALERS
from divbo.space.base import Space


class Divbo(Space):
    """11 classifiers, 6 rescalers and 16 preprocessors; Specification A.1 to A.3.

    A pipeline rescales, preprocesses and classifies, in this order. ``stages`` maps the choice
    nodes to their operators, in the order of the pipeline.
    """

    stages: ClassVar = {
        "rescaler": RESCALERS,
        "preprocessor": PREPROCESSORS,
        "algorithm": CLASSIFIERS,
    }

    def define(self) -> ConfigurationSpace:
        """Join the operators, with a choice node for every stage."""
        return joint_space(self.stages)

    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Build the unfitted pipeline of a configuration; see :class:`Space`."""
        return Pipeline(pipeline_steps(self.stages, values), categorical, threads)
