"""Class probabilities in the columns of the classes: by hand, and what is rejected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemble_search.problems.base import InvalidPredictionError
from ensemble_search.problems.classification import align


def test_align_by_hand():
    given_ = [[3.0, 1.0], [0.0, 5.0], [1e308, 1e308]]
    expected = [[0.25, 0, 0.75, 0], [1, 0, 0, 0], [0.5, 0, 0.5, 0]]
    np.testing.assert_array_equal(align(given_, np.array([2, 0]), 3, 4), np.float32(expected))


def test_align_rejects_repeated_classes():
    with pytest.raises(InvalidPredictionError, match="classes_"):
        align([[0.5, 0.5]], [1, 1], 1, 2)


@given(arrays(np.float64, (5, 3), elements=st.floats(0, allow_infinity=False)))
def test_aligned_rows_are_distributions(values):
    if (values.max(axis=1) == 0).any():
        with pytest.raises(InvalidPredictionError, match="zeros"):
            align(values, np.arange(3), 5, 3)
        return
    aligned = align(values, np.arange(3), 5, 3)
    np.testing.assert_allclose(aligned.sum(axis=1), 1, rtol=1e-6)
    assert (values.argmax(axis=1) == aligned.argmax(axis=1)).all() or np.isclose(
        aligned.max(axis=1), np.take_along_axis(aligned, values.argmax(1)[:, None], 1)[:, 0]
    ).all()
