"""What an initial design and batches for several workers have to do with a plan."""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from ensemble_search.optimizers.base import History, Optimizer, Suggestion


class BatchOptimizer(Optimizer):
    """Base of optimizers with a random initial design, which may suggest batches after it."""

    initial: int = Field(5, ge=1, description="Random evaluations at the beginning.")
    batch: int = Field(
        1, ge=1, le=1000, description="Configurations suggested at a time, for several workers."
    )

    @property
    def minimum_evaluations(self) -> int:
        """The initial design and one suggestion of the model."""
        return self.initial + 1

    def needs_results(self, evaluations: int) -> bool:
        """Whether the initial design is complete."""
        return evaluations >= self.initial

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan the initial design, then batches, within which earlier suggestions are pending."""
        if not self.needs_results(len(history)):
            yield from super().plan(history, generators)
            return
        rng = next(generators)
        for _ in range(self.batch):
            suggestion = self.suggest(history, rng)
            yield suggestion
            history = history.pending(suggestion)
