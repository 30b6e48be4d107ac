"""The space of the BOASF paper for tuning a random forest: 5 hyperparameters."""

from typing import ClassVar

from ensemble_search.spaces._one_learner import OneLearner


class RandomForestHpo(OneLearner):
    """Random forests of 100 trees."""

    modules: ClassVar = (
        "ensemble_search.learners.boasf",
        "ensemble_search.learners.pipeline",
        "sklearn.ensemble",
    )

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import boasf

        return (boasf.random_forest,)
