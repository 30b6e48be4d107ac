"""DivBO: Eqs. 4 and 5, the temporary ensemble, weighted ranks, and Algorithm 1 by hand."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import rankdata

from ensemble_search.ensembles.selection import select
from ensemble_search.optimizers import divbo
from ensemble_search.optimizers._model_based.acquisition import (
    Candidates,
    expected_improvement,
    propose,
)
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.optimizers.divbo import DivBO, diversity_weight, nearest
from ensemble_search.problems.diversity import pairwise
from ensemble_search.runtime import plugins
from ensemble_search.surrogates.random_forest import RandomForest
from support.toy_space import ToySpace, history, predict, search

pytestmark = pytest.mark.slow


def test_weight_by_hand():
    """Eq. 5: 0 at t = 0, 0.0116 at t = 5, 96 % of its limit beta / 2 at t = 20."""
    assert diversity_weight(0, 0.05, 0.2) == 0
    assert diversity_weight(5, 0.05, 0.2) == pytest.approx(0.011553, abs=1e-6)
    assert diversity_weight(20, 0.05, 0.2) / 0.025 == pytest.approx(0.964, abs=5e-4)
    weights = [diversity_weight(t, 0.05, 0.2) for t in range(150)]
    assert np.all(np.diff(weights) > 0)
    assert weights[-1] < 0.025
    assert weights[-1] == pytest.approx(0.025)


def test_diversity_to_the_nearest_member_by_brute_force():
    samples = np.random.default_rng(0).random((3, 7, 4))
    expected = [
        sum(min(samples[s, c, m] for m in range(4)) for s in range(3)) / 3 for c in range(7)
    ]
    np.testing.assert_allclose(nearest(samples), expected)
    assert not np.allclose(nearest(samples), samples.mean(axis=0).min(axis=1))


def made_candidates(space, size: int = 40) -> Candidates:
    points = space.sample_points(size, np.random.default_rng(9))
    return Candidates(points, space.encode_points(points).astype(np.float32), 0)


class Spy:
    """Stands in for the diversity surrogate: remembers what it got, predicts given samples."""

    def __init__(self, samples):
        self.samples, self.fitted, self.asked = samples, None, None

    def __call__(self):
        return self

    def fit(self, vectors, diversities, categories, rng):
        self.fitted = vectors, diversities, categories
        return self.predict

    def predict(self, a, b):
        self.asked = a, b
        return self.samples[:, : len(a), : len(b)]


def test_weighted_ranks_by_hand(monkeypatch):
    """Four candidates: improvement ranks 1, 2.5, 2.5, 4; diversity ranks 4, 2.5, 1, 2.5."""
    space = ToySpace()
    past = history(space, 6)
    minimum = np.array([0.1, 0.2, 0.5, 0.2])
    spy = Spy(np.repeat(minimum[None, :, None], 25, axis=2))
    monkeypatch.setattr(plugins, "load", lambda kind, name: spy)
    candidates = made_candidates(space, 4)
    gain = np.array([0.9, 0.5, 0.5, 0.0])
    cost, columns, facts = DivBO.model_construct(
        beta=0.05,
        tau=0.2,
        weight=0.5,
        pool=25,
        ties="random",
        diversity_surrogate="spy",
    ).rank(past, candidates, gain, np.random.default_rng(0))
    np.testing.assert_allclose(columns["rank_performance"], [1, 2.5, 2.5, 4])
    np.testing.assert_allclose(columns["rank_diversity"], [4, 2.5, 1, 2.5])
    np.testing.assert_allclose(cost, [1 + 2, 2.5 + 1.25, 2.5 + 0.5, 4 + 1.25])
    np.testing.assert_allclose(columns["diversity"], minimum)
    assert facts["weight"] == 0.5


@pytest.mark.parametrize("failed", [(), {0, 3, 9}])
@pytest.mark.parametrize("ties", ["random", "selected-first", "log-loss"])
def test_surrogate_sees_the_successes_and_the_members(monkeypatch, failed, ties):
    space = ToySpace()
    past = history(space, 15, failed=failed, seed=3)
    spy = Spy(np.random.default_rng(0).random((5, 40, 25)))
    monkeypatch.setattr(plugins, "load", lambda kind, name: spy)
    candidates = made_candidates(space)
    gain = np.random.default_rng(1).random(40)
    optimizer = DivBO.model_construct(
        beta=0.05,
        tau=0.2,
        weight=None,
        pool=25,
        ties=ties,
        diversity_surrogate="spy",
    )
    cost, _, facts = optimizer.rank(past, candidates, gain, np.random.default_rng(5))

    ok = [o for o in past.observations if o.status == "ok"]
    vectors = space.encode([o.configuration for o in ok]).astype(np.float32)
    np.testing.assert_array_equal(spy.fitted[0], vectors)
    np.testing.assert_array_equal(spy.fitted[1], pairwise([o.prediction for o in ok]))
    assert spy.fitted[2].tolist() == [3, 0, 0, 0]
    members = select(
        np.stack([o.prediction for o in ok]),
        past.labels,
        25,
        seed=int(np.random.default_rng(5).integers(2**31)),
        ties=ties,
    ).indices
    np.testing.assert_array_equal(spy.asked[0], candidates.vectors)
    np.testing.assert_array_equal(spy.asked[1], vectors[members])
    assert facts["pool"] == len(members)
    # t counts every observation, failed ones too.
    assert facts["weight"] == diversity_weight(15, 0.05, 0.2)
    by_hand = spy.samples[:, :, : len(members)].min(axis=2).mean(axis=0)
    ranks = rankdata(-gain), rankdata(-by_hand)
    np.testing.assert_allclose(cost, ranks[0] + facts["weight"] * ranks[1])


def test_chooses_among_the_candidates_of_bo():
    """Algorithm 1 put together from its parts gives the suggestion."""
    space = ToySpace()
    past = history(space, 14)
    optimizer = DivBO(interleave=0, weight=2.0, candidates=300)
    suggestion = optimizer.suggest(past, np.random.default_rng(8))

    seeds = np.random.default_rng(8).integers(2**63, size=4)
    fit, climb, ties, more = (np.random.default_rng(s) for s in seeds)
    model = RandomForest().fit(past.vectors, past.errors, past.space.categories, fit)

    def gain(vectors):
        return expected_improvement(*model(vectors), past.errors.min())

    starts = optimizer._starts(past, gain, ties)
    candidates = propose(space, starts, gain, climb, size=300)
    members = select(past.predictions, past.labels, 25, seed=int(more.integers(2**31))).indices
    surrogate = plugins.load("surrogates", "forest-kernel")()
    vectors = past.vectors.astype(np.float32)
    diversity = surrogate.fit(vectors, pairwise(list(past.predictions)), space.categories, more)
    predicted = diversity(candidates.vectors, vectors[members]).min(axis=2).mean(axis=0)
    cost = rankdata(-gain(candidates.vectors)) + 2.0 * rankdata(-predicted)
    cost[[c in past.seen for c in space.at(candidates.points)]] = np.inf
    chosen = space.at(candidates.points).index(suggestion.configuration)
    assert cost[chosen] == cost.min()
    assert suggestion.why["diversity"] == pytest.approx(predicted[chosen])
    assert suggestion.why["rank_diversity"] == rankdata(-predicted)[chosen]
    assert suggestion.why["pool"] == len(members)
    assert {"origin", "expected_improvement", "mean", "std", "rank_performance", "weight"} <= set(
        suggestion.why
    )


def test_performance_comes_first():
    """A forest cannot split five observations: then diversity must not decide alone."""
    for t, decides in ((5, False), (12, True)):
        past = history(ToySpace(), t, seed=1)
        rng = np.random.default_rng
        optimizer = DivBO(interleave=0)
        why = [optimizer.suggest(past, rng(s)).why for s in range(8)]
        assert all((w["weight"] > 0) == decides for w in why)
        if not decides:
            assert {w["rank_performance"] for w in why} == {2500.5}
            assert max(w["rank_diversity"] for w in why) > 1000


@pytest.mark.parametrize("settings", [{"beta": 0.0}, {"tau": 0.0}, {"weight": 0.0}])
def test_without_weight_it_is_bo(settings):
    for n in (6, 11):
        past = history(ToySpace(), n, failed={2})
        bo, divbo = (
            optimizer.suggest(past, np.random.default_rng(n)).configuration
            for optimizer in (
                BayesianOptimization(interleave=0),
                DivBO(interleave=0, **settings),
            )
        )
        assert bo == divbo


def test_a_large_weight_finds_what_is_unlike_the_ensemble():
    """Suggestions are in truth more diverse from the ensemble than BO's, over five histories."""
    gains = []
    for seed in range(5):
        past = history(ToySpace(), 25, seed=seed)
        members = past.predictions[select(past.predictions, past.labels, 25, seed=0).indices]

        def distance(optimizer, past=past, members=members, seed=seed):
            chosen = optimizer.suggest(past, np.random.default_rng(seed)).configuration
            return pairwise([predict(chosen), *members])[0, 1:].min()

        far, near = DivBO(interleave=0, weight=100.0), BayesianOptimization(interleave=0)
        gains.append(distance(far) - distance(near))
    assert np.median(gains) > 0.05


