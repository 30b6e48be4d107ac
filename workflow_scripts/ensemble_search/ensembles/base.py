"""Base of post-hoc ensembles: weights over stored predictions, for every iteration."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from ensemble_search.problems import combination
from ensemble_search.problems.base import Problem
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.runtime.names import REGRESSION


@dataclass(frozen=True, eq=False)
class Refit:
    """Predictions of an evaluation's pipeline refitted on parts of the training rows."""

    #: Mean predictions for the training rows by the models that were not fitted on them, float32,
    #: of shape (n_train, n_columns); NaN for rows on which every model was fitted.
    out_of_fold: np.ndarray
    #: Mean predictions of the models, float32, of shape (n_samples, n_columns).
    validation: np.ndarray
    test: np.ndarray
    predict_seconds: float  #: wall-clock seconds of all models to predict validation and test rows


@dataclass(frozen=True)
class Pool:
    """The evaluations that an ensemble may draw on."""

    #: Predictions on the validation set as stored (``Problem``): float32, of shape (n,
    #: n_validation, n_columns), where n_columns is the number of classes, or 1 for two classes (the
    #: probability of class 1) and in regression. Failed evaluations have NaN.
    predictions: np.ndarray
    #: Validation labels, of shape (n_validation,): int, in 0..n_classes-1, or standardised numbers
    #: in regression.
    labels: np.ndarray
    errors: np.ndarray  #: validation errors, of shape (n,); NaN for failed evaluations
    seed: int  #: seed for random ties and for folds
    #: Problem type and metric. Default: classification, error.
    problem: Problem = CLASSIFICATION
    #: Wall-clock seconds that each evaluation took to predict validation and test rows, of shape
    #: (n,); None if unknown. This is a measurement and must not influence any choice.
    predict_seconds: np.ndarray | None = None
    #: Function that refits evaluations, given their positions and the training rows to hold out of
    #: each model. It returns one :class:`Refit` per evaluation, or None if a fit failed. Set only
    #: for ensembles with :attr:`Ensemble.refits`.
    refit: Callable[[Sequence[int], Sequence[np.ndarray]], list[Refit | None]] | None = None
    #: With ``refit``, if validation does not use folds: prepared features of the training rows, of
    #: shape (n_train, p), and their labels, of shape (n_train,).
    train_inputs: np.ndarray | None = None
    train_labels: np.ndarray | None = None
    #: With ``refit``, if validation uses folds: fold of every row, int, of shape (n_validation,);
    #: the validation rows are then the training rows.
    folds: np.ndarray | None = None

    @cached_property
    def worst(self) -> float:
        """Loss of a useless model: the metric's worst; in regression, the training rows' mean."""
        if self.problem.task != REGRESSION:
            return self.problem.metric.worst
        mean = np.zeros((len(self.labels), 1), dtype=np.float32)
        return self.problem.metric.loss(self.labels, mean) or self.problem.metric.worst

    def first(self, n: int) -> "Pool":
        """Return the pool of the first ``n`` evaluations."""
        seconds = self.predict_seconds
        return replace(
            self,
            predictions=self.predictions[:n],
            errors=self.errors[:n],
            predict_seconds=None if seconds is None else seconds[:n],
        )


