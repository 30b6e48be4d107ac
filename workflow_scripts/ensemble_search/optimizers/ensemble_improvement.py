"""Expected improvement of the selected ensemble; not from a paper."""

import numpy as np

from ensemble_search.ensembles.greedy.running_sums import make_sums
from ensemble_search.ensembles.selection import select
from ensemble_search.optimizers.base import History
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.problems.own_metric import OwnMetric

#: Number of rounds of selection, and the seed for breaking its ties.
ROUNDS, SEED = 25, 0


class EnsembleImprovement(OwnMetric, BayesianOptimization):
    """BO of the current ensemble's loss with one more model.

    Not from a paper. Before every suggestion, 25 rounds of selection build an ensemble from
    all evaluations. For every evaluated model, the forest learns the loss of this ensemble with the
    model added once more; expected improvement is over the lowest of these losses. A model thus
    counts for what it adds to the others, not for its own loss. A failed evaluation counts as the
    worst. With the error as ``metric``, most models do not change the ensemble's loss; ``brier``
    distinguishes more of them.

    ``why`` is as in ``bo``.
    """

    def targets(self, history: History) -> np.ndarray:
        """Return the ensemble's loss with each model added, of shape (n,)."""
        metric = self.minimised(history.problem)
        predictions, labels = history.predictions, history.labels
        chosen = select(predictions, labels, size=ROUNDS, seed=SEED, metric=metric)
        counts = np.rint(chosen.weights * ROUNDS).astype(int)
        candidates = make_sums(predictions, labels, metric)
        sums = candidates.zero
        for model in np.repeat(chosen.indices, counts):
            sums = candidates.add(sums, model)
        scorer = candidates.scorer(sums, ROUNDS + 1)
        losses = candidates.losses(scorer.losses(range(len(predictions))))
        return history.imputed(losses)