def test_settings_are_the_papers_but_for_two():
    optimizer = DivBO()
    assert (optimizer.beta, optimizer.tau, optimizer.pool, optimizer.initial) == (0.05, 0.2, 25, 5)
    assert (optimizer.diversity_surrogate, optimizer.ties) == ("forest-kernel", "random")
    assert (optimizer.candidates, optimizer.local, optimizer.interleave) == (5000, 50, 0.2)
    assert optimizer.modules == [
        "ensemble_search.surrogates.random_forest",
        "ensemble_search.surrogates.forest_kernel",
    ]


@pytest.mark.parametrize(
    ("name", "says"),
    [("forest-kernell", "did you mean 'forest-kernel'"), ("random-forest", "no diversity")],
)
def test_wrong_surrogates_are_rejected(name, says):
    with pytest.raises(ValidationError, match=says):
        DivBO(diversity_surrogate=name)


@pytest.mark.parametrize("name", ["beta", "tau", "weight"])
def test_settings_that_would_overflow_are_rejected(name):
    with pytest.raises(ValidationError, match="less than or equal to 1000000"):
        DivBO(**{name: 1e308})


@pytest.mark.parametrize("name", ["beta", "tau"])
def test_a_constant_weight_has_no_schedule(name):
    with pytest.raises(ValueError, match=f"'weight' is constant: remove '{name}'"):
        DivBO(**{"weight": 0.1, name: 0.3})
    assert DivBO(weight=0.1, beta=0.05, tau=0.2) == DivBO(weight=0.1)  # the defaults, written out


