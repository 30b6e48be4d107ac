"""Spaces of a neural network with dropout, after Dodge et al. (2017)."""

from typing import ClassVar

from ensemble_search.spaces._one_learner import OneLearner


class _Dodge(OneLearner):
    standardised = True
    modules: ClassVar = (*OneLearner.modules, "ensemble_search.learners.dodge")

    @property
    def learners(self):
        """As in :class:`OneLearner`."""
        from ensemble_search.learners import dodge

        return dodge


class NeuralHard(_Dodge):
    """Learning rates of e^-5 to e^5."""

    learner: ClassVar = {"classification": "hard"}


class NeuralMedium(_Dodge):
    """Learning rates of e^-5 to e^-1."""

    learner: ClassVar = {"classification": "medium"}


class NeuralEasy(_Dodge):
    """Learning rates of e^-10 to e^-3."""

    learner: ClassVar = {"classification": "easy"}


class NeuralStable(_Dodge):
    """6 numbers, no conditions."""

    learner: ClassVar = {"classification": "stable"}
