"""The spaces of the ESMBO paper (Lacoste et al., UAI 2014)."""

from typing import ClassVar

from ensemble_search.spaces._one_learner import OneLearner


class _Esmbo(OneLearner):
    @property
    def learners(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import esmbo

        return esmbo


class Svm(_Esmbo):
    """A support vector machine with the RBF kernel: 2 hyperparameters."""

    standardised = True
    learner: ClassVar = {"classification": "svm"}


class Svr(_Esmbo):
    """Support vector regression with the RBF kernel: 3 hyperparameters."""

    tasks = ("regression",)
    task = "regression"
    standardised = True
    learner: ClassVar = {"regression": "svr"}


class RandomForest(_Esmbo):
    """Random forests and extremely randomised trees: 3 hyperparameters."""

    tasks = ("classification", "regression")
    learner: ClassVar = {"classification": "forest_classifier", "regression": "forest_regressor"}


class GradientBoosting(_Esmbo):
    """Gradient boosted trees, with the Huber loss in regression: 3 hyperparameters."""

    tasks = ("classification", "regression")
    learner: ClassVar = {
        "classification": "boosting_classifier",
        "regression": "boosting_regressor",
    }


class Mlp(_Esmbo):
    """A multi-layer perceptron with two hidden layers: 5 hyperparameters."""

    standardised = True
    learner: ClassVar = {"classification": "mlp"}
