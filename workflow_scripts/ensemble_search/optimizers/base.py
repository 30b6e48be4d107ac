"""Base of all optimizers, which are pure functions of the history of a search."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from ensemble_search.evaluation.status import OK
from ensemble_search.spaces.base import Configuration, Space


@dataclass(frozen=True)
class Observation:
    """One evaluated configuration, as an optimizer sees it (nothing of the test set is in it).

    Attributes
    ----------
    configuration
        What was evaluated.
    status
        One of ``ok``, ``timeout``, ``memory``, ``crash`` or ``invalid`` (``status.STATUSES``).
    error
        Validation error in [0, 1]; NaN unless the status is ``ok``.
    prediction
        Class probabilities on the validation set, float32, of shape (n_validation, n_classes);
        None unless the status is ``ok``.
    """

    configuration: Configuration
    status: str
    error: float
    prediction: np.ndarray | None


@dataclass(frozen=True)
class History:
    """The evaluations of a search in their order, with the validation labels.

    Attributes
    ----------
    space
        The space that is searched.
    labels
        Validation labels, int, of shape (n_validation,), in 0..n_classes-1.
    observations
        Every evaluation so far, failed ones too.
    """

    space: Space
    labels: np.ndarray
    observations: tuple[Observation, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.observations)

    @cached_property
    def ok(self) -> np.ndarray:
        """Indices of the successful evaluations, int, of shape (n_ok,)."""
        return np.array([i for i, o in enumerate(self.observations) if o.status == OK], dtype=int)

    @cached_property
    def errors(self) -> np.ndarray:
        """Validation errors, of shape (n,): a failed one counts as the worst success (1 if none).

        This is OpenBox's rule for failed evaluations: the largest successful objective.
        """
        errors = np.array([o.error for o in self.observations], dtype=float)
        worst = errors[self.ok].max() if len(self.ok) else 1.0
        failed = np.ones(len(errors), dtype=bool)
        failed[self.ok] = False
        errors[failed] = worst
        return errors

    @cached_property
    def predictions(self) -> np.ndarray:
        """Predictions of the successful evaluations, shape (n_ok, n_validation, n_classes)."""
        if not len(self.ok):
            return np.empty((0, len(self.labels), 0), dtype=np.float32)
        return np.stack([self.observations[i].prediction for i in self.ok])

    @cached_property
    def vectors(self) -> np.ndarray:
        """Encoded configurations, of shape (n, n_hyperparameters); see :meth:`Space.encode`."""
        return self.space.encode([o.configuration for o in self.observations])

    @cached_property
    def seen(self) -> frozenset[Configuration]:
        """The configurations that have been evaluated."""
        return frozenset(o.configuration for o in self.observations)


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
