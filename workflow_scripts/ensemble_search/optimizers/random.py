"""Random search: uniform over the conditional space, without duplicates (DivBO paper, RS)."""

from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new
from ensemble_search.runtime.shares import Share, distinct


class RandomSearch(Optimizer):
    """Uniform draws, each configuration at most once.

    With several ``fidelities``, each configuration is evaluated on all of these shares of the
    training rows, in their order, before the next is drawn. Tables at several fidelities are made
    from such searches.
    """

    # Omitted if it is the default, so that searches without it stay the same.
    fidelities: Annotated[list[Share], AfterValidator(distinct)] = Field(
        [1.0],
        min_length=1,
        exclude_if=lambda fidelities: fidelities == [1.0],
        description="Shares of the training rows that each configuration is evaluated on.",
    )

    @property
    def shares(self) -> tuple[float, ...]:
        """The fidelities."""
        return tuple(sorted(self.fidelities))

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Never."""
        return False

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Draw one configuration that has not been evaluated, or repeat the last one."""
        turn = history.made % len(self.fidelities)
        fidelity = self.fidelities[turn]
        if turn:
            last = history.observations[-1].configuration
            return Suggestion(last, {"origin": "repeated"}, fidelity)
        return Suggestion(random_new(history, rng), {"origin": "random"}, fidelity)
