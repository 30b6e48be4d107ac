"""Weighted bagging: weights by hand."""

import numpy as np
import pytest

from ensemble_search.ensembles.bagging import Bagging
from ensemble_search.ensembles.base import Pool, lowest
from ensemble_search.problems.regression import REGRESSION


def trace(errors, size=5):
    errors = np.array(errors)
    predictions = np.zeros((len(errors), 4, 1), dtype=np.float32)
    made = Bagging(size=size).build_prefixes(Pool(predictions, np.zeros(4, dtype=int), errors, 0))
    return [m and dict(zip(m.indices.tolist(), m.weights.tolist(), strict=True)) for m in made]


def test_weights_by_hand():
    """The three best, weighted 1 - error over the sum; the earlier one of equal ones stays."""
    assert trace([np.nan, 0.5, 0.25, 0.5, 0.5, 0.75, 0.0], size=3) == [
        None,
        {1: 1.0},
        {1: 0.5 / 1.25, 2: 0.75 / 1.25},
        {1: 0.5 / 1.75, 2: 0.75 / 1.75, 3: 0.5 / 1.75},
        {1: 0.5 / 1.75, 2: 0.75 / 1.75, 3: 0.5 / 1.75},
        {1: 0.5 / 1.75, 2: 0.75 / 1.75, 3: 0.5 / 1.75},
        {1: 0.5 / 2.25, 2: 0.75 / 2.25, 6: 1 / 2.25},
    ]


def test_who_is_never_right_has_no_weight_but_alone():
    assert trace([1.0, 1.0, 0.6, 1.0]) == [{0: 1.0}, {0: 1.0}, {2: 1.0}, {2: 1.0}]


def test_regressions_are_weighted_by_what_they_explain():
    """The mean of the training rows, 0, has the squared error 2.5; the models 1, 2 and 3."""
    labels = np.array([1.0, 2.0])
    errors = np.array([1.0, 2.0, 3.0])
    found = Bagging().build(Pool(np.zeros((3, 2, 1), np.float32), labels, errors, 0, REGRESSION))
    assert found.indices.tolist() == [0, 1]
    np.testing.assert_allclose(found.weights, [0.75, 0.25])  # of 1 - 1 / 2.5 and 1 - 2 / 2.5
    # Of all rows at the mean, whose error is 0, nothing can be explained.
    pool = Pool(np.ones((1, 2, 1), np.float32), np.zeros(2), np.ones(1), 0, REGRESSION)
    assert Bagging().build(pool).indices.tolist() == [0]
    useless = Pool(
        np.zeros((3, 2, 1), np.float32), labels, np.array([7.0, 3.0, 5.0]), 0, REGRESSION
    )
    assert Bagging().build(useless).indices.tolist() == [1], "the best of them"


def test_size_is_five_as_in_the_paper():
    errors = np.linspace(0.5, 0.1, 9)
    assert list(trace(errors)[-1]) == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("size", [1, 3, 20])
def test_lowest_errors(size):
    errors = np.round(np.random.default_rng(0).random(15), 1)
    errors[[0, 4, 9]] = np.nan
    for t in range(len(errors)):
        found = lowest(errors[: t + 1], size)
        ok = np.flatnonzero(~np.isnan(errors[: t + 1]))
        expected = ok[np.argsort(errors[ok], kind="stable")[:size]]
        assert found.tolist() == sorted(expected)
