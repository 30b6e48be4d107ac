"""Bags of training rows, and the best pipeline refitted on them."""

from itertools import pairwise

import numpy as np
import pytest

from ensemble_search.data.subsets import diverse_bags, fourier_features
from ensemble_search.dpp.low_rank import swap_features
from ensemble_search.ensembles.base import Members
from ensemble_search.ensembles.diverse_bagging import DiverseBagging
from ensemble_search.results import readers
from ensemble_search.runtime.errors import UserError
from ensemble_search.scoring import ensemble_scores
from ensemble_search.study import model
from support import subsets
from support.hostile_refits import EVALUATOR, LIMITS, Here, enabled, hostile
from support.hostile_space import HostileSpace
from support.searches_of_refits import CONFIGURATIONS, ERRORS, make

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def instant_learners():
    with hostile():
        yield


@pytest.fixture
def evaluated(monkeypatch):
    monkeypatch.setitem(EVALUATOR, "make_evaluator", Here)
    monkeypatch.setattr(Here, "asked", [])
    return Here.asked


def data(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(2, size=n)


@pytest.mark.parametrize("by", ["k-dpp", "separate", "markov", "uniform"])
def test_bags(by):
    X, labels = data()
    bags = diverse_bags(X, labels, 4, 0.1, by, 0)
    assert [len(set(bag.tolist())) for bag in bags] == [15] * 4
    again = diverse_bags(X, labels, 4, 0.1, by, 0)
    assert all(np.array_equal(*pair) for pair in zip(bags, again, strict=True))
    assert not np.array_equal(bags[0], diverse_bags(X, labels, 4, 0.1, by, 1)[0])
    if by in ("k-dpp", "separate"):
        assert len(set(np.concatenate(bags).tolist())) == 60
    if by == "markov":
        assert all(not set(a) & set(b) for a, b in pairwise(bags))


def test_the_union_of_the_bags_of_one_draw_is_diverse():
    X, labels = data()
    features = fourier_features(X, np.random.default_rng(0))

    def log_det(rows):
        part = features[rows] * 1.0
        same = labels[rows][:, None] == labels[rows]
        return np.linalg.slogdet(0.1 * np.eye(len(rows)) + 0.9 * same * (part @ part.T))[1]

    def mean(by):
        unions = (np.concatenate(diverse_bags(X, labels, 3, 0.1, by, s)) for s in range(6))
        return np.mean([log_det(np.unique(rows)[:40]) for rows in unions])

    assert mean("k-dpp") > mean("uniform") + 2


def test_the_law_given_other_items():
    """Of the chain that Markov bags are drawn with, against all subsets."""
    rng = np.random.default_rng(0)
    features = np.random.default_rng(4).normal(size=(7, 3))
    kernel = 0.1 * np.eye(7) + 0.9 * features @ features.T
    given = np.array([1, 5])
    whole = subsets.law(kernel, 4)
    law = {tuple(i for i in a if i not in given): p for a, p in whole.items() if {1, 5} <= {*a}}
    law = {a: p / sum(law.values()) for a, p in law.items()}
    sample = lambda: swap_features(features, 2, 0.9, rng, None, 30, given).items  # noqa: E731
    assert subsets.distance(sample, law, 300) < 1
    assert subsets.distance(sample, dict.fromkeys(law, 1 / len(law)), 300) > 1


def test_the_best_pipeline_is_fitted_on_every_bag(tmp_path, evaluated):
    """By hand: the mean over the models of the bags; only what is ever the best is fitted."""
    made = make(tmp_path)
    inputs, pool = made[2], enabled(tmp_path / "kept", made)
    settings = {"bags": 3, "share": 0.2}
    trace = DiverseBagging(**settings).build_prefixes(pool)
    best = [0, 1, 1, 3, 3]
    assert [m.indices.tolist() for m in trace] == [[i] for i in best]
    assert trace[2] is trace[1] and trace[4] is trace[3]
    # Configuration 3 is the first one again, which is not fitted twice.
    assert evaluated == [CONFIGURATIONS[i] for _ in range(3) for i in (0, 1)]
    bags = diverse_bags(inputs.X_train, inputs.y_train, 3, 0.2, "k-dpp", pool.seed)
    learner = HostileSpace().pipeline(CONFIGURATIONS[1], inputs.categorical, 1)
    means = [0, 0]
    for bag in bags:
        rows = np.sort(bag)
        learner.fit(inputs.X_train[rows], inputs.y_train[rows])
        for part, X in enumerate((inputs.X_validation, inputs.X_test)):
            means[part] = means[part] + learner.predict_proba(X) / 3
    unused = np.zeros((5, 1, 3))
    for found, expected in zip(trace[2].predict_both(unused, unused), means, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert trace[2].total_seconds(np.ones(5)) == pytest.approx(trace[2].refitted.predict_seconds)
    assert ERRORS[3] == min(ERRORS)


def test_a_pipeline_that_cannot_be_refitted_stands_alone(tmp_path, evaluated):
    bad = {"algorithm": "euclid", "sharpness": 1.0, "behaviour": "raises"}
    made = make(tmp_path, configurations=[CONFIGURATIONS[0], bad])
    trace = DiverseBagging(bags=2).build_prefixes(enabled(tmp_path / "kept", made))
    assert type(trace[1]) is Members and trace[1].indices.tolist() == [1]
    assert trace[1].total_seconds(np.array([1.0, 7.0])) == 7.0


def test_the_manifest_names_what_could_not_be_refitted(tmp_path, evaluated):
    bad = {"algorithm": "euclid", "sharpness": 1.0, "behaviour": "raises"}
    for last, expected in ((bad, [2]), (CONFIGURATIONS[1], [])):
        folder = tmp_path / str(len(expected))
        folder.mkdir()
        made = make(folder, configurations=[CONFIGURATIONS[0], last])
        given = {"space": "divbo-small", "limits": LIMITS, "threads": 1, "folder": tmp_path / "f"}
        settings = {"type": "diverse-bagging", "bags": 2}
        output = tmp_path / "out"
        ensemble_scores.write(*made[:2], settings, 4, output, given | EVALUATOR)
        assert readers.ensemble(output)["failed_refits"] == expected
        assert readers.ensemble(output)["iterations_with_failed_refits"] == len(expected)
    ensemble_scores.write(*made[:2], {"type": "best"}, 4, output)
    assert "failed_refits" not in readers.ensemble(output)


def test_more_bags_than_rows():
    X, labels = data(9)
    assert len(diverse_bags(X, labels, 9, 0.01, "separate", 0)) == 9
    assert len(diverse_bags(*data(100), 1, 0.29, "uniform", 0)[0]) == 29
    with pytest.raises(UserError, match=r"ensemble.share: two bags in a row have 2 different rows"):
        diverse_bags(np.ones((1, 2)), np.array([0]), 2, 0.3, "markov", 0)
    for by in ("k-dpp", "separate"):
        message = "ensemble.bags: 10 disjoint bags need as many training rows, and there are 9; "
        with pytest.raises(UserError, match=message):
            diverse_bags(X, labels, 10, 0.01, by, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bags": 5, "share": 0.3}, "5 disjoint bags with a share of 0.3 each are more than all"),
        ({"share": 0.6, "by": "markov"}, "share: at most 0.5 with by: markov"),
        ({"bags": 1}, r"bags: input should be greater than or equal to 2"),
        ({"split": {"folds": 3}}, r"type: 'diverse-bagging' needs validation rows of their own"),
    ],
)
def test_bad_settings(settings, message):
    split = settings.pop("split", {})
    content = {
        "study": "s",
        "split": split,
        "datasets": {"iris": {"sklearn": "iris"}},
        "searches": {"a": {"optimizer": "random"}},
        "ensembles": {"b": {"type": "diverse-bagging", **settings}},
        "methods": {"A": {"search": "a", "ensemble": "b"}},
    }
    with pytest.raises(UserError, match=message) as caught:
        model.check(content)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("study: ensembles.b")
