"""The space "easy" after Dodge et al. (2017): learning rates of e^-10 to e^-3."""

from ensemble_search.spaces._one_learner import OneLearner


class NeuralEasy(OneLearner):
    """A neural network with dropout, on standardised features."""

    modules = (*OneLearner.modules, "ensemble_search.learners.dropout_network")

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import dodge, rescalers

        return rescalers.standard, dodge.easy
