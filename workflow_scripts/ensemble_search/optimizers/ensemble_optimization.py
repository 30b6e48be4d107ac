"""Ensemble optimization (DivBO paper, EO; Lévesque et al., UAI 2016)."""

from typing import Any

import numpy as np
from pydantic import Field

from ensemble_search.ensembles.greedy.round_robin import next_losses
from ensemble_search.optimizers._model_based.acquisition import Candidates
from ensemble_search.optimizers.base import History
from ensemble_search.optimizers.bo import BayesianOptimization


class EnsembleOptimization(BayesianOptimization):
    """BO of the ensemble's error: the next model should improve one slot of the ensemble.

    (DivBO paper, EO; Lévesque et al., UAI 2016.) The ensemble has ``slots`` models. The n-th
    successful evaluation updates slot (n - 1) mod ``slots``, which gets the evaluated model that
    minimises the ensemble's error. For every evaluated model, the forest learns the validation
    error of the ensemble with that model in the next slot to update; expected improvement is over
    the lowest of these errors. The first ``slots`` successes fill the slots. A failed evaluation
    counts as the worst and does not advance the slot. Every update breaks ties at random, with one
    fixed seed for all searches, so that the ensemble ``slots``, built afterwards, has the same
    slots.

    The original uses a Gaussian process and majority votes; here, as in the surviving code of
    DivBO's authors, the model is a random forest and ensembles average class probabilities.

    ``why`` is as in ``bo``, plus ``slot`` (from 0).
    """

    slots: int = Field(12, ge=1, description="Number of models in the ensemble.")

    def targets(self, history: History) -> np.ndarray:
        """Return the ensemble's error with each model in the current slot, of shape (n,)."""
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
        """Rank as BO does; report the current slot (from 0)."""
        return -improvement, {}, {"slot": len(history.ok) % self.slots}
