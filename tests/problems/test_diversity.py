"""Diversity of two models (Eq. 3): by hand, as a metric, and grown by a search."""

import numpy as np
import pytest

from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.problems.diversity import pairwise
from ensemble_search.problems.regression import REGRESSION
from support.memory import peak

pytestmark = pytest.mark.slow


def test_diversity_by_hand():
    """Eq. 3: distances 0, sqrt(2) and sqrt(0.5) over sqrt(2) have the mean 1/2."""
    p = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    q = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert CLASSIFICATION.diversity(p, q) == pytest.approx((0 + 1 + 0.5) / 3)
    three = np.array([[0.2, 0.3, 0.5]]), np.array([[0.6, 0.3, 0.1]])
    assert CLASSIFICATION.diversity(*three) == pytest.approx(np.sqrt(0.16 + 0 + 0.16) / np.sqrt(2))


def test_diversity_is_a_bounded_metric():
    p = np.random.default_rng(0).dirichlet([0.2] * 3, size=(7, 50)).astype(np.float32)
    d = pairwise(list(p))
    np.testing.assert_array_equal(d, d.T)
    np.testing.assert_array_equal(np.diag(d), 0)
    assert (d <= 1).all()
    assert (d[:, :, None] <= d[:, None] + d.T[None] + 1e-9).all()
    for i in range(7):
        for j in range(7):
            assert d[i, j] == pytest.approx(np.linalg.norm(p[i] - p[j], axis=1).mean() / 2**0.5)


def test_pairwise_grows_without_a_trace():
    p = list(np.random.default_rng(1).dirichlet([1] * 3, size=(9, 31)).astype(np.float32))
    grown = [pairwise(p[:t]) for t in (1, 2, 5, 9)][-1]
    pairwise(p[4:])  # another search in between
    np.testing.assert_array_equal(pairwise([q.copy() for q in p]), grown)
    np.testing.assert_array_equal(pairwise([p[3], p[0]]), grown[np.ix_([3, 0], [3, 0])])
    with pytest.raises(ValueError, match="read-only"):
        grown[0, 1] = 2  # it is kept for the next call


@pytest.mark.parametrize("n_samples", [31, 8192, 20_000])
@pytest.mark.parametrize("problem", [CLASSIFICATION, REGRESSION])
def test_pairwise_equals_the_diversity_of_two_to_the_last_bit(problem, n_samples):
    """However samples and models are divided into blocks."""
    shape = (9, n_samples, 3 if problem is CLASSIFICATION else 1)
    p = np.random.default_rng(2).random(shape, dtype=np.float32) ** np.float32(5)
    grown = [pairwise(list(p[:t]), problem) for t in (4, 8)][-1]
    for t in range(1, 9):
        np.testing.assert_array_equal(
            grown[t - 1, : t - 1], problem.diversity(p[t - 1], p[: t - 1])
        )


def test_memory_of_pairwise_is_a_part_of_the_predictions():
    p = list(np.random.default_rng(3).random((20, 100_000, 10), dtype=np.float32))
    assert peak(lambda: pairwise(p)) < 0.3 * sum(one.nbytes for one in p)
