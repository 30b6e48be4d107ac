"""Base of all optimizers, which are pure functions of the history of a search."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime.names import OK
from ensemble_search.runtime.shares import TOLERANCE
from ensemble_search.spaces.base import Configuration, Space

#: Status of an observation without a result yet.
PENDING = "pending"


@dataclass(frozen=True)
class Observation:
    """An evaluation as the optimizer sees it, without anything from the test set."""

    configuration: Configuration  #: the evaluated configuration
    #: One of ``ok``, ``timeout``, ``memory``, ``crash`` or ``invalid`` (``names.STATUSES``), or
    #: ``pending`` until the result is known (:meth:`History.pending`).
    status: str
    error: float  #: validation loss by the study's metric; NaN unless the status is ``ok``
    #: Predictions on the validation set, float32, of shape (n_validation, n_outputs); in
    #: classification, probabilities with one column per class. None unless the status is ``ok``.
    prediction: np.ndarray | None
    fidelity: float = 1.0  #: share of the training rows that were fitted on, in (0, 1]
    #: Wall-clock time of fitting and predicting; 0 until the result is known. It differs between
    #: runs, and so does every suggestion that depends on it.
    seconds: float = 0.0
    given: bool = False  #: whether it comes from another search and was known before this one began


@dataclass(frozen=True)
class History:
    """The evaluations of a search, in order, with the validation labels."""

    space: Space  #: the searched space
    labels: np.ndarray  #: validation labels, of shape (n_validation,); see ``ensembles.base.Pool``
    #: Every evaluation so far, including failed ones. Given ones come first.
    observations: tuple[Observation, ...] = field(default=())
    #: Problem type and metric. Default: classification, error.
    problem: Problem = CLASSIFICATION
    #: Number of the search among those that differ only in their seeds; seeds the draws that a
    #: search shares with its ensemble.
    repeat: int = 0

    def __len__(self) -> int:
        return len(self.observations)

    @cached_property
    def given(self) -> int:
        """Number of given evaluations, which come first."""
        return sum(o.given for o in self.observations)

    @property
    def made(self) -> int:
        """Number of evaluations by this search, including pending ones."""
        return len(self) - self.given

    @cached_property
    def ok(self) -> np.ndarray:
        """Indices of the successful evaluations, int, of shape (n_ok,)."""
        return np.array([i for i, o in enumerate(self.observations) if o.status == OK], dtype=int)

    @cached_property
    def errors(self) -> np.ndarray:
        """Validation losses, of shape (n,); see :meth:`imputed`."""
        return self.imputed(np.array([self.observations[i].error for i in self.ok], dtype=float))

    def imputed(self, losses: np.ndarray) -> np.ndarray:
        """Extend the losses of the successes to all evaluations by OpenBox's rules.

        A failed evaluation gets the worst loss of a success (or the metric's worst without a
        success), a pending one the median, so that a batch spreads out. Losses above :meth:`limit`
        are clipped to it, because they would drown the differences between the others.

        Parameters
        ----------
        losses
            Of shape (n_ok,).

        Returns
        -------
        losses
            Of shape (n,).
        """
        limit = self.limit(losses)
        losses = np.minimum(losses, limit)
        known = losses if len(losses) else np.array([limit])
        pending = np.array([o.status == PENDING for o in self.observations], dtype=bool)
        result = np.where(pending, np.median(known), known.max())
        result[self.ok] = losses
        return result

    def limit(self, losses: np.ndarray) -> float:
        """Return the metric's worst loss or, in regression, which has none, a useless model's loss.

        In regression, the metric's "worst" is the loss of the mean on the training rows. On other
        rows, the mean and even all models may exceed it; twice the lowest loss still distinguishes
        them.

        Parameters
        ----------
        losses
            Losses of successes, of shape (n_ok,).
        """
        worst = self.problem.metric.worst
        return float(max(worst, min(2 * losses.min(), losses.max()))) if len(losses) else worst

    @cached_property
    def predictions(self) -> np.ndarray:
        """Predictions of the successful evaluations, of shape (n_ok, n_validation, n_outputs)."""
        if not len(self.ok):
            return np.empty((0, len(self.labels), 0), dtype=np.float32)
        return np.stack([self.observations[i].prediction for i in self.ok])

    @cached_property
    def vectors(self) -> np.ndarray:
        """Encoded configurations, of shape (n, n_hyperparameters); see :meth:`Space.encode`."""
        return self.space.encode([o.configuration for o in self.observations])

    def pending(self, suggestion: "Suggestion") -> "History":
        """Return the history extended by an evaluation whose result is pending."""
        fidelity = suggestion.fidelity
        new = Observation(suggestion.configuration, PENDING, float("nan"), None, fidelity)
        return replace(self, observations=(*self.observations, new))

    @cached_property
    def seen(self) -> frozenset[Configuration]:
        """The evaluated and pending configurations."""
        return frozenset(o.configuration for o in self.observations)


@dataclass(frozen=True)
class Suggestion:
    """The configuration to evaluate next, and the reason."""

    configuration: Configuration  #: a legal configuration of the history's space
    #: Reason for the choice, as JSON values, stored with the evaluation: at least ``origin``
    #: (``initial``, ``random``, ``local`` ...).
    why: dict[str, Any] = field(default_factory=dict)
    #: Share of the training rows to fit on, in (0, 1]; stored with the evaluation.
    fidelity: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.fidelity <= 1:
            raise ValueError(f"fidelity is {self.fidelity}, not a share in (0, 1]")


class Optimizer(BaseModel, ABC):
    """Base of all optimizers: its fields are its settings, with defaults, checked by pydantic.

    An optimizer has its own file, ``optimizers/<name>.py``, with one public subclass. It is
    stateless: everything except disposable caches is recomputed from the history. Heavy imports
    (scikit-learn, LightGBM) belong inside functions, because the workflow imports every optimizer
    to check its settings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @property
    def minimum_evaluations(self) -> int:
        """The smallest budget that makes sense, such as the size of the initial design."""
        return 1

    @property
    def minimum_fits(self) -> float:
        """The smallest budget in full fits; by default, the fewest that the evaluations take."""
        return self.minimum_evaluations * min(self.shares)

    @property
    def shares(self) -> tuple[float, ...]:
        """Every fidelity that a suggestion may have, ascending; by default, all rows only."""
        return (1.0,)

    def planned(self, evaluations: int | None, seconds: float | None = None) -> "Optimizer":
        """Return this optimizer for a study's budget.

        Called when a study is read. An optimizer whose suggestions depend on the budget stores it
        in a setting. If it cannot use the budget (None), it raises a :class:`UserError` that begins
        with the setting's name.

        Parameters
        ----------
        evaluations
            Evaluations per search. If :attr:`shares` contains only 1, a budget in full fits is the
            same number of evaluations. None if the budget is in seconds, or in full fits with other
            shares.
        seconds
            Seconds of fitting; None if the budget is in another unit.
        """
        return self

    def configurations(self, evaluations: int | None, fits: int | None = None) -> int:
        """Return how many configurations a table needs so that a search on it uses its budget.

        For a budget in seconds, these are only what the search needs to begin.

        Parameters
        ----------
        evaluations
            Evaluations per search; None if the budget is in another unit.
        fits
            Full fits per search; None if the budget is in another unit.
        """
        least = (evaluations or self.minimum_evaluations) / len(self.shares)
        return ceil(max(least, ((fits or 0) - TOLERANCE) / sum(self.shares)))

    def check_space(self, space: Space) -> None:
        """Reject a space that the optimizer cannot search.

        Called when a study is read, before and after :meth:`planned`. Finding out whether a space
        has conditions takes 0.5 s, so check that last.

        Raises
        ------
        UserError
            The message begins with the wrong setting, or ``optimizer``, and a colon.
        """

    def part(self, space: Space) -> Space:
        """Return the part of the space to search; by default, all of it."""
        return space

    @property
    def modules(self) -> list[str]:
        """Modules that the optimizer loads by name, such as the surrogate in its settings."""
        return []

    @property
    def versions(self) -> dict[str, str]:
        """Versions of packages in another environment that suggestions depend on, by name."""
        return {}

    @abstractmethod
    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Return the configuration to evaluate after ``history``.

        Parameters
        ----------
        history
            All evaluations so far.
        rng
            The generator of this iteration, seeded only by (seed, repeat, iteration). The same
            history and generator state give the same suggestion.
        """

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Whether the suggestion after ``evaluations`` depends on their results.

        If not, a search with several workers may request it while they are running.

        Parameters
        ----------
        evaluations
            Number so far, including given ones.
        given
            How many of them were given.
        """
        return True

    def together(self, evaluations: int, most: int, given: int = 0) -> int:
        """Return how many suggestions :meth:`plan` makes after ``evaluations``, up to ``most``.

        See :meth:`needs_results`.
        """
        later = range(evaluations + 1, evaluations + most)
        end = next((n for n in later if self.needs_results(n, given)), evaluations + most)
        return end - evaluations

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Suggest one or more configurations, none of which needs the results of the others.

        The search evaluates them in this order, as many at a time as it has workers, and requests
        the next plan when all are done. A resumed search repeats the last plan. The default plan
        calls :meth:`suggest` until results are needed; optimizers that suggest batches override
        this method and :meth:`together`.

        Parameters
        ----------
        history
            All evaluations so far.
        generators
            Generators of the next iterations, in order; see :meth:`suggest`. A batch drawn as a
            whole uses only the first.

        Yields
        ------
        suggestion
            At least one suggestion. It must not depend on when it is requested.
        """
        while True:
            suggestion = self.suggest(history, next(generators))
            yield suggestion
            history = history.pending(suggestion)
            if self.needs_results(len(history), history.given):
                break


def random_new(history: History, rng: np.random.Generator) -> Configuration:
    """Draw uniformly until the configuration is new; after 11,111 draws, return a known one.

    If draws are without replacement (``TableSpace``), it is new unless all have been evaluated.
    """
    entries = len(history.space) if isinstance(history.space, Sized) else 0
    for size in (1, 10, 100, 1000, max(10_000, entries)):
        for configuration in history.space.sample(size, rng):
            if configuration not in history.seen:
                return configuration
    return configuration
