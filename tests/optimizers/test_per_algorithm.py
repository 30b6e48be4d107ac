"""Searches that tune every algorithm on its own: Rising Bandits, equal shares, parts of a space."""

from collections import Counter

import numpy as np
import pytest
from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Integer

from ensemble_search.optimizers._model_based.per_algorithm import part
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.optimizers.boasf import AdaptiveSuccessiveFiltering
from ensemble_search.optimizers.k_bo import EqualShares
from ensemble_search.optimizers.rising_bandit import RisingBandit, turn, upper_bound
from ensemble_search.problems.regression import REGRESSION
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model
from support.toy_space import LABELS, Grid, ToySpace, _Toy, history, observe, search

pytestmark = pytest.mark.slow


class Few(_Toy):
    """Fifteen configurations: three of the algorithms a and c, and nine of b."""

    def define(self):
        space = ConfigurationSpace()
        algorithm, more = Categorical("algorithm", ["a", "b", "c"]), Integer("more", (1, 3))
        space.add([algorithm, Integer("k", (1, 3)), more])
        space.add(EqualsCondition(more, algorithm, "b"))
        return space


def arms_in_turn(rewards: dict[str, list[float]], evaluations: int, **settings) -> list[str]:
    """Play a bandit whose arms yield ``rewards[arm][i]`` by their i-th evaluation."""
    arms, seen = [], {arm: [] for arm in rewards}
    for t in range(evaluations):
        _, arm, _ = turn({a: 1 - np.array(v) for a, v in seen.items()}, t, **settings)
        arms.append(arm)
        for a, values in seen.items():
            best = values[-1] if values else 0.0
            own = rewards[a][min(arms.count(a), len(rewards[a])) - 1]
            values.append(max(best, own) if a == arm else best)
    return arms


def test_upper_bound_by_hand():
    """From 0.5 to 0.62 in the last 3 rounds is 0.04 a pull; 17 pulls are left."""
    assert upper_bound([0.5, 0.6, 0.62], 3, 17) == pytest.approx(1.0)
    assert upper_bound([0.5, 0.6, 0.62], 3, 5) == pytest.approx(0.82)
    assert upper_bound([0.1, 0.5, 0.6, 0.62], 3, 5) == pytest.approx(0.82)
    assert upper_bound([0.5, 0.6, 0.6], 2, 9) == 0.6


def test_eliminations_by_hand():
    """Pulls of 1, slopes over 2, 12 pulls in all.

    After round 2 (6 pulls, 6 left): a 0.9; b grows by 0.1 / 2 a pull, 0.5 + 6 * 0.05 = 0.8 < 0.9;
    c by 0.2 / 2, 0.5 + 6 * 0.1 = 1.1 > 0.9. After round 3 (8 pulls, 4 left): c has stopped.
    """
    rewards = {"a": [0.9], "b": [0.4, 0.5], "c": [0.3, 0.5, 0.5]}
    got = arms_in_turn(rewards, 12, pull=1, alpha=2, budget=12)
    assert "".join(got) == "abcabcacaaaa"
    # With 8 more evaluations, b could still catch up after round 2: 0.5 + 14 * 0.05 = 1.2.
    assert "".join(arms_in_turn(rewards, 9, pull=1, alpha=2, budget=20)) == "abcabcabc"


def test_equal_arms_and_hopeless_ones():
    """Equal arms all stay, also where nothing has succeeded; the best one always stays."""
    assert Counter(arms_in_turn({a: [0.0] for a in "abc"}, 30, pull=1, alpha=2, budget=30)) == {
        "a": 10,
        "b": 10,
        "c": 10,
    }
    lonely = arms_in_turn({"a": [0.0], "b": [1.0]}, 30, pull=2, alpha=2, budget=30)
    assert "".join(lonely) == "aabb" * 2 + "b" * 22


def test_rounds_of_a_bandit():
    """A round is a pull of every survivor; that of the last one has no end."""
    growing = np.linspace(0.5, 0.1, 20)
    numbers = [turn({"a": growing, "b": growing}, t, 2, 2, 20)[0] for t in range(10)]
    assert numbers == [1] * 4 + [2] * 4 + [3] * 2
    losses = {"a": np.full(20, 0.1), "b": np.full(20, 0.5)}
    numbers = [turn(losses, t, 2, 2, 20)[0] for t in range(20)]
    assert numbers == [1] * 4 + [2] * 4 + [3] * 12


