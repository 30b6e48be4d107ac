"""The space of the BOASF paper for tuning a logistic regression: 3 hyperparameters."""

from typing import ClassVar

from ensemble_search.spaces._one_learner import OneLearner


class LogisticRegressionHpo(OneLearner):
    """Logistic regression by the solver saga."""

    modules: ClassVar = (
        "ensemble_search.learners.boasf",
        "ensemble_search.learners.pipeline",
        "sklearn.linear_model",
    )

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import boasf

        return (boasf.logistic_regression,)
