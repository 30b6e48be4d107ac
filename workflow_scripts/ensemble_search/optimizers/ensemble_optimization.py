"""Ensemble optimization (DivBO paper, EO; Lévesque et al., UAI 2016)."""

from typing import Any

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.greedy.round_robin import next_losses
from ensemble_search.optimizers._model_based.acquisition import Candidates
from ensemble_search.optimizers.base import History
from ensemble_search.optimizers.bo import BayesianOptimization


class EnsembleOptimization(BayesianOptimization):
    """BO of the ensemble's error: the next model is to improve the slot whose turn it is.

    An ensemble of ``slots`` models is kept, which successes replace in turn
    (``round_robin.fillings``). The forest learns, for every evaluated model, the validation
    error of the ensemble with that model in the slot of this turn, and the expected improvement is
    upon the lowest of these errors. A failed evaluation leaves the turn where it is. All else is as in BO.

    The paper of the method has a Gaussian process and majority votes. As in all searches here, the
    model is a random forest and the ensemble the mean of class probabilities.
    """

    slots: int = Field(12, ge=1, description="Models of the ensemble.")

    def targets(self, history: History) -> np.ndarray:
        """Return the errors of the ensemble with each model in the next slot, of shape (n,)."""
        losses = next_losses(
            history.predictions, history.labels, self.slots, history.problem.metric
        )
        return history.imputed(losses)

    def rank(
        self,
        history: History,
        candidates: Candidates,
        improvement: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
        """Rank as BO does, and tell the slot (from 0) whose turn it is."""
        return -improvement, {}, {"slot": len(history.ok) % self.slots}