@pytest.mark.parametrize(
    "optimizer",
    [
        RisingBandit(pull=1, alpha=2, initial=1, budget=15),
        AdaptiveSuccessiveFiltering(budget=12, rounds=2, initial=2),
    ],
)
def test_what_an_arm_leaves_over_goes_to_other_survivors(optimizer):
    """Dropped arms get more when those of the others are used up."""
    space, left_over, dropped = Few(), 0, 0
    for seed in range(4):
        past = History(space, LABELS)
        for t in range(15):
            suggestion = optimizer.suggest(past, np.random.default_rng([seed, t]))
            new, why = suggestion.configuration, suggestion.why
            arm = new["algorithm"]
            assert new not in past.seen
            assert why["arm"] == arm
            if arm not in why["surviving"]:
                seen = Counter(c["algorithm"] for c in past.seen)
                assert all(seen[name] == {"b": 9}.get(name, 3) for name in why["surviving"])
                dropped += 1
            left_over += why["origin"] == "fallback" and arm in why["surviving"]
            error = {"a": 0.1, "b": 0.1, "c": 0.9}[arm]
            prediction = np.full((len(LABELS), 2), 0.5, dtype=np.float32)
            observation = Observation(new, "ok", error, prediction)
            past = History(space, LABELS, (*past.observations, observation))
    assert left_over and dropped


def test_batches_of_a_bandit_end_with_a_pull():
    """So that algorithms are eliminated by results, as without batches."""
    settings = {"pull": 3, "alpha": 2, "initial": 3, "budget": 40}
    optimizer, alone = RisingBandit(**settings, batch=2), RisingBandit(**settings)
    assert [optimizer.together(n, 99) for n in (0, 3, 5, 6, 8)] == [3, 2, 1, 2, 1]
    past = History(ToySpace(), LABELS)
    while len(past) < 40:
        planned = list(optimizer.plan(past, iter([np.random.default_rng(i) for i in range(9)])))
        assert len(planned) == optimizer.together(len(past), 99)
        for suggestion in planned:
            expected = alone.suggest(past, np.random.default_rng(0)).why
            for key in ("round", "arm", "surviving"):
                assert suggestion.why[key] == expected[key]
            rows = (*past.observations, observe(suggestion.configuration))
            past = History(past.space, LABELS, rows)
    assert len(expected["surviving"]) < 3


def test_the_papers_budget_of_pulls():
    """250 evaluations are 50 pulls of 5; 11 arms are pulled 3 times each before one can go."""
    rewards = {str(i): [i / 20] for i in range(11)}
    arms = arms_in_turn(rewards, 252, pull=5, alpha=3, budget=252)
    pulls = arms[::5]
    assert len(pulls) == 51  # the last one is cut short by the end of the budget
    assert arms[:250] == [arm for arm in pulls[:50] for _ in range(5)]
    assert pulls[:33] == [str(i) for i in range(11)] * 3
    assert set(pulls[33:]) == {"10"}


@pytest.mark.parametrize("failed", [set(), {3, 5}])
def test_a_pull_is_the_bo_of_its_algorithm(failed):
    """Rewards and BO see the evaluations of the arm; failures are rewarded by nothing."""
    space, optimizer = ToySpace(), RisingBandit(pull=2, initial=2, alpha=2, budget=40)
    past = history(space, 14, failed=failed, seed=3)
    accuracy = {a: [] for a in "abc"}
    for o in past.observations:
        for a, values in accuracy.items():
            own = o.status == "ok" and o.configuration["algorithm"] == a
            values.append(max([values[-1] if values else 0.0, 1 - o.error if own else 0.0]))
    number, arm, surviving = turn({a: 1 - np.array(v) for a, v in accuracy.items()}, 14, 2, 2, 40)
    got = optimizer.suggest(past, np.random.default_rng(5))
    assert got.why.pop("surviving") == surviving
    assert (got.why.pop("round"), got.why.pop("arm")) == (number, arm)
    assert got == BayesianOptimization(initial=2).suggest(part(past, arm), np.random.default_rng(5))
    assert got.why["origin"] in ("local", "random")
    assert got.configuration["algorithm"] == arm


