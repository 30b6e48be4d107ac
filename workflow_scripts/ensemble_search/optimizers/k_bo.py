"""Bayesian optimization of every algorithm on its own (DivBO paper, kBO-ES)."""

import numpy as np

from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers.base import History, Suggestion


class EqualShares(per_algorithm.ArmwiseBO):
    """As many independent BOs as the space has algorithms, in turn: equal shares of the budget.

    Each BO tunes one algorithm, with its rescaler and preprocessor, and sees the evaluations of
    that algorithm only; the settings are BO's and hold for each of them. Of 250 evaluations and 11
    algorithms, each gets 22, and the first 8 get one more.
    """

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest what the BO of the algorithm whose turn it is would evaluate next."""
        names = per_algorithm.algorithms(history.space)
        return self.within(history, names[len(history) % len(names)], rng)
