"""AutoGluon's learners, without neural networks and preprocessors (DivBO paper, Table 12)."""

from typing import ClassVar

from divbo.learners import autogluon
from divbo.space.divbo import Divbo


class AutogluonLike(Divbo):
    """Six learners; their hyperparameters are those that AutoGluon 0.4 searches."""

    stages: ClassVar = {"algorithm": autogluon.LEARNERS}
    #: What the worker imports before the first evaluation.
    modules: ClassVar = (
        "catboost",
        "lightgbm",
        "sklearn.ensemble",
        "sklearn.neighbors",
        "sklearn.pipeline",
        "sklearn.preprocessing",
        "xgboost",
    )
    libraries: ClassVar = ("catboost", "xgboost")
