"""What a search has seen so far: all that an optimizer may base its next suggestion on."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from divbo.space.base import Configuration, Space

OK = "ok"
STATUSES = ("ok", "timeout", "memory", "crash", "invalid")


@dataclass(frozen=True)
class Observation:
    """One evaluated configuration, as an optimizer sees it (nothing of the test set is in it).

    Attributes
    ----------
    configuration
        What was evaluated.
    status
        One of ``ok``, ``timeout``, ``memory``, ``crash`` or ``invalid`` (:data:`STATUSES`).
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

        Specification C.5: OpenBox's rule, the largest successful objective.
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
