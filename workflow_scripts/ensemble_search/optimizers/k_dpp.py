"""Configurations drawn by a k-DPP instead of independently (Dodge et al., 2017)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field, field_validator

from ensemble_search.dpp.mcmc import MOST_STEPS
from ensemble_search.optimizers import _designs
from ensemble_search.optimizers.base import History, Optimizer, Suggestion
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._features import dimensions
from ensemble_search.spaces.base import Space

#: Maximum size of a draw.
LARGEST = 1000


class DeterminantalDesign(Optimizer):
    """Configurations that differ from each other: one draw of a k-DPP for the whole budget.

    (Dodge et al., 2017.) An RBF kernel compares the features of configurations; the probability of
    a set of configurations is proportional to the determinant of its kernel matrix. As in random
    search, results do not matter. With ``batch``, that many are drawn at a time, given all
    evaluated so far. On a table, entries are drawn. ``steps: 0`` draws a uniform set, the start of
    the chain.

    ``why``: ``sigma``; ``similarity``, the kernel's median between uniform configurations;
    ``log_det`` of the set; and its mean (``uniform_log_det``) and standard deviation (``spread``)
    for uniform sets. If ``log_det`` exceeds the mean by less than a few standard deviations, the
    design is hardly more diverse than random search.
    """

    batch: int | None = Field(
        None,
        ge=1,
        le=LARGEST,
        description=f"Size of a draw (default: the study's evaluations, at most {LARGEST}).",
    )
    sigma: float | str = Field(
        "auto",
        description="Length scale of the kernel, with hyperparameters scaled to [0, 1]; "
        "'auto': as large as numerical precision permits.",
    )
    steps: int | str | None = Field(
        None,
        description="Steps of the Markov chain (default: max(1000, 100 k)); 'paper': k^3 times the "
        "number of features.",
    )

    # Check before the types: one error line instead of one per type.
    @field_validator("sigma", mode="before")
    @classmethod
    def _scale(cls, sigma: Any) -> Any:
        if sigma == "auto" or (type(sigma) in (int, float) and 1e-6 <= sigma <= 1e6):
            return sigma
        raise ValueError("must be a number from 0.000001 to 1000000, or 'auto'")

    @field_validator("steps", mode="before")
    @classmethod
    def _length(cls, steps: Any) -> Any:
        if steps in (None, "paper") or (type(steps) is int and 0 <= steps <= 10**6):
            return steps
        raise ValueError("must be an integer from 0 to 10^6, 'paper' or null")

    def planned(
        self, evaluations: int | None, seconds: float | None = None
    ) -> "DeterminantalDesign":
        """Set ``batch`` to the study's budget if it is null, up to the maximum size."""
        if self.batch is not None:
            return self
        if evaluations is None:
            raise UserError(
                "batch: must be written out where the study's budget is in seconds: "
                "how many configurations are drawn at a time"
            )
        return self.model_copy(update={"batch": min(evaluations, LARGEST)})

    def check_space(self, space: Space) -> None:
        """Reject a chain of the paper's length that is too long for this space."""
        steps = self._steps(self.batch or 0, space)
        if steps and steps > MOST_STEPS:
            raise UserError(
                f"steps: 'paper' is {self.batch}^3 times {dimensions(space)} features = "
                f"{steps:.2g} steps, more than {MOST_STEPS:g}; give an integer, or a smaller batch"
            )

    def _steps(self, size: int, space: Space) -> int | None:
        return size**3 * dimensions(space) if isinstance(self.steps, str) else self.steps

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Never."""
        return False

    def together(self, evaluations: int, most: int, given: int = 0) -> int:
        """See :meth:`Optimizer.together`: the rest of a batch, without given evaluations."""
        return min(self.batch - (evaluations - given) % self.batch if self.batch else most, most)

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan the rest of a batch, drawn by the first generator."""
        if self.batch is None:
            raise UserError("k-dpp needs the setting 'batch', the configurations of a draw")
        size = self.batch - history.made % self.batch
        sigma = None if isinstance(self.sigma, str) else self.sigma
        steps = self._steps(size, history.space)
        yield from _designs.k_dpp(history, size, next(generators), sigma, steps)

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Return the first suggestion of a plan."""
        return next(self.plan(history, iter([rng])))
