"""Agnostic Bayes: weights counted in plain loops, votes, ties and the search it belongs to."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ensemble_search.ensembles import _bootstraps
from ensemble_search.ensembles.agnostic_bayes import AgnosticBayes
from ensemble_search.ensembles.base import Pool
from ensemble_search.metrics._ranking import Auc
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.metrics.error import ERROR
from ensemble_search.metrics.log_loss import LogLoss
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.optimizers.esmbo import EnsembleSequentialOptimization
from ensemble_search.problems.classification import Classification
from ensemble_search.study import model as studies
from support.toy_space import ToySpace, history

pytestmark = pytest.mark.slow


def make_pool(n: int, rows: int, n_classes: int, seed: int = 0) -> Pool:
    rng = np.random.default_rng([seed, n, rows, n_classes])
    labels = rng.integers(n_classes, size=rows)
    odds = np.exp(rng.normal(size=(n, rows, n_classes)) + np.eye(n_classes)[labels])
    predictions = Classification().compress(
        (odds / odds.sum(axis=2, keepdims=True)).astype(np.float32)
    )
    errors = np.array([ERROR.loss(labels, p) for p in predictions])
    return Pool(predictions, labels, errors, seed)


def resampled(number: int, rows: int, ratio: float, repeat: int = 0) -> list[int]:
    """The rows of a bootstrap, with duplicates."""
    return np.random.default_rng([repeat, number]).integers(rows, size=round(ratio * rows)).tolist()


@pytest.mark.parametrize(("n_classes", "ratio", "repeat"), [(2, 1.0, 0), (3, 0.5, 4)])
def test_weights_are_shares_of_the_bootstraps(n_classes, ratio, repeat):
    """12 models on 20 rows: counted label by label; many tie."""
    pool = make_pool(12, 20, n_classes, repeat)
    wrong = [(predicted_labels(p) != pool.labels).tolist() for p in pool.predictions]
    weights: Counter[int] = Counter()
    ties = 0
    for number in range(40):
        rows = resampled(number, 20, ratio, repeat)
        found = [sum(model[row] for row in rows) for model in wrong]
        best = [i for i, count in enumerate(found) if count == min(found)]
        ties += len(best) > 1
        for i in best:
            weights[i] += Fraction(1, 40 * len(best))
    assert ties
    members = AgnosticBayes(bootstraps=40, ratio=ratio).build(pool)
    assert members.indices.tolist() == sorted(weights)
    np.testing.assert_allclose(members.weights, [float(weights[i]) for i in members.indices])


def test_by_hand():
    """Model 0 errs on row 0, model 1 on row 1: a bootstrap goes to whose row it has less often."""
    predictions = np.array([[[0.9], [0.9]], [[0.1], [0.2]]], dtype=np.float32)
    pool = Pool(predictions, np.array([0, 1]), np.array([0.5, 0.5]), 0)
    counts = [Counter(resampled(number, 2, 1.0)) for number in range(10)]
    firsts = [1 if c[0] < c[1] else 0 if c[0] > c[1] else 0.5 for c in counts]
    assert {0, 0.5, 1} == set(firsts)
    members = AgnosticBayes(bootstraps=10).build(pool)
    np.testing.assert_allclose(members.weights, [np.mean(firsts), 1 - np.mean(firsts)])
    vote = members.predict(predictions)
    np.testing.assert_allclose(vote[:, 0], [members.weights[0]] * 2)  # model 1 votes for 0 twice


def test_votes_of_three_classes():
    members = AgnosticBayes(bootstraps=30).build(pool := make_pool(6, 30, 3))
    votes = members.predict(pool.predictions)
    assert votes.shape == (30, 3)
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    for row in range(30):
        expected = [0.0, 0.0, 0.0]
        for i, weight in zip(members.indices, members.weights, strict=True):
            expected[int(pool.predictions[i, row].argmax())] += weight
        np.testing.assert_allclose(votes[row], expected)


@pytest.mark.parametrize("metric", [LogLoss(), Auc(), Auc().with_weights(np.arange(1.0, 41))])
def test_losses_by_other_metrics_are_those_of_the_resampled_rows(metric):
    """With and without a loss of each sample."""
    pool = make_pool(5, 40, 2)
    counts = _bootstraps.counts(range(4), 40, 0.8, 0)
    losses = _bootstraps.losses(counts, pool.labels, pool.predictions, metric)
    for number in range(4):
        rows = resampled(number, 40, 0.8)
        for model, found in zip(pool.predictions, losses[:, number], strict=True):
            expected = metric.on(np.array(rows)).loss(pool.labels[rows], model[rows])
            assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("failed", [set(), {4, 13}])
def test_esmbo_learns_the_losses_on_the_bootstrap_in_turn(failed, monkeypatch):
    """BO with these losses instead of its errors suggests the same."""
    past = replace(history(ToySpace(), 20, failed=failed), repeat=3)
    optimizer = EnsembleSequentialOptimization(interleave=0, bootstraps=7, candidates=200)
    targets = optimizer.targets(past)
    rows = resampled(20 % 7, len(past.labels), 1.0, 3)
    expected = [ERROR.loss(past.labels[rows], p[rows]) for p in past.predictions]
    np.testing.assert_allclose(targets[past.ok], expected, rtol=1e-6)
    assert all(targets[i] == targets.max() for i in failed)
    got = optimizer.suggest(past, np.random.default_rng(1))
    plain = BayesianOptimization(interleave=0, candidates=200)
    assert got != plain.suggest(past, np.random.default_rng(1))
    monkeypatch.setitem(past.__dict__, "errors", targets)  # the cached property
    assert got == plain.suggest(past, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("evaluations", "expected"), [(150, 75), (41, 20), (1, 1), (30_000, 10_000), (None, 75)]
)
def test_by_default_there_are_half_as_many_bootstraps_as_evaluations(evaluations, expected):
    assert AgnosticBayes().planned(evaluations).bootstraps == expected
    assert AgnosticBayes(bootstraps=9).planned(evaluations).bootstraps == 9
    assert EnsembleSequentialOptimization().planned(evaluations).bootstraps == expected
    assert EnsembleSequentialOptimization(bootstraps=9).planned(evaluations).bootstraps == 9
    budget = {"evaluations": evaluations} if evaluations else {"seconds": 60.0}
    ensembles = {"b": {"type": "best"}, "a": {"type": "agnostic-bayes"}}
    methods = {"RS": {"search": "r", "ensemble": "a"}}
    study = studies.check(
        {
            "study": "s",
            "datasets": {"wine": {"sklearn": "wine"}},
            "budget": budget,
            "searches": {"r": {"optimizer": "random"}},
            "ensembles": ensembles,
            "methods": methods,
        }
    )
    assert study.ensembles["a"]["bootstraps"] == expected
