"""Initial designs and batches for several workers, as parts of a plan."""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from ensemble_search.optimizers import _designs
from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new
from ensemble_search.spaces.base import Space


class BatchOptimizer(Optimizer):
    """Base of optimizers with an initial design, optionally followed by batches."""

    initial: int = Field(
        5, ge=1, description="Number of evaluations before the first model is fitted."
    )
    design: _designs.Design = Field(
        "random",
        description="How these are chosen: uniformly, by a k-DPP, by a Sobol sequence, or "
        "the default configuration of every algorithm first.",
    )
    batch: int = Field(
        1,
        ge=1,
        le=1000,
        description="Number of configurations suggested at a time, for several workers.",
    )

    @property
    def minimum_evaluations(self) -> int:
        """The initial design plus one suggestion of the model."""
        return self.initial + 1

    def check_space(self, space: Space) -> None:
        """Reject conditions that the design does not support."""
        _designs.check_space("design", self.design, space)

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Whether the initial design, less the given evaluations, is complete."""
        return evaluations >= self.initial

    def together(self, evaluations: int, most: int, given: int = 0) -> int:
        """See :meth:`Optimizer.together`."""
        if self.needs_results(evaluations, given):
            return min(self.batch, most)
        return super().together(evaluations, most, given)

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan the initial design, then batches, in which earlier suggestions are pending."""
        if not self.needs_results(len(history), history.given):
            if self.design == "random":
                yield from super().plan(history, generators)
            else:
                yield from self._rest(history, next(generators))
            return
        rng = next(generators)
        for _ in range(self.batch):
            suggestion = self.suggest(history, rng)
            yield suggestion
            history = history.pending(suggestion)

    def first(self, history: History, rng: np.random.Generator) -> Suggestion | None:
        """Suggest the next configuration of the initial design; None if a model can be fitted."""
        if len(history) < self.initial and self.design != "random":
            return next(self._rest(history, rng))
        if len(history) < self.initial or not len(history.ok):
            return Suggestion(random_new(history, rng), {"origin": "initial"})
        return None

    def _rest(self, history: History, rng: np.random.Generator) -> Iterator[Suggestion]:
        """Suggest the rest of the initial design."""
        return _designs.initial(self.design, history, self.initial - len(history), rng)
