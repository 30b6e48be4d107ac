"""The default configurations of all algorithms, then random search (SelectBest; BOASF paper)."""

import numpy as np

from ensemble_search.optimizers import _designs
from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers.base import History, Optimizer, Suggestion
from ensemble_search.spaces.base import Space


class BestOfDefaults(Optimizer):
    """The default configuration of every algorithm, then uniform draws without duplicates.

    SelectBest, a baseline of the BOASF paper, which stops after the 16 defaults. On a table, the
    entry nearest to a default is evaluated. ``why``: ``origin`` (``default`` or ``random``; also
    ``random`` for the replacement of a default that is forbidden or was evaluated).
    """

    def check_space(self, space: Space) -> None:
        """Reject spaces of one learner."""
        per_algorithm.check_algorithms(space, "take random")

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Never."""
        return False

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the default of the algorithm whose turn it is, or a uniform draw."""
        return next(_designs.defaults(history, rng))
