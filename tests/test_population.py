"""Neural ensemble search: parents by hand, ageing, mutations; and selection from the population."""

from collections import Counter

import numpy as np
import pytest

from ensemble_search.ensembles.greedy.forward_selection import current, forward_selection
from ensemble_search.ensembles.population import Population
from ensemble_search.ensembles.selection import Selection, select
from ensemble_search.optimizers.neural_ensemble_search import NeuralEnsembleSearch
from ensemble_search.runtime import plugins
from test_slots import mixed_pool
from toy_space import TinySpace, ToySpace, history, search


def test_parents_by_hand():
    """Labels are all 1; the third model errs least alone, then the second repairs it.

    Alone: 2, 2, 1, 4 errors. With 2: 0 gives (.75 .75 .3 .45), 2 errors; 1 gives
    (.55 .55 .65 .65), none; 3 gives (.3 .3 .2 .3), 4. With 2 and 1: 0 gives sums of
    (2.0 2.0 1.5 1.6), so 1 error (1.5 of 3 is no majority); 3 gives (1.1 1.1 1.3 1.3), 4.
    """
    predictions = np.array(
        [
            [0.9, 0.9, 0.2, 0.3],
            [0.5, 0.5, 0.9, 0.7],
            [0.6, 0.6, 0.4, 0.6],
            [0.0, 0.0, 0.0, 0.0],
        ],
        dtype=np.float32,
    )[:, :, None]
    rng = np.random.default_rng(0)
    assert forward_selection(predictions, np.ones(4, dtype=int), 3, rng) == [2, 1, 0]
    # Without replacement, and never more than there are.
    assert forward_selection(predictions, np.ones(4, dtype=int), 9, rng) == [2, 1, 0, 3]
    # Equal models are chosen at random.
    same = np.repeat(predictions[:1], 3, axis=0)
    first = Counter(forward_selection(same, np.ones(4, dtype=int), 1, rng)[0] for _ in range(60))
    assert len(first) == 3
    # Anew in every round: all six orders, about equally often.
    orders = Counter(
        tuple(forward_selection(same, np.ones(4, dtype=int), 3, rng)) for _ in range(600)
    )
    assert len(orders) == 6 and min(orders.values()) > 65 and max(orders.values()) < 135


def test_ties_of_parents_ignore_what_models_err_alone():
    """Model 0 alone never errs. With it, 1 and 2 never err either, though 2 alone does twice."""
    predictions = np.array([[0.9, 0.9], [0.8, 0.8], [0.2, 0.2]], dtype=np.float32)[:, :, None]
    labels, rng = np.ones(2, dtype=int), np.random.default_rng(0)
    starts = [tuple(forward_selection(predictions, labels, 2, rng)) for _ in range(300)]
    from_zero = Counter(second for first, second in starts if first == 0)
    assert set(from_zero) == {1, 2} and min(from_zero.values()) > 50


@pytest.mark.parametrize("classes", [2, 3])
def test_parents_by_brute_force(classes):
    pool = mixed_pool(classes, 5)
    ok = np.flatnonzero(~np.isnan(pool.errors))
    p = pool.predictions[ok].astype(float)

    def wrong(models):
        mean = p[models].mean(axis=0)
        labels = mean[:, 0] > 0.5 if classes == 2 else mean.argmax(axis=1)
        return np.count_nonzero(labels != pool.labels)

    chosen = forward_selection(pool.predictions[ok], pool.labels, 10, np.random.default_rng(0))
    assert len(set(chosen)) == 10
    for i in range(10):
        others = set(range(len(ok))) - set(chosen[:i])
        assert min(wrong([*chosen[:i], m]) for m in others) == wrong(chosen[: i + 1])


def test_the_oldest_leaves():
    ok = np.array([0, 2, 3, 6, 7])
    assert current(ok, 3).tolist() == [3, 6, 7]
    assert current(ok, 5).tolist() == current(ok, 9).tolist() == ok.tolist()


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


def test_a_mutation_changes_one_hyperparameter_and_what_hangs_on_it():
    space = plugins.load("spaces", "divbo")()
    rng = np.random.default_rng(0)
    for parent in space.sample(300, rng):
        mutant, name = space.mutate(parent, rng)
        assert space.configuration(dict(mutant)) == mutant
        assert mutant[name] != parent[name]
        changed = {k for k in parent.keys() & mutant.keys() if parent[k] != mutant[k]}
        assert changed == {name}
        came = mutant.keys() - parent.keys()
        if name not in ("algorithm", "preprocessor", "rescaler"):
            children = {h.name for h in space.configspace.children_of[name]}
            assert came <= children


def test_mutations_are_uniform():
    """The hyperparameter is drawn uniformly, and so is its new value."""
    space = ToySpace()
    parent = space.configuration({"algorithm": "a", "x": 0.1, "k": 3})
    rng = np.random.default_rng(1)
    mutants = [space.mutate(parent, rng) for _ in range(1200)]
    names = Counter(name for _, name in mutants)
    assert set(names) == {"algorithm", "x", "k"}
    assert max(names.values()) - min(names.values()) < 120  # 4 standard deviations
    values = np.array([m["x"] for m, name in mutants if name == "x"])
    assert abs(values.mean() - 0.5) < 0.06
    assert {m["algorithm"] for m, name in mutants if name == "algorithm"} == {"b", "c"}
    rates = {m["rate"] for m, name in mutants if name == "algorithm" and m["algorithm"] == "b"}
    assert len(rates) > 100  # a child that becomes active gets a random value
    part = space.restricted({"algorithm": "a"})
    assert {part.mutate(parent, rng)[1] for _ in range(40)} == {"x", "k"}


def test_nothing_to_mutate():
    space = TinySpace().restricted({"algorithm": "a", "flag": True})
    assert (
        space.mutate(space.sample(1, np.random.default_rng(0))[0], np.random.default_rng(0)) is None
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ties", ["random", "selected-first", "log-loss"])
def test_selection_from_the_population(classes, ties):
    """Evaluation for evaluation the ensemble selection of the last 6 successes."""
    pool = mixed_pool(classes, 3)
    trace = Population(population=6, size=5, ties=ties).build_prefixes(pool)
    for t, members in enumerate(trace):
        ok = np.flatnonzero(~np.isnan(pool.errors[: t + 1]))[-6:]
        if not len(ok):
            assert members is None
            continue
        chosen = select(pool.predictions[ok], pool.labels, 5, pool.seed, ties=ties)
        assert members.indices.tolist() == ok[chosen.indices].tolist()
        np.testing.assert_array_equal(members.weights, chosen.weights)
    assert trace[-1].indices.min() >= 24
    everything = Population(population=100, size=5, ties=ties).build_prefixes(pool)
    for a, b in zip(everything, Selection(size=5, ties=ties).build_prefixes(pool), strict=True):
        assert (a is None) == (b is None)
        assert a is None or a.indices.tolist() == b.indices.tolist()
