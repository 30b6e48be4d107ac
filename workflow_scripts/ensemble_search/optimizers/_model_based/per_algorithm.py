"""A separate BO for each algorithm of a space."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from ensemble_search.optimizers.base import History, Suggestion, random_new
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces.base import ALGORITHM, Configuration, Space


class Divides(Protocol):
    """An optimizer that divides a budget of evaluations."""

    @property
    def budget(self) -> int | None:
        """Evaluations of the search; None means the study's budget."""
        ...

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        """See pydantic's ``BaseModel.model_copy``."""
        ...


Divider = TypeVar("Divider", bound=Divides)


class ArmwiseBO(BayesianOptimization):
    """Base of optimizers that choose an algorithm (arm) and let its own BO suggest."""

    def check_space(self, space: Space) -> None:
        """Reject spaces of one learner, and designs: algorithms take turns from the start."""
        check_algorithms(space, "take bo")
        if self.design != "random":
            raise UserError(f"design: must be random: the algorithms take turns, not {self.design}")
        super().check_space(space)

    def within(
        self,
        history: History,
        algorithm: str,
        rng: np.random.Generator,
        others: Sequence[str] = (),
    ) -> Suggestion:
        """Suggest what the algorithm's BO would evaluate next.

        If all of its configurations have been evaluated, suggest a random one from
        :func:`elsewhere`.
        """
        suggestion = super().suggest(part(history, algorithm), rng)
        if suggestion.configuration in history.seen:
            parts = [history.space.restricted({ALGORITHM: other}) for other in others]
            return Suggestion(elsewhere(history, parts, rng), {"origin": "fallback"})
        return suggestion


def check_algorithms(space: Space, advice: str) -> None:
    """Reject spaces of one learner.

    Raises
    ------
    UserError
        For :meth:`Optimizer.check_space`, with ``advice``: what to do instead.
    """
    if not space.has_algorithms:
        raise UserError(
            f"optimizer: it is for spaces of several algorithms, and '{space.name}' has a single "
            f"learner; {advice}"
        )


def with_budget(optimizer: Divider, evaluations: int | None) -> Divider:
    """Set ``budget`` to the study's if it is null; see :meth:`Optimizer.planned`."""
    if optimizer.budget is not None:
        return optimizer
    if evaluations is None:
        raise UserError(
            "budget: must be written out where the study's budget is in seconds: "
            "how many evaluations the search will make, about"
        )
    return optimizer.model_copy(update={"budget": evaluations})


def elsewhere(history: History, parts: Sequence[Space], rng: np.random.Generator) -> Configuration:
    """Draw a new configuration from a random part, or from the whole space if all are exhausted."""
    for i in rng.permutation(len(parts)).tolist():
        configuration = random_new(inside(history, parts[i]), rng)
        if configuration not in history.seen:
            return configuration
    return random_new(history, rng)


def part(history: History, algorithm: str) -> History:
    """Return an algorithm's evaluations as a history in its part of the space."""
    return inside(history, history.space.restricted({ALGORITHM: algorithm}))


def inside(history: History, part: Space) -> History:
    """Return the evaluations in a part of the space as a history."""
    held = part.holds(history.space.points([o.configuration for o in history.observations]))
    rows = (o for o, own in zip(history.observations, held, strict=True) if own)
    return replace(history, space=part, observations=tuple(rows))
