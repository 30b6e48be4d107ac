"""The space of the ESMBO paper's forests: 3 hyperparameters."""

from typing import ClassVar

from ensemble_search.spaces._one_learner import OneLearner


class RandomForest(OneLearner):
    """Random forests and extremely randomised trees."""

    tasks: ClassVar = ("classification", "regression")

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import esmbo

        regression = self.task == "regression"
        return (esmbo.forest_regressor if regression else esmbo.forest_classifier,)