@dataclass(frozen=True)
class Members:
    """An ensemble: by default the weighted mean of the members' predictions."""

    #: How predictions are combined, one of ``combination.COMBINATIONS``; None if more than weights
    #: on the search's pipelines is needed.
    combination: ClassVar[str | None] = "mean"
    #: Members' positions in the pool, int, unique, ascending, of shape (n_members,).
    indices: np.ndarray
    weights: np.ndarray  #: of shape (n_members,), positive; they sum to 1

    def predict(self, predictions: np.ndarray) -> np.ndarray:
        """Combine the members' predictions.

        Parameters
        ----------
        predictions
            The pool's predictions on any set of samples, of shape (n, n_samples, n_columns) as in
            :class:`Pool`; only the members' rows are read.

        Returns
        -------
        combined
            float64, of shape (n_samples, n_columns).
        """
        assert self.combination is not None, "it is not by weights: override this"
        combine = combination.COMBINATIONS[self.combination]
        return combine((predictions[i] for i in self.indices), self.weights)

    def predict_both(
        self, validation: np.ndarray, test: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict validation and test rows, as :meth:`predict` does.

        Ensembles that are more than a weighted mean of stored predictions override it.
        """
        return self.predict(validation), self.predict(test)

    def same(self, other: "Members | None") -> bool:
        """Whether another ensemble has the same members with the same weights."""
        return (
            type(other) is type(self)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.weights, other.weights)
        )

    def total_seconds(self, predict_seconds: np.ndarray) -> float:
        """Return the total seconds that the members need to predict validation and test rows.

        Parameters
        ----------
        predict_seconds
            See :class:`Pool`.
        """
        return float(predict_seconds[self.indices].sum())


class Ensemble(BaseModel, ABC):
    """Base of all ensembles: the fields are the settings, checked by pydantic.

    An ensemble has its own file, ``ensembles/<name>.py``, with one public subclass.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
    #: Whether it uses ``pool.refit``; its jobs then get the resources of a search.
    refits: ClassVar[bool] = False
    #: Whether it is rejected if validation uses folds.
    needs_validation_part: ClassVar[bool] = False

    def planned(self, evaluations: int | None) -> "Ensemble":
        """Return this ensemble for a study's budget in evaluations or full fits (None: in seconds).

        Called when a study is read; an ensemble that depends on the budget stores it in a setting.
        """
        return self

    def lacks(self, classes: Sequence[int]) -> str:
        """Return the setting that needs more training rows than exist; empty if there is none.

        Parameters
        ----------
        classes
            Training rows per class; in regression, one entry for all rows.
        """
        return ""

    @property
    def modules(self) -> list[str]:
        """Modules that the ensemble loads by name, such as the metric in its settings."""
        return []

    @abstractmethod
    def build(self, pool: Pool) -> Members | None:
        """Build the ensemble of a pool; None if no evaluation has succeeded."""

    def unfitted(self, members: Members, pool: Pool) -> np.ndarray:
        """Return the evaluations that are missing from the ensemble because their refit failed.

        Returns
        -------
        unfitted
            Positions in the pool, int, ascending; empty unless the ensemble has :attr:`refits`.
        """
        return np.empty(0, dtype=int)

    def build_prefixes(self, pool: Pool) -> list[Members | None]:
        """Build the ensemble of every prefix of a pool.

        Returns
        -------
        ensembles
            Entry t (from 0) uses evaluations 0..t only; it is the same object as entry t - 1 if
            nothing changed, and None until an evaluation has succeeded.
        """
        result: list[Members | None] = []
        members, grown = None, self.after_each_success(pool)
        for error in pool.errors:
            if not np.isnan(error):
                built = next(grown)
                members = members if built and built.same(members) else built
            result.append(members)
        return result

    def after_each_success(self, pool: Pool) -> Iterator[Members | None]:
        """Yield the ensemble of all prefixes that end with a success, in order.

        Override this if there is a faster way than :meth:`build` for each.
        """
        for n in np.flatnonzero(~np.isnan(pool.errors)).tolist():
            yield self.build(pool.first(n + 1))


def lowest(errors: np.ndarray, size: int) -> np.ndarray:
    """Return the positions of the ``size`` lowest errors; ties go to the earlier.

    Parameters
    ----------
    errors
        Validation errors, of shape (n,); NaN for failed evaluations.

    Returns
    -------
    indices
        Int, ascending; ``size`` of them, or fewer if fewer evaluations succeeded.
    """
    order = np.argsort(errors, kind="stable")[:size]  # NaN comes last
    return np.sort(order[~np.isnan(errors[order])])
