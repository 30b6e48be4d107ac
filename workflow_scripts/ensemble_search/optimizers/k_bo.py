"""Bayesian optimization of every algorithm on its own (DivBO paper, kBO-ES)."""

import numpy as np

from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers.base import History, Suggestion


class EqualShares(per_algorithm.ArmwiseBO):
    """One independent BO per algorithm, taking turns: equal shares of the budget.

    This is ``rising-bandit`` without elimination. Of 250 evaluations, each of 11 algorithms gets
    22, and each of the first 8 gets one more. ``why`` is as in ``bo``.
    """

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the next configuration of the algorithm whose turn it is."""
        names = history.space.algorithms
        return self.within(history, names[history.made % len(names)], rng)
