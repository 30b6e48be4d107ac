"""Sequential model-based ensemble optimization (Lacoste et al., UAI 2014, Algorithm 2)."""

import numpy as np
from pydantic import Field

from ensemble_search.ensembles import _bootstraps
from ensemble_search.optimizers.base import History
from ensemble_search.optimizers.bo import BayesianOptimization


class EnsembleSequentialOptimization(BayesianOptimization):
    """BO of the loss on bootstraps of the validation rows, one after the other.

    Every evaluated model has a loss on each bootstrap. The forest learns the losses on the current
    bootstrap (number t mod ``bootstraps`` after t evaluations), and expected improvement is over
    the lowest of these. The search thus looks for the best model of every bootstrap; the ensemble
    ``agnostic-bayes`` consists of these models.

    The original uses a Gaussian process; here, everything else is as in BO.
    """

    bootstraps: int | None = Field(
        None,
        ge=1,
        le=_bootstraps.MOST,
        description="Number of bootstraps (default: half the evaluations, as in the paper, "
        "or the paper's 75 if the budget is in seconds).",
    )
    ratio: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Size of a bootstrap relative to the number of validation rows.",
    )

    def planned(
        self, evaluations: int | None, seconds: float | None = None
    ) -> "EnsembleSequentialOptimization":
        """See :meth:`Optimizer.planned`."""
        return self.model_copy(
            update={"bootstraps": self.bootstraps or _bootstraps.number(evaluations)}
        )

    def targets(self, history: History) -> np.ndarray:
        """Return the losses on the current bootstrap, of shape (n,)."""
        turn = len(history) % (self.bootstraps or _bootstraps.number(None))
        counts = _bootstraps.counts(
            range(turn, turn + 1), len(history.labels), self.ratio, history.repeat
        )
        losses = _bootstraps.losses(
            counts, history.labels, history.predictions, history.problem.metric
        )
        return history.imputed(losses[:, 0])
