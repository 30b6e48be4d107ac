"""The space of the ESMBO paper's support vector machine: 2 hyperparameters."""

from ensemble_search.spaces._one_learner import OneLearner


class Svm(OneLearner):
    """A support vector machine with the RBF kernel, on standardised features."""

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import esmbo, rescalers

        return rescalers.standard, esmbo.svm
