"""Running sums of predictions, and the losses with one more model, for all models at once.

Sums are exact (``problems.combination.rounded``), so ties depend neither on rounding nor on the
order of the models. ``counts`` counts errors. Other losses are rounded to float32, because their
last bits depend on the processor; for squared distances and log losses, ``bounds`` computes only
those that may be the lowest.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ensemble_search.metrics.base import Metric
from ensemble_search.problems.combination import rounded


class Scorer(ABC):
    """The losses of one round: of the models selected so far plus one more."""

    @abstractmethod
    def losses(self, models: range) -> np.ndarray:
        """Return the loss with each of these models, of shape (len(models),)."""

    def lowest(
        self, models: range, limit: float = np.inf, without: Collection[int] = ()
    ) -> tuple[float, np.ndarray]:
        """Return the lowest loss and the models that have it.

        Parameters
        ----------
        models
            Models to choose from, except ``without``.
        limit
            If all losses exceed it, it is returned with no models.
        """
        found = self.losses(models).astype(float)
        if without:
            found[[model - models.start for model in without]] = np.inf
        best = min(found.min().item(), limit)
        return best, models.start + (found == best).nonzero()[0]


class RunningSums(ABC):
    """Models, and sums of the predictions of some of them.

    Attributes
    ----------
    zero
        The sums of no models; their type is private to the class.
    """

    zero: Any

    @abstractmethod
    def add(self, sums: Any, winner: int) -> Any:
        """Return the sums with one more model."""

    @abstractmethod
    def scorer(self, sums: Any, number: int) -> Scorer:
        """Return the scorer of models in round ``number`` (from 1), given the sums before it."""

    def losses(self, found: np.ndarray) -> np.ndarray:
        """Convert a scorer's values to losses, float64."""
        return found.astype(float)


class Losses(RunningSums):
    """Sums and losses by any metric.

    Parameters
    ----------
    predictions
        Rounded predictions of each model (``combination.rounded``), of shape (n_samples,
        n_columns).
    labels
        Of shape (n_samples,), as the metric takes them.
    metric
        Loss to minimise.
    """

    def __init__(
        self, predictions: Sequence[np.ndarray] | np.ndarray, labels: np.ndarray, metric: Metric
    ):
        self.predictions, self.labels, self.metric = predictions, np.asarray(labels), metric
        self.zero = np.zeros(predictions[0].shape)

    def add(self, sums: Any, winner: int) -> Any:
        """See :meth:`RunningSums.add`."""
        return sums + self.predictions[winner]

    def scorer(self, sums: Any, number: int) -> Scorer:
        """See :meth:`RunningSums.scorer`."""
        return _Exact(self, sums, number)

    def loss(self, sums: Any, number: int, model: int) -> np.float32:
        """Return the loss of the mean of the summed models and one more."""
        return np.float32(self.metric.loss(self.labels, self.add(sums, model) / number))


class _Exact(Scorer):
    """All losses by the metric."""

    def __init__(self, candidates: Losses, sums: np.ndarray, number: int):
        self.candidates, self.sums, self.number = candidates, sums, number

    def losses(self, models: range) -> np.ndarray:
        """See :meth:`Scorer.losses`."""
        loss, sums, number = self.candidates.loss, self.sums, self.number
        return np.array([loss(sums, number, model) for model in models], dtype=np.float32)


def make_sums(
    predictions: Sequence[np.ndarray] | np.ndarray, labels: np.ndarray, metric: Metric | None = None
) -> RunningSums:
    """Choose how sums and losses are computed.

    Parameters
    ----------
    predictions
        Predictions of each model, without NaN, of shape (n_samples, n_columns); if there are two
        columns, the second is used. They are read again when needed, and not fully copied if the
        metric needs less.
    labels
        Of shape (n_samples,), as the metric takes them.
    metric
        Loss to minimise; default: the error.
    """
    from ensemble_search.ensembles.greedy import bounds, counts
    from ensemble_search.metrics.base import SquaredDistance
    from ensemble_search.metrics.error import Error
    from ensemble_search.metrics.log_loss import LogLoss

    columns = predictions[0].shape[1]
    models = [model[:, 1:] if columns == 2 else model for model in predictions]
    if metric is None or isinstance(metric, Error):
        return (counts.ManyClasses if columns > 2 else counts.TwoClasses)(models, labels)
    if isinstance(metric, LogLoss):
        return bounds.LogLosses(models, labels, metric)
    if isinstance(metric, SquaredDistance):
        return bounds.SquaredDistances(models, labels, metric)
    return Losses([rounded(model) for model in models], labels, metric)
