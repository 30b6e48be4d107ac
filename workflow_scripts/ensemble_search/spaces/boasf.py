"""The space of the BOASF paper: 16 algorithms with auto-sklearn's hyperparameters."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.spaces.divbo import Divbo

if TYPE_CHECKING:
    from ensemble_search.learners.operators import Operator


class Boasf(Divbo):
    """16 classifiers after dropping of constant columns and rescaling, with or without weights."""

    tasks: ClassVar = ("classification",)
    libraries: ClassVar = ("xgboost",)
    #: What the worker imports before the first evaluation.
    modules: ClassVar = (
        "ensemble_search.learners.boasf",
        "ensemble_search.learners.pipeline",
        "ensemble_search.learners.rescalers",
        "ensemble_search.learners.samme_r",
        "ensemble_search.learners.scores",
        "sklearn.discriminant_analysis",
        "sklearn.ensemble",
        "sklearn.feature_selection",
        "sklearn.linear_model",
        "sklearn.naive_bayes",
        "sklearn.neighbors",
        "sklearn.preprocessing",
        "sklearn.svm",
        "sklearn.tree",
        "xgboost",
    )

    @property
    def last(self) -> "Operator":
        """The sixteenth algorithm."""
        from ensemble_search.learners import boasf

        return boasf.xgboost

    @cached_property
    def stages(self):
        """As in :class:`Divbo`; the first operator is the default, as in auto-sklearn."""
        from ensemble_search.learners import boasf, rescalers

        others = [o for o in rescalers.RESCALERS if o is not rescalers.standard]
        return {
            "variance_threshold": (boasf.none, boasf.zero),
            "rescaler": (rescalers.standard, *others),
            "balancing": (boasf.none, boasf.weights),
            "algorithm": (*boasf.COMMON, self.last),
        }

    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Build the unfitted pipeline of a configuration; see :class:`Space`."""
        from ensemble_search.learners import boasf, rescalers
        from ensemble_search.learners.operators import pipeline_steps
        from ensemble_search.learners.pipeline import Pipeline

        steps = pipeline_steps(self.stages, values)
        if steps[-1][0] is boasf.multinomial_nb:
            steps.insert(-1, (rescalers.minmax, {}))
        balanced = values["balancing"] == boasf.weights.name
        return Pipeline(steps, categorical, threads, balanced)
