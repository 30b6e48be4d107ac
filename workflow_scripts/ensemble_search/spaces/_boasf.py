"""The spaces of the BOASF paper, with 16 algorithms or one."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.spaces._one_learner import OneLearner
from ensemble_search.spaces.divbo import Divbo

if TYPE_CHECKING:
    from ensemble_search.learners.operators import Operator


class Boasf(Divbo):
    """16 classifiers with the hyperparameters of auto-sklearn.

    Constant columns may be dropped, the others rescaled, and classes weighted.
    """

    tasks: ClassVar = ("classification",)
    libraries: ClassVar[tuple[str, ...]] = ("xgboost",)
    #: Modules that the worker imports before the first evaluation.
    modules: ClassVar[tuple[str, ...]] = (
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


class BoasfLogistic(Boasf):
    """The space in the authors' code: logistic regression instead of XGBoost."""

    libraries: ClassVar = ()
    modules: ClassVar = tuple(name for name in Boasf.modules if name != "xgboost")

    @property
    def last(self) -> "Operator":
        """As in :class:`Boasf`."""
        from ensemble_search.learners import boasf

        return boasf.logistic_regression


class _OneOfBoasf(OneLearner):
    @property
    def learners(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import boasf

        return boasf


class LogisticRegressionHpo(_OneOfBoasf):
    """Logistic regression on standardised features: 3 hyperparameters."""

    learner: ClassVar = {"classification": "logistic_regression"}
    standardised: ClassVar = True
    modules: ClassVar = (
        "ensemble_search.learners.boasf",
        "ensemble_search.learners.pipeline",
        "ensemble_search.learners.rescalers",
        "sklearn.linear_model",
        "sklearn.preprocessing",
    )


class RandomForestHpo(_OneOfBoasf):
    """Random forests of 100 trees: 5 hyperparameters."""

    learner: ClassVar = {"classification": "random_forest"}
    modules: ClassVar = (
        "ensemble_search.learners.boasf",
        "ensemble_search.learners.pipeline",
        "sklearn.ensemble",
    )