def test_losses_above_that_of_the_mean_are_told_apart():
    """In a regression: the lowest losses of a, b and c are 3, 2 and none, as c always fails.

    After two pulls of each, 3 counts as no reward, as does a failure; b is 1 better.
    """
    found = {"a": 3.0, "b": 2.0}
    rows = []
    for configuration in ToySpace().sample(200, np.random.default_rng(0)):
        arm = configuration["algorithm"]
        if len(rows) < 6 and arm == "abc"[len(rows) % 3]:
            prediction = np.zeros((len(LABELS), 1), dtype=np.float32) if arm in found else None
            status = "ok" if arm in found else "crash"
            error = found.get(arm, float("nan"))
            rows.append(Observation(configuration, status, error, prediction))
    past = History(ToySpace(), LABELS.astype(float), tuple(rows), REGRESSION)
    got = RisingBandit(pull=1, alpha=2, initial=2, budget=40).suggest(
        past, np.random.default_rng(0)
    )
    assert got.why["surviving"] == ["b"]
    assert got.configuration["algorithm"] == "b"


def test_a_long_initial_design_is_planned_up_to_the_first_elimination():
    optimizer = RisingBandit(pull=1, alpha=2, initial=9, budget=9)
    past, suggestions = search(optimizer, ToySpace(), 9)
    assert len(suggestions[-1].why["surviving"]) < 3
    done = 0
    while done < 9:
        known = History(past.space, LABELS, past.observations[:done])
        generators = (np.random.default_rng([0, 0, t]) for t in range(done, 9))
        planned = list(optimizer.plan(known, generators))
        assert planned == suggestions[done : done + len(planned)]
        done += len(planned)


def test_equal_shares():
    names = plugins.load("spaces", "divbo")().algorithms
    shares = Counter(names[t % 11] for t in range(250))
    assert [shares[n] for n in names] == [23] * 8 + [22] * 3
    past, suggestions = search(EqualShares(initial=2, candidates=50), ToySpace(), 8)
    assert "".join(o.configuration["algorithm"] for o in past.observations) == "abcabcab"
    assert [s.why["origin"] == "initial" for s in suggestions] == [True] * 6 + [False] * 2
    before = History(past.space, LABELS, past.observations[:7])
    expected = BayesianOptimization(initial=2, candidates=50).suggest(
        part(before, "b"),
        np.random.default_rng([0, 0, 7]),
    )
    assert suggestions[7] == expected


def test_a_part_of_a_space_keeps_its_algorithm():
    space = plugins.load("spaces", "divbo")()
    knn = space.restricted({"algorithm": "knn"})
    rng = np.random.default_rng(0)
    drawn = knn.sample(50, rng)
    assert {c["algorithm"] for c in drawn} == {"knn"}
    assert len({c["preprocessor"] for c in drawn}) > 5
    around = [n for c in drawn for n in knn.neighbours(c, rng)]
    assert {c["algorithm"] for c in around} == {"knn"}
    assert {n["algorithm"] for n in space.neighbours(drawn[0], rng)} != {"knn"}  # as it was
    assert len({c["algorithm"] for c in space.sample(50, rng)}) > 5
    np.testing.assert_array_equal(knn.encode(drawn), space.encode(drawn))
    assert part(history(ToySpace(), 30), "b").space.fixed == {"algorithm": "b"}
    with pytest.raises(UserError, match="one of"):
        space.restricted({"algorithm": "oracle"})


def test_a_space_without_algorithms_is_rejected():
    with pytest.raises(UserError, match="no categorical hyperparameter 'algorithm'"):
        EqualShares().suggest(History(Grid(), LABELS), np.random.default_rng(0))


def made_study(amount: dict, **settings) -> model.Study:
    content = {
        "study": "s",
        "datasets": {"iris": {"sklearn": "iris"}},
        "searches": {"rb": {"optimizer": "rising-bandit", **settings}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"RB": {"search": "rb", "ensemble": "best"}},
        "budget": amount,
    }
    return model.check(content)


def test_the_budget_comes_from_the_study():
    """So another budget of the study is another search; one that is written out stays."""
    assert made_study({"evaluations": 70}).searches["rb"]["budget"] == 70
    assert made_study({"evaluations": 70}, budget=99).searches["rb"]["budget"] == 99
    assert made_study({"seconds": 9.0}, budget=99).searches["rb"]["budget"] == 99
    with pytest.raises(UserError) as error:
        made_study({"seconds": 9.0})
    assert str(error.value).startswith("study: searches.rb.budget: must be written out")
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match="setting 'budget'"):
        RisingBandit().suggest(History(ToySpace(), LABELS), np.random.default_rng(0))
