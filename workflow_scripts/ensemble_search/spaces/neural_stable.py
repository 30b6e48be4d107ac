"""The space "stable" after Dodge et al. (2017): 6 numbers, no conditions."""

from ensemble_search.spaces._one_learner import OneLearner


class NeuralStable(OneLearner):
    """A neural network with dropout, on standardised features."""

    modules = (*OneLearner.modules, "ensemble_search.learners.dropout_network")

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import dodge, rescalers

        return rescalers.standard, dodge.stable
