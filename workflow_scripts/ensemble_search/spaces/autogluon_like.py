"""AutoGluon's learners, without neural networks and preprocessors (DivBO paper, Table 12)."""

from functools import cached_property
from typing import ClassVar

from ensemble_search.spaces.divbo import Divbo


class AutogluonLike(Divbo):
    """Six learners with the hyperparameters that AutoGluon 0.4 searches."""

    #: Modules that the worker imports before the first evaluation.
    modules: ClassVar = (
        "catboost",
        "ensemble_search.learners.autogluon",
        "ensemble_search.learners.autogluon_regressors",
        "lightgbm",
        "sklearn.ensemble",
        "sklearn.neighbors",
        "sklearn.pipeline",
        "sklearn.preprocessing",
        "xgboost",
    )
    libraries: ClassVar = ("catboost", "xgboost")

    @cached_property
    def stages(self):
        """As in :class:`Divbo`."""
        from ensemble_search.learners import autogluon, autogluon_regressors

        module = autogluon_regressors if self.task == "regression" else autogluon
        return {"algorithm": module.LEARNERS}
