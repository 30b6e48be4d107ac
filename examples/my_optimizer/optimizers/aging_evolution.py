"""Aging evolution (Real et al., *Regularized Evolution for Image Classifier Architecture Search*,
AAAI 2019): an optimizer from outside the package, to copy and to change.

The file name is its name in a study, with hyphens: ``optimizer: aging-evolution``.
"""

import numpy as np
from pydantic import Field

from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new


class AgingEvolution(Optimizer):
    """Mutants of the best of a few, drawn from the latest configurations.

    The class has no state: all it needs is in the history. So a search can be stopped and continued
    anywhere. Its fields are the settings of a search in the study, checked when it is read.
    """

    population: int = Field(20, ge=2, le=10_000, description="Configurations that are alive.")
    tournament: int = Field(5, ge=1, le=10_000, description="Of these, the best is mutated.")

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest a random configuration until the population is full, then mutants.

        ``history.errors`` are the validation losses, where failed evaluations count as the worst.
        All randomness comes from ``rng``, so that the same search finds the same again.
        """
        if len(history) < self.population:
            return Suggestion(random_new(history, rng), {"origin": "initial"})
        # The oldest die, not the worst: a lucky result does not stay for ever.
        alive = np.arange(len(history) - self.population, len(history))
        drawn = rng.choice(alive, min(self.tournament, self.population), replace=False)
        parent = int(drawn[np.argmin(history.errors[drawn])])
        for _ in range(10):
            mutant = history.space.mutate(history.observations[parent].configuration, rng)
            if mutant is not None and mutant[0] not in history.seen:
                # `why` is stored with the evaluation; iterations are counted from 1.
                return Suggestion(mutant[0], {"origin": "mutation", "parent": parent + 1})
        return Suggestion(random_new(history, rng), {"origin": "random"})
