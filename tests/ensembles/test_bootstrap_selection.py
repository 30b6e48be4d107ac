"""Selection on bootstraps: plain loops, and its tie with agnostic Bayes."""

from dataclasses import replace

import numpy as np
import pytest

from ensemble_search.ensembles.agnostic_bayes import AgnosticBayes
from ensemble_search.ensembles.base import Pool
from ensemble_search.ensembles.bootstrap_selection import BootstrapSelection
from ensemble_search.ensembles.selection import Selection
from ensemble_search.metrics.brier import Brier
from ensemble_search.problems.classification import Classification


def make_pool(n: int, rows: int, n_classes: int, weighted: bool = False) -> Pool:
    rng = np.random.default_rng([n, rows, n_classes])
    labels = rng.integers(n_classes, size=rows)
    odds = np.exp(rng.normal(size=(n, rows, n_classes)) + np.eye(n_classes)[labels])
    metric = Brier().with_weights(rng.exponential(size=rows)) if weighted else Brier()
    problem = Classification(metric)
    predictions = problem.compress((odds / odds.sum(axis=2, keepdims=True)).astype(np.float32))
    errors = np.array([problem.metric.loss(labels, p) for p in predictions])
    return Pool(predictions, labels, errors, 4, problem)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_shares_of_the_selections(n_classes, weighted):
    """Plain loops over bootstraps, drawn as documented, rounds and models; losses do not tie."""
    pool = make_pool(9, 30, n_classes, weighted)
    times = np.zeros(9)
    for number in range(6):
        rows = np.random.default_rng([pool.seed, number]).integers(30, size=30)
        path: list[int] = []
        for _ in range(3):
            losses = [
                pool.problem.metric.on(rows).loss(
                    pool.labels[rows], pool.predictions[[*path, i]][:, rows].mean(axis=0)
                )
                for i in range(9)
            ]
            path.append(int(np.argmin(losses)))
        for i in path:
            times[i] += 1
    members = BootstrapSelection(size=3, bootstraps=6).build(pool)
    assert members.indices.tolist() == np.flatnonzero(times).tolist()
    np.testing.assert_allclose(members.weights, times[times > 0] / 18)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_round_is_agnostic_bayes(weighted):
    pool = make_pool(12, 40, 3, weighted)
    one = BootstrapSelection(size=1, bootstraps=20).build_prefixes(pool)
    other = AgnosticBayes(bootstraps=20).build_prefixes(pool)
    for a, b in zip(one, other, strict=True):
        assert a.indices.tolist() == b.indices.tolist()
        np.testing.assert_allclose(a.weights, b.weights)


def test_it_fits_less_noise_than_selection_on_all_rows():
    """Of models that guess, selection finds some that are right together; bootstraps fewer."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=60)
    predictions = rng.random((100, 60, 1)).astype(np.float32)
    errors = np.array([((p[:, 0] > 0.5) != labels).mean() for p in predictions])
    pool = Pool(predictions, labels, errors, 0)

    def wrong(members) -> float:
        return ((members.predict(predictions)[:, 0] > 0.5) != labels).mean()

    plain = Selection(size=25).build(pool)
    fitted = BootstrapSelection(bootstraps=10, size=5).build(pool)
    assert wrong(plain) < wrong(fitted) < errors.min()
    assert len(fitted.indices) > len(plain.indices)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_ensemble_is_the_last_of_all_prefixes(n_classes):
    pool = make_pool(12, 30, n_classes)  # few rows: most rounds are ties
    for ensemble in (BootstrapSelection(bootstraps=7), BootstrapSelection(metric="brier")):
        assert ensemble.build(pool).same(ensemble.build_prefixes(pool)[-1])
    assert BootstrapSelection().build(replace(pool, errors=np.full(12, np.nan))) is None
