"""The contract of every file in ``ensembles/``; new files are tested automatically."""

from dataclasses import replace

import numpy as np
import pytest

from ensemble_search.ensembles.base import Pool, Refit
from ensemble_search.metrics.squared_error import SQUARED_ERROR
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.problems.regression import REGRESSION
from ensemble_search.runtime import plugins
from ensemble_search.scoring import ensemble_scores

pytestmark = pytest.mark.slow

NAMES = plugins.available("ensembles")
FAILED = [0, 1, 7, 8, 20, 29]


def make_pool(n_classes, n=30, n_samples=80, seed=0):
    """Models of mixed quality in coarse steps (so that they tie), a few of which failed.

    A regression, if there are 0 classes.
    """
    rng = np.random.default_rng([seed, n_classes])
    if not n_classes:
        labels = rng.normal(size=n_samples)
        noise = rng.integers(1, 5, (n, 1)) * rng.integers(-2, 3, (n, n_samples)) / 4
        predictions = (labels + noise).astype(np.float32)[:, :, None]
        errors = np.array([SQUARED_ERROR.loss(labels, p) for p in predictions])
        return finished(predictions, labels, errors, seed, REGRESSION)
    labels = rng.integers(0, n_classes, n_samples)
    votes = rng.integers(0, 5, (n, n_samples, n_classes)) + 1
    votes = votes + rng.integers(0, 5, (n, 1, 1)) * np.eye(n_classes, dtype=int)[labels]
    predictions = (votes / votes.sum(axis=2, keepdims=True)).astype(np.float32)
    errors = (predictions.argmax(axis=2) != labels).mean(axis=1)
    if n_classes == 2:
        predictions = predictions[:, :, 1:]
    return finished(predictions, labels, errors, seed)


def finished(predictions, labels, errors, seed, problem=CLASSIFICATION):
    """Let a few fail."""
    failed = [i for i in FAILED if i < len(errors)]
    predictions[failed] = errors[failed] = np.nan
    for array in (predictions, labels, errors):
        array.flags.writeable = False
    return pool_of(predictions, labels, errors, seed, problem)


def pool_of(predictions, labels, errors, seed, problem=CLASSIFICATION):
    """A pool with fits for ensembles that need them; they depend on the evaluation alone."""

    def refit(indices, folds):
        assert len(set(indices)) == len(indices) and not np.isnan(errors[indices]).any()
        return [refit_of(i) for i in indices]

    def refit_of(i):
        if round(1000 * errors[i]) % 7 == 0:
            return None  # some of them fail
        test = np.resize(predictions[i], (50, predictions.shape[2]))
        return Refit(predictions[i][::-1], predictions[i], test, predict_seconds=2.5)

    pool = Pool(predictions, labels, errors, seed, problem)
    rows = np.random.default_rng(0).normal(size=(len(labels), 3))
    return replace(pool, refit=refit, train_inputs=rows, train_labels=labels[::-1])


@pytest.fixture(params=NAMES)
def ensemble(request):
    return plugins.load("ensembles", request.param)()


@pytest.fixture(params=[2, 3, 0])
def pool(request):
    return make_pool(request.param)


@pytest.fixture(scope="module")
def built():
    return {}


@pytest.fixture
def trace(ensemble, pool, built):
    """What it makes of the pool, made once for all tests."""
    key = (type(ensemble), pool.problem.task, pool.predictions.shape)
    if key not in built:
        built[key] = ensemble.build_prefixes(pool)
    return built[key]


def plain(trace, rename=None):
    rename = np.arange(1000) if rename is None else rename
    return [m and (rename[m.indices].tolist(), m.weights.tolist()) for m in trace]


def test_the_ensembles_of_the_paper_are_there():
    assert {"best", "selection", "bagging", "stacking"} <= set(NAMES)


def test_pure_and_deterministic(ensemble, pool, trace):
    """The pool is read-only, so a write into it would raise."""
    arrays = (array.copy() for array in (pool.predictions, pool.labels, pool.errors))
    copy = pool_of(*arrays, pool.seed, pool.problem)
    first = plain(trace)
    assert plain(ensemble.build_prefixes(copy)) == first
    assert plain(ensemble.build_prefixes(pool)) == first


def test_valid_members(pool, trace):
    assert len(trace) == len(pool.errors)
    for t, members in enumerate(trace):
        ok = np.flatnonzero(~np.isnan(pool.errors[: t + 1]))
        if not len(ok):
            assert members is None
            continue
        assert members.indices.dtype.kind == "i" and members.weights.dtype.kind == "f"
        assert len(members.indices) == len(members.weights) >= 1
        assert (np.diff(members.indices) > 0).all()
        assert set(members.indices) <= set(ok)
        assert (members.weights > 0).all()
        assert members.weights.sum() == pytest.approx(1, abs=1e-12)


def test_a_longer_pool_begins_with_the_trace_of_the_shorter(ensemble, pool, trace):
    whole = plain(trace)
    for n in (1, 2, 3, 9, 15, 29):
        prefix = pool_of(
            pool.predictions[:n], pool.labels, pool.errors[:n], pool.seed, pool.problem
        )
        assert plain(ensemble.build_prefixes(prefix)) == whole[:n]


def test_same_object_exactly_where_nothing_changed(trace):
    contents = plain(trace)
    same = [a is b for a, b in zip(trace[1:], trace[:-1], strict=True)]
    assert same == [a == b for a, b in zip(contents[1:], contents[:-1], strict=True)]
    assert 2 < sum(same) < len(same)


def test_failed_evaluations_change_nothing(ensemble, pool, trace):
    ok = np.flatnonzero(~np.isnan(pool.errors))
    without = ensemble.build_prefixes(
        pool_of(pool.predictions[ok], pool.labels, pool.errors[ok], pool.seed, pool.problem)
    )
    assert plain([trace[i] for i in ok]) == plain(without, ok)
    assert all(trace[i] is trace[i - 1] for i in FAILED if i > 1)


def test_no_success_no_ensemble(ensemble):
    predictions = np.full((3, 5, 1), np.nan, dtype=np.float32)
    pool = pool_of(predictions, np.array([0, 1, 0, 1, 1]), np.full(3, np.nan), 0)
    assert ensemble.build_prefixes(pool) == [None] * 3
    nothing = pool_of(predictions[:0], pool.labels, pool.errors[:0], 0)
    assert ensemble.build_prefixes(nothing) == []
    assert ensemble.build(pool) is ensemble.build(nothing) is None


def test_the_test_set_has_no_influence(pool, trace):
    rng = np.random.default_rng(1)
    shape = (len(pool.errors), 50, pool.predictions.shape[2])
    results = []
    for _ in range(2):
        table, members, _ = ensemble_scores.score(
            trace, pool, rng.random(shape), rng.integers(0, 2, 50)
        )
        results.append((table["test_error"], table["validation_error"], members))
    (test, validation, members), (other_test, other_validation, other_members) = results
    assert not np.array_equal(test, other_test, equal_nan=True)
    assert np.array_equal(validation, other_validation, equal_nan=True)
    for column, values in members.items():
        assert np.array_equal(values, other_members[column])
