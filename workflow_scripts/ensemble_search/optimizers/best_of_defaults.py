"""The default configurations of all algorithms, then random search (SelectBest; BOASF paper)."""

import numpy as np

from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new
from ensemble_search.spaces.base import Space


class BestOfDefaults(Optimizer):
    """The default configuration of every algorithm, then uniform draws without duplicates.

    In a table, the nearest entry takes the place of a default. A default that is forbidden or was
    evaluated is replaced by a uniform draw.
    """

    def check_space(self, space: Space) -> None:
        """Refuse spaces of one learner."""
        per_algorithm.check_algorithms(space, "take random")

    def needs_results(self, evaluations: int) -> bool:
        """Never."""
        return False

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the default of the algorithm whose turn it is, or a uniform draw."""
        space, names = history.space, per_algorithm.algorithms(history.space)
        if len(history) < len(names):
            part = space.restricted({per_algorithm.ALGORITHM: names[len(history)]})
            point = part.compose(lambda i: space.columns[i].default)
            found = None if point is None else part.nearest_new(point, history.seen)
            if found is not None:
                return Suggestion(found, {"origin": "default"})
        return Suggestion(random_new(history, rng), {"origin": "random"})
