"""What every optimizer is: a pure function of the history."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from divbo.history import History
from divbo.space.base import Configuration


@dataclass(frozen=True)
class Suggestion:
    """The configuration to evaluate next, and why.

    Attributes
    ----------
    configuration
        A legal configuration of the history's space.
    why
        What the optimizer says of its choice, as JSON values: at least ``origin``
        (``initial``, ``random``, ``local`` ...); stored with the evaluation.
    """

    configuration: Configuration
    why: dict[str, Any] = field(default_factory=dict)


class Optimizer(BaseModel, ABC):
    """Base of all optimizers: its fields are its settings, with defaults, checked by pydantic.

    An optimizer lives in a file of its own, ``optimizers/<name>.py``, which defines one public
    subclass. It keeps no state: whatever it seems to remember is recomputed from the history, or
    is a cache that may be thrown away. Heavy imports (scikit-learn, LightGBM) belong inside
    functions, because the workflow imports every optimizer to check its settings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @property
    def minimum_evaluations(self) -> int:
        """The smallest budget that makes sense, such as the size of the initial design."""
        return 1

    def planned(self, evaluations: int | None) -> "Optimizer":
        """Return this optimizer for a study's budget of evaluations (None: it is in seconds).

        Called when a study is read. Only an optimizer whose suggestions depend on the budget needs
        it: it writes the number into a setting of its own, because its history does not know it,
        and refuses None with a :class:`UserError` that begins with the setting's name.
        """
        return self

    @property
    def modules(self) -> list[str]:
        """Modules that the optimizer loads by name, such as a surrogate of its settings."""
        return []

    @abstractmethod
    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Return the configuration to evaluate after ``history``.

        Parameters
        ----------
        history
            All evaluations so far.
        rng
            The generator of this iteration, made from (seed, iteration) alone. The same history
            and the same generator state give the same suggestion.
        """


def random_new(history: History, rng: np.random.Generator) -> Configuration:
    """Draw uniformly from the space until the configuration is new (a repeat after 100 draws)."""
    for _ in range(100):
        configuration = history.space.sample(1, rng)[0]
        if configuration not in history.seen:
            break
    return configuration
