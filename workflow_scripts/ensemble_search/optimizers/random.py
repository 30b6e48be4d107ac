"""Random search: uniform over the conditional space, without duplicates (DivBO paper, RS)."""

import numpy as np

from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new


class RandomSearch(Optimizer):
    """Uniform draws, each configuration at most once."""

    def needs_results(self, evaluations: int) -> bool:
        """Never."""
        return False

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Draw one configuration that has not been evaluated."""
        return Suggestion(random_new(history, rng), {"origin": "random"})
