"""Base of ensembles that greedily add the model that gives the lowest loss."""

from abc import ABC
from typing import Literal

from ensemble_search.ensembles.base import Ensemble
from ensemble_search.problems.own_metric import OwnMetric

Ties = Literal["random", "selected-first", "log-loss"]


class GreedyEnsemble(OwnMetric, Ensemble, ABC):
    """Shared settings of the greedy ensembles.

    Attributes
    ----------
    ties
        Which of the models that tie for the fewest errors a round adds. ``random`` (default): any,
        as in auto-sklearn. ``selected-first``: one already selected, as in AutoGluon. ``log-loss``:
        the one that minimises the log loss of the mean probability (``selection.log_losses``).
        Remaining ties are broken uniformly at random.
    """

    ties: Ties = "random"
