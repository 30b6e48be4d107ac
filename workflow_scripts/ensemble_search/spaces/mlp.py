"""The space of the ESMBO paper's neural network: 5 hyperparameters."""

from ensemble_search.spaces._one_learner import OneLearner


class Mlp(OneLearner):
    """A multi-layer perceptron with two hidden layers, on standardised features."""

    @property
    def steps(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import esmbo, rescalers

        return rescalers.standard, esmbo.mlp
