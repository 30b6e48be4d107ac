"""The space of the ESMBO paper's gradient boosting: 3 hyperparameters."""

from typing import ClassVar

from ensemble_search.spaces._one_learner import OneLearner


class GradientBoosting(OneLearner):
    """Gradient boosted trees; for regression, with the Huber loss."""

    tasks: ClassVar = ("classification", "regression")

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import esmbo

        regression = self.task == "regression"
        return (esmbo.boosting_regressor if regression else esmbo.boosting_classifier,)
