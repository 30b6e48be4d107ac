"""The space of the ESMBO paper's support vector regression: 3 hyperparameters."""

from typing import ClassVar

from ensemble_search.spaces._one_learner import OneLearner


class Svr(OneLearner):
    """Support vector regression with the RBF kernel, on standardised features."""

    tasks: ClassVar = ("regression",)
    task = "regression"

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import esmbo, rescalers

        return rescalers.standard, esmbo.svr
