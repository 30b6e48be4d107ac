"""A Sobol sequence instead of random draws (Dodge et al., 2017, Section 3)."""

from collections.abc import Iterator

import numpy as np

from ensemble_search.optimizers import _designs
from ensemble_search.optimizers.base import History, Optimizer, Suggestion
from ensemble_search.spaces.base import Space


class SobolSequence(Optimizer):
    """A Sobol sequence, shifted as a whole by a uniform vector modulo 1.

    The sequence includes its first point, 0: skipping it, as some implementations do, doubles the
    star discrepancy of the shifted sequence. The space must have no conditions. On a table, each
    point is replaced by the nearest entry.
    """

    def check_space(self, space: Space) -> None:
        """See :meth:`Optimizer.check_space`."""
        _designs.check_space("optimizer", "sobol", space)

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Never."""
        return False

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan the sequence, shifted by a draw from the first generator."""
        yield from _designs.sobol(history, next(generators))

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Return the first suggestion of a plan."""
        return next(self.plan(history, iter([rng])))
