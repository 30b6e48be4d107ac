"""Expected improvement of the ensemble: what its forest learns."""

import numpy as np
import pytest
from pydantic import ValidationError

from ensemble_search.ensembles.selection import select
from ensemble_search.optimizers import ensemble_improvement
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.optimizers.ensemble_improvement import SEED, EnsembleImprovement
from ensemble_search.runtime import plugins
from support.toy_space import ToySpace, history


@pytest.mark.parametrize("metric", [None, "brier", "log-loss"])
@pytest.mark.parametrize("failed", [set(), {4, 13}])
def test_the_forest_learns_the_losses_of_the_ensemble_with_one_more(metric, failed, monkeypatch):
    """BO with these losses instead of its own suggests the same."""
    monkeypatch.setattr(ensemble_improvement, "ROUNDS", 4)
    past = history(ToySpace(), 20, failed=failed)
    optimizer = EnsembleImprovement(interleave=0, metric=metric, candidates=200)
    loss = plugins.load("metrics", metric)() if metric else past.problem.metric
    chosen = select(past.predictions, past.labels, size=4, seed=SEED, metric=loss)
    chosen_parts = (chosen.indices, chosen.weights)
    ensemble = sum(w * past.predictions[i] for i, w in zip(*chosen_parts, strict=True))
    expected = [loss.loss(past.labels, (4 * ensemble + other) / 5) for other in past.predictions]
    targets = optimizer.targets(past)
    np.testing.assert_allclose(targets[past.ok], expected, atol=1e-6)
    assert len(set(targets)) > 3
    assert all(targets[i] == targets[past.ok].max() for i in failed)
    got = optimizer.suggest(past, np.random.default_rng(1))
    plain = BayesianOptimization(interleave=0, candidates=200)
    assert got != plain.suggest(past, np.random.default_rng(1))
    monkeypatch.setitem(past.__dict__, "errors", targets)  # the cached property
    assert got == plain.suggest(past, np.random.default_rng(1))


def test_a_metric_has_to_exist():
    assert EnsembleImprovement(metric="brier").modules[-1] == "ensemble_search.metrics.brier"
    with pytest.raises(ValidationError, match="no metric is called 'brie'; did you mean 'brier'"):
        EnsembleImprovement(metric="brie")
