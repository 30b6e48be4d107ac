"""AutoGluon's learners, without neural networks and preprocessors (DivBO paper, Table 12)."""

from functools import cached_property
from typing import ClassVar

from ensemble_search.spaces.divbo import Divbo


class AutogluonLike(Divbo):
    """Six learners with the hyperparameters that AutoGluon 0.4 searches."""

    #: What the worker imports before the first evaluation.
    modules: ClassVar = (
        "catboost",
        "ensemble_search.learners.autogluon",
        "lightgbm",
        "sklearn.ensemble",
        "sklearn.neighbors",
        "sklearn.pipeline",
        "sklearn.preprocessing",
        "xgboost",
    )
    libraries: ClassVar = ("catboost", "xgboost")
    tasks: ClassVar = ("classification",)

    @cached_property
    def stages(self):
        """As in :class:`Divbo`."""
        from ensemble_search.learners import autogluon

        return {"algorithm": autogluon.LEARNERS}
