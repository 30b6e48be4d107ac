"""Neural ensemble search: its population, its parents and how it starts."""

from collections import Counter

import numpy as np

from ensemble_search.ensembles.greedy.forward_selection import forward_selection
from ensemble_search.optimizers.neural_ensemble_search import NeuralEnsembleSearch
from support.toy_space import TinySpace, ToySpace, history, search


def test_parents_are_those_of_the_population():
    """Of the last four successes the ensemble of two; both are parents, about equally often."""
    past = history(ToySpace(), 16, failed={0, 12, 15}, seed=4)
    alive = [10, 11, 13, 14]
    p = np.stack([past.observations[i].prediction for i in alive])
    ensembles = {
        tuple(forward_selection(p, past.labels, 2, np.random.default_rng(t))) for t in range(9)
    }
    assert len(ensembles) == 1  # nothing is tied
    optimizer = NeuralEnsembleSearch(population=4, parents=2)
    suggestions = [optimizer.suggest(past, np.random.default_rng([9, t])) for t in range(60)]
    counts = Counter(s.why["parent"] - 1 for s in suggestions)
    assert set(counts) == {alive[i] for i in ensembles.pop()}
    assert min(counts.values()) > 15
    for s in suggestions:
        parent = past.observations[s.why["parent"] - 1].configuration
        assert s.why["origin"] == "mutation"
        assert s.configuration[s.why["mutated"]] != parent[s.why["mutated"]]


def test_random_until_there_is_a_population():
    suggestions = search(NeuralEnsembleSearch(population=7), ToySpace(), 12)[1]
    assert [s.why["origin"] for s in suggestions] == ["initial"] * 7 + ["mutation"] * 5
    for t, s in enumerate(suggestions[7:], start=7):
        assert t - 7 <= s.why["parent"] - 1 < t
    assert NeuralEnsembleSearch().minimum_evaluations == 31
    used_up = search(NeuralEnsembleSearch(population=2), TinySpace(), 7)[1]
    assert used_up[6].why["origin"] == "fallback"
