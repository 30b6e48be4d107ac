"""BOASF: shares, bounds and probabilities by hand, the filter's draws, and searches as a whole."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from ConfigSpace import ConfigurationSpace, Float

from ensemble_search.optimizers._model_based.per_algorithm import part
from ensemble_search.optimizers.base import History, Observation
from ensemble_search.optimizers.boasf import (
    AdaptiveSuccessiveFiltering,
    allocate,
    softmax,
    survival,
)
from ensemble_search.optimizers.tpe import TreeParzenEstimator
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._table import TableSpace
from ensemble_search.study import model
from support.toy_space import LABELS, SAMPLES, ToySpace, _Toy, from_json, search

pytestmark = pytest.mark.slow

PREDICTION = np.full((SAMPLES, 2), 0.5, dtype=np.float32)
CONFIGURATIONS = {
    a: ToySpace().sample(40, np.random.default_rng(0), {"algorithm": a}) for a in "abc"
}
NO_REWARDS = np.empty(0)


def evaluated(arms: str, errors) -> History:
    """Evaluations of new configurations; None is the error of a failure."""
    used, rows = Counter(), []
    for arm, error in zip(arms, errors, strict=True):
        configuration = CONFIGURATIONS[arm][used[arm]]
        used[arm] += 1
        if error is None:
            rows.append(Observation(configuration, "crash", float("nan"), None))
        else:
            rows.append(Observation(configuration, "ok", error, PREDICTION))
    return History(ToySpace(), LABELS, tuple(rows))


def turn(optimizer, past) -> tuple[int, str, dict[str, int]]:
    parts = optimizer.parts(past.space)
    number, arm, shares = optimizer.turn(past, list(parts.values()))
    return number, list(parts)[arm], {list(parts)[i]: n for i, n in shares.items()}


def test_shares_by_largest_remainder():
    assert allocate(np.ones(3), 250).tolist() == [84, 83, 83]
    assert allocate(np.ones(16), 84).tolist() == [6] * 4 + [5] * 12
    assert allocate(np.array([1.0, 2.0, 1.0]), 6).tolist() == [2, 3, 1]  # 1.5, 3, 1.5
    assert allocate(np.array([0.1, 0.3, 0.6]), 7).tolist() == [1, 2, 4]  # 0.7, 2.1, 4.2
    assert allocate(np.ones(7), 84).tolist() == [12] * 7
    spans = AdaptiveSuccessiveFiltering(budget=250).spans()
    assert [next(spans) for _ in range(4)] == [(0, 84), (84, 167), (167, 250), (250, 333)]


def test_bounds_probabilities_and_shares_by_hand():
    """Means 0.85, 0.7, 0.5 with deviations 0.05, 0.1, 0; two rewards each."""
    rewards = [np.array([0.8, 0.9]), np.array([0.6, 0.8]), np.array([0.5, 0.5]), NO_REWARDS]
    optimizer = AdaptiveSuccessiveFiltering()
    bounds = np.array([optimizer.bound(r) for r in rewards])
    np.testing.assert_allclose(bounds, [0.9207107, 0.8414214, 0.5, -np.inf])
    np.testing.assert_allclose(survival(bounds), [1, 0.811535, 0, 0], atol=1e-6)
    weights = softmax(bounds[:2])
    np.testing.assert_allclose(weights / weights.sum(), [0.519812, 0.480188], atol=1e-6)
    assert allocate(weights, 83).tolist() == [43, 40]  # 43.14 and 39.86
    assert softmax(np.full(2, -np.inf)).tolist() == [1, 1]
    greedy = AdaptiveSuccessiveFiltering(exploration=0.0)
    np.testing.assert_allclose([greedy.bound(r) for r in rewards], [0.85, 0.7, 0.5, -np.inf])


def test_equal_arms_all_survive_and_so_do_arms_that_all_fail():
    assert survival(np.array([0.7, 0.7, -np.inf])).tolist() == [1, 1, 0]
    assert survival(np.full(3, -np.inf)).tolist() == [1, 1, 1]
    optimizer = AdaptiveSuccessiveFiltering(budget=18)
    expected = {"a": 2, "b": 2, "c": 2}
    assert turn(optimizer, evaluated("aabbcc", [0.25] * 6)) == (2, "a", expected)
    assert turn(optimizer, evaluated("aabbcc", [None] * 6)) == (2, "a", expected)


def test_the_turns_of_a_search_by_hand():
    """Bounds after round 1 of 8: a 0.9207, b 0.8414 or gone, c the lowest and gone."""
    optimizer = AdaptiveSuccessiveFiltering(budget=24)
    errors = [0.2, 0.1, 0.15, 0.4, 0.2, 0.3, 0.5, 0.5]
    arms = "aaabbbcc"
    assert [turn(optimizer, evaluated(arms[:n], errors[:n]))[:2] for n in range(8)] == [
        (1, arm) for arm in arms
    ]
    assert turn(optimizer, evaluated("", []))[2] == {"a": 3, "b": 3, "c": 2}
    number, arm, shares = turn(optimizer, evaluated(arms, errors))
    assert (number, arm) == (2, "a")
    assert shares in ({"a": 4, "b": 4}, {"a": 8})


def test_failures_are_left_out_and_arms_without_a_success_go():
    """c has failed: with a reward of 0 it would be the worst, and b would survive half the time."""
    optimizer = AdaptiveSuccessiveFiltering(budget=24)
    for error in np.linspace(0.4, 0.41, 20):
        past = evaluated("aaabbbcc", [0.2, 0.1, None, error, 0.5, 0.45, None, None])
        assert turn(optimizer, past) == (2, "a", {"a": 8})


def test_the_rewards_of_all_rounds_count():
    """a and b are equal after round 1; in round 2 a is better, but b has more of round 1."""
    optimizer = AdaptiveSuccessiveFiltering(budget=24, exploration=0.0)
    first = [0.15, None, None, 0.15, 0.15, 0.15, 0.5, 0.5]
    assert turn(optimizer, evaluated("aaabbbcc", first)) == (2, "a", {"a": 4, "b": 4})
    second = [0.25] * 4 + [0.27] * 4
    past = evaluated("aaabbbccaaaabbbb", first + second)
    assert turn(optimizer, past) == (3, "b", {"b": 8})  # 0.2186 against 0.23


def test_turns_by_seconds_by_hand():
    """24 s in 3 rounds: 8/3 s an arm at first, and two evaluations in any case."""
    optimizer = AdaptiveSuccessiveFiltering(seconds=24.0, initial=2)
    arms = "aabbbcc"
    costs = [1.0, 2.0, 0.5, 0.5, 2.0, 4.0, 1.0]  # 3 s, 3 s, 5 s

    def past(extra="", more=(), error=0.25):
        whole = evaluated(arms + extra, [error] * (7 + len(extra)))
        timed = zip(whole.observations, [*costs, *more], strict=True)
        return replace(whole, observations=tuple(replace(o, seconds=s) for o, s in timed))

    for n in range(7):
        begun = past()
        begun = replace(begun, observations=begun.observations[:n])
        assert turn(optimizer, begun) == (1, arms[n], dict.fromkeys("abc", pytest.approx(8 / 3)))
    # Equal arms all survive, and divide half of the 13 s that are left.
    assert turn(optimizer, past()) == (2, "a", dict.fromkeys("abc", pytest.approx(13 / 6)))
    assert turn(optimizer, past("a", [2.0]))[:2] == (2, "a")
    assert turn(optimizer, past("a", [2.2]))[:2] == (2, "b")
    # 9 s are left for the last round, or nothing: then a third of the 24 s, as in later rounds.
    assert turn(optimizer, past("abc", [2.2, 2.2, 2.6])) == (3, "a", dict.fromkeys("abc", 2.0))
    late = dict.fromkeys("abc", pytest.approx(8 / 3))
    assert turn(optimizer, past("abc", [2.2, 2.2, 50.0])) == (3, "a", late)
    assert turn(optimizer, past("abcabc", [2.2, 2.2, 2.6, 3, 3, 3])) == (4, "a", late)
    assert optimizer.needs_results(0)
    suggestion = optimizer.suggest(past("a", [2.2]), np.random.default_rng(0))
    assert (suggestion.configuration["algorithm"], suggestion.why["arm"]) == ("b", "b")


def test_the_filter_has_the_probabilities_of_the_bounds():
    """Other errors are other draws: 1500 searches whose errors differ in the sixth digit."""
    optimizer, rng = AdaptiveSuccessiveFiltering(budget=18), np.random.default_rng(0)
    errors = np.array([0.2, 0.1, 0.4, 0.2, 0.5, 0.5])
    kept = Counter()
    for _ in range(1500):
        past = evaluated("aabbcc", (errors + 1e-6 * rng.random(6)).tolist())
        kept.update(turn(optimizer, past)[2].keys())
    assert kept["a"] == 1500
    assert kept["c"] == 0
    p = 0.811535
    assert abs(kept["b"] - 1500 * p) < 3 * np.sqrt(1500 * p * (1 - p))


def test_a_filter_is_the_same_after_later_results():
    """A failure of round 1, and a worse success in round 2, change nothing of round 1."""
    optimizer = AdaptiveSuccessiveFiltering(budget=18)
    for seed in range(30):
        errors = np.random.default_rng(seed).random(6).tolist()
        past = evaluated("aabbcc", [*errors[:5], None])
        _, arm, shares = turn(optimizer, past)
        later = evaluated("aabbcc" + arm, [*errors[:5], None, 0.999])
        assert turn(optimizer, later)[2] == shares


def test_a_search_spends_its_shares_with_one_tpe_an_arm():
    optimizer = AdaptiveSuccessiveFiltering(budget=40, initial=4, rounds=4)
    past, suggestions = search(optimizer, ToySpace(), 40, seed=3)
    spent, shares = Counter(), {}
    alive = set("abc")
    for t, (o, suggestion) in enumerate(zip(past.observations, suggestions, strict=True)):
        why = suggestion.why
        assert why["round"] == t // 10 + 1
        assert why["arm"] == o.configuration["algorithm"]
        assert list(why["shares"]) == why["surviving"]
        assert set(why["surviving"]) <= alive
        alive = set(why["surviving"])
        spent[why["round"], why["arm"]] += 1
        shares.setdefault(why["round"], why["shares"])
        assert shares[why["round"]] == why["shares"]
    for number, share in shares.items():
        assert {arm: spent[number, arm] for arm in share} == share
        assert sum(share.values()) == 10
    assert shares[1] == {"a": 4, "b": 3, "c": 3}
    assert len(shares[4]) < 3
    before = History(past.space, LABELS, past.observations[:35])
    arm = suggestions[35].why["arm"]
    generators = [np.random.default_rng([3, 0, 35]) for _ in range(2)]
    expected = TreeParzenEstimator(initial=4).suggest(part(before, arm), generators[0])
    assert suggestions[35].configuration == expected.configuration
    assert suggestions[35].why["origin"] == "parzen"
    assert optimizer.suggest(from_json(before, ToySpace()), generators[1]) == suggestions[35]


def test_a_plan_ends_with_its_round():
    past, _ = search(AdaptiveSuccessiveFiltering(budget=30, initial=2), ToySpace(), 8)
    optimizer = AdaptiveSuccessiveFiltering(budget=30, initial=2, batch=5)
    planned = list(optimizer.plan(past, iter([np.random.default_rng(0)])))
    assert [s.why["round"] for s in planned] == [1, 1]
    eager = AdaptiveSuccessiveFiltering(budget=30, initial=20)
    first = list(eager.plan(History(ToySpace(), LABELS), map(np.random.default_rng, range(99))))
    assert len(first) == 10


class Plane(_Toy):
    """Two numbers."""

    has_algorithms = False

    def define(self):
        space = ConfigurationSpace()
        space.add([Float("x", (0.0, 1.0)), Float("y", (1.0, 100.0), log=True)])
        return space


def test_pieces_compete_in_a_space_of_one_learner():
    """The best quarter has small x and large y; its own TPE searches it."""
    optimizer = AdaptiveSuccessiveFiltering(budget=60, initial=3, arms={"pieces": 2})
    optimizer.check_space(Plane())
    past, suggestions = History(Plane(), LABELS), []
    for t in range(60):
        s = optimizer.suggest(past, np.random.default_rng([1, t]))
        c = s.configuration
        error = 0.2 + 0.4 * c["x"] + 0.3 * (c["y"] < 50.5)
        rows = (*past.observations, Observation(c, "ok", error, PREDICTION))
        past = History(past.space, LABELS, rows)
        suggestions.append(s)
        x, y = (1 + int(c["x"] >= 0.5), 1 + int(c["y"] >= 50.5))
        assert s.why["arm"] == f"x {x}, y {y}"
    arms = Counter(s.why["arm"] for s in suggestions)
    assert suggestions[0].why["shares"] == {f"x {x}, y {y}": 5 for x in (1, 2) for y in (1, 2)}
    assert "x 1, y 2" in suggestions[-1].why["surviving"]
    assert max(arms, key=arms.get) == "x 1, y 2"
    assert Counter(s.why["origin"] for s in suggestions) == {"initial": 12, "parzen": 48}


def test_an_arm_without_a_configuration_in_the_table_is_named():
    whole, rng = Plane(), np.random.default_rng(0)
    space = TableSpace(whole, [c for c in whole.sample(40, rng) if c["x"] < 0.5 or c["y"] < 50.5])
    optimizer = AdaptiveSuccessiveFiltering(budget=8, rounds=1, arms={"pieces": 2})
    past = History(space, LABELS)
    with pytest.raises(UserError, match=r"^arm 'x 2, y 2': the table has no configuration in this"):
        while True:
            found = optimizer.suggest(past, rng).configuration
            rows = (*past.observations, Observation(found, "ok", 0.1, PREDICTION))
            past = History(space, LABELS, rows)


def made_study(
    amount: dict, space: str = "divbo", *, data: str = "iris", metric: str = "error", **settings
) -> model.Study:
    content = {
        "study": "s",
        "datasets": {data: {"sklearn": data}},
        "metric": metric,
        "searches": {"s": {"optimizer": "boasf", **settings}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"S": {"search": "s", "ensemble": "best"}},
        "budget": amount,
        "space": space,
    }
    return model.check(content)


@pytest.mark.parametrize(
    ("space", "settings", "message"),
    [
        ("divbo", {"batch": 2}, "batch: must be 1, is 2"),
        ("mlp", {"arms": {"pieces": 10}}, "arms: 100000 are too many to share seconds"),
    ],
)
def test_mistakes_with_seconds(space, settings, message):
    with pytest.raises(UserError, match=rf"^study: searches\.s\.{message}"):
        made_study({"seconds": 9.0}, space, **settings)


@pytest.mark.parametrize(
    ("evaluations", "space", "settings", "message"),
    [
        (65, "divbo", {}, "budget: 65 evaluations .* 11 arms in 3 rounds; .* is 66"),
        (23, "svm", {"arms": {"pieces": 2}}, "budget: 23 evaluations .* 4 arms .* is 24"),
        (99, "svm", {}, "optimizer: .* single learner"),
        (99, "random-forest", {"arms": {"pieces": 3}}, "arms: 3 pieces of 'bootstrap'"),
        (99, "divbo", {"arms": {"pieces": 2}}, "arms: pieces need a space without conditions"),
        (99, "svm", {"arms": {"pieces": 1}}, "arms: must be 'algorithm', or"),
        (99, "divbo", {"arms": "rescaler"}, "arms: must be 'algorithm', or"),
        (99, "divbo", {"rounds": 0}, "rounds: "),
        (99, "divbo", {"exploration": -0.5}, "exploration: "),
        (99, "divbo", {"temperature": 1.0}, "temperature: unknown key"),
        (99, "divbo", {"design": "k-dpp"}, "design: must be random"),
        (99, "divbo", {"algorithm": "knn"}, "algorithm: must be left out"),
        (99, "divbo", {"budget": 99, "seconds": 9.0}, " takes 'budget' or 'seconds', not both"),
        (99, "divbo", {"seconds": 0.0}, "seconds: "),
    ],
)
def test_mistakes_are_found_when_the_study_is_read(evaluations, space, settings, message):
    amount = {"evaluations": evaluations}
    with pytest.raises(UserError, match=rf"^study: searches\.s(\.|:){message}") as error:
        made_study(amount, space, **settings)
    assert "\n" not in str(error.value)


def test_a_budget_in_cpu_seconds_needs_one_of_the_search():
    with pytest.raises(UserError, match=r"^study: searches\.s\.budget: must be written out"):
        made_study({"cpu_seconds": 9.0})
    assert made_study({"cpu_seconds": 9.0}, budget=99).searches["s"]["budget"] == 99


def test_arms_are_those_of_the_task():
    """A regression has ten algorithms."""
    regression = {"data": "diabetes", "metric": "squared-error"}
    assert made_study({"evaluations": 60}, **regression).searches["s"]["budget"] == 60
    with pytest.raises(UserError, match="10 arms in 3 rounds; the smallest budget is 60"):
        made_study({"evaluations": 59}, **regression)


def test_the_budget_comes_from_the_study():
    assert made_study({"evaluations": 66}).searches["s"]["budget"] == 66
    assert made_study({"seconds": 9.0}, budget=70).searches["s"]["budget"] == 70
    # The random evaluations are an arm's, so that they may be more than there are in all.
    assert made_study({"evaluations": 66}, initial=100).searches["s"]["budget"] == 66
    divided = made_study({"seconds": 9.0}).searches["s"]
    assert (divided["budget"], divided["seconds"]) == (None, 9.0)
    assert made_study({"evaluations": 24}, "svm", arms={"pieces": 2}).searches["s"]["budget"] == 24
    past = History(ToySpace(), LABELS)
    with pytest.raises(UserError, match="setting 'budget'"):
        AdaptiveSuccessiveFiltering().suggest(past, np.random.default_rng(0))
    with pytest.raises(UserError, match="too few for 3 arms"):
        AdaptiveSuccessiveFiltering(budget=17).suggest(past, np.random.default_rng(0))
