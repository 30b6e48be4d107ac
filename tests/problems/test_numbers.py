"""Regression: predictions of models, and their diversity."""

from types import SimpleNamespace

import numpy as np
import pytest

from ensemble_search.metrics._regression import AbsoluteError
from ensemble_search.problems import tasks
from ensemble_search.problems.base import InvalidPredictionError
from ensemble_search.problems.regression import LARGEST, REGRESSION, Regression

X = np.zeros((3, 2))


def predict(values):
    return REGRESSION.predict(SimpleNamespace(predict=lambda X: values), X, 1)


def test_the_metric_decides():
    assert isinstance(tasks.problem("squared-error"), Regression)
    assert tasks.problem("absolute-error").task == "regression"
    assert tasks.problem("log-loss").task == "classification"


@pytest.mark.parametrize("values", [[1, -2, 0.5], [[1], [-2], [0.5]]])
def test_predictions_are_a_column_of_float32(values):
    found = predict(values)
    assert found.dtype == np.float32
    assert found.tolist() == [[1], [-2], [0.5]]
    assert REGRESSION.expand(REGRESSION.compress(found)).tolist() == found.tolist()


def test_huge_predictions_are_cut():
    assert predict([1e300, -1e9, 7]).tolist() == [[LARGEST], [-LARGEST], [7]]


@pytest.mark.parametrize(
    "values", [[1, np.nan, 0], [1, np.inf, 0], [1, 2], [[1, 2, 3]], ["a", "b", "c"], None]
)
def test_invalid_predictions(values):
    with pytest.raises(InvalidPredictionError):
        predict(values)


def test_diversity_by_hand():
    p = np.array([[[0.0], [1.0]], [[0.5], [0.5]], [[9.0], [1.0]]])
    found = Regression(AbsoluteError()).diversity(p[:, None], p)
    # |0 - 0.5| and |1 - 0.5|; |0 - 9| and 0, cut at 1.
    assert found.tolist() == [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]