def test_a_search_tells_its_reasons():
    optimizer = DivBO(interleave=0, candidates=200)
    _, suggestions = search(optimizer, ToySpace(), 8)
    assert [s.why["origin"] for s in suggestions[:5]] == ["initial"] * 5
    for t, suggestion in enumerate(suggestions[5:], start=5):
        why = suggestion.why
        assert why["weight"] == (diversity_weight(t, 0.05, 0.2) if t > 5 else 0)
        assert 1 <= why["pool"] <= min(t, 25)
        assert 0 <= why["diversity"] <= 1


def made_history(space, size: int, samples: int = 500) -> History:
    """Predictions of three classes that depend on all of the configuration; one in ten failed."""
    rng = np.random.default_rng(0)
    configurations = space.sample(size, rng)
    vectors = space.encode(configurations)
    hidden = np.tanh(vectors @ rng.normal(size=(vectors.shape[1], 6)) / 3)
    logits = (hidden @ rng.normal(size=(6, samples * 3))).reshape(size, samples, 3)
    labels = rng.integers(3, size=samples)
    logits[:, np.arange(samples), labels] += 1
    rows = []
    for i, (configuration, row) in enumerate(zip(configurations, np.exp(logits), strict=True)):
        p = (row / row.sum(axis=1, keepdims=True)).astype(np.float32)
        error = float((p.argmax(axis=1) != labels).mean())
        failed = i % 10 == 9
        rows.append(
            Observation(configuration, "timeout", float("nan"), None)
            if failed
            else Observation(configuration, "ok", error, p)
        )
    return History(space, labels, tuple(rows))


def test_the_last_bits_of_diversities_change_no_suggestion(monkeypatch):
    """They depend on the processor."""
    past = made_history(plugins.load("spaces", "divbo")(), 130)
    optimizer = DivBO(interleave=0)

    def suggestions() -> list:
        return [
            optimizer.suggest(
                History(past.space, past.labels, past.observations[:n]),
                np.random.default_rng([0, n]),
            ).configuration
            for n in (58, 67, 103, 112)
        ]

    def moved(*arguments) -> np.ndarray:
        matrix = pairwise(*arguments)
        noise = np.triu(np.random.default_rng(1).uniform(-1e-8, 1e-8, matrix.shape), 1)
        return matrix + (noise + noise.T) * (matrix > 0)

    before = suggestions()
    monkeypatch.setattr(divbo, "pairwise", moved)
    assert suggestions() == before
