"""The default configurations of all algorithms, then random search (SelectBest; BOASF paper)."""

import numpy as np

from ensemble_search.optimizers import _designs
from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers.base import History, Optimizer, Suggestion
from ensemble_search.spaces.base import Space


class BestOfDefaults(Optimizer):
    """The default configuration of every algorithm, then uniform draws without duplicates.

    As the design ``defaults`` of other searches, but for the whole budget.
    """

    def check_space(self, space: Space) -> None:
        """Refuse spaces of one learner."""
        per_algorithm.check_algorithms(space, "take random")

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Never."""
        return False

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the default of the algorithm whose turn it is, or a uniform draw."""
        return next(_designs.defaults(history, rng))
