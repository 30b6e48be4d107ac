"""The RBF kernel and its length scale."""

import numpy as np
import pytest

from ensemble_search.dpp.kernels import length_scale, rbf
from ensemble_search.dpp.mcmc import swap_points
from ensemble_search.runtime.errors import UserError


def cube(dimensions):
    return lambda rng: rng.random((100, dimensions))


def test_rbf_by_hand():
    a, b = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[1.0, 2.0]])
    assert rbf(a, b, 2.0) == pytest.approx(np.array([[np.exp(-5 / 8)], [1]]))
    assert rbf(a, a, 1e-200).tolist() == [[1, 0], [0, 1]]
    assert rbf(a, a, 1e200).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("sigma", [0, -1, np.nan, np.inf, True, None])
def test_bad_sigma(sigma):
    with pytest.raises(UserError, match=f"sigma of the RBF kernel is {sigma}"):
        rbf(np.ones((1, 1)), np.ones((1, 1)), sigma)


def test_bad_features():
    with pytest.raises(UserError, match="finite"):
        rbf(np.array([[np.nan]]), np.ones((1, 1)), 1)
    with pytest.raises(UserError, match=r"shapes \(1, 2\) and \(1, 1\)"):
        rbf(np.ones((1, 2)), np.ones((1, 1)), 1)


def test_auto_sigma_in_low_dimensions_is_limited_by_the_condition():
    auto = length_scale(cube(2), 20, np.random.default_rng(0))
    assert auto.condition <= 1e6
    assert auto.gamma == pytest.approx(1 / (2 * auto.sigma**2))
    steps = np.log(auto.gamma * auto.median_distance / 0.1) / np.log(1.5)
    assert steps == pytest.approx(round(steps), abs=1e-9)
    assert steps > 5
    # The step before was too wide.
    rng = np.random.default_rng(0)
    [rng.random((100, 2)) for _ in range(6)]
    everything = rng.random((4000, 2)).reshape(200, 20, 2)
    sets = everything[:9]
    conditions = [np.linalg.cond(rbf(s, s, auto.sigma)) for s in sets]
    assert np.median(conditions) == pytest.approx(auto.condition, rel=1e-6)
    conditions = [np.linalg.cond(rbf(s, s, auto.sigma * 1.5**0.5)) for s in sets]
    assert np.median(conditions) > 1e6
    log_dets = [np.linalg.slogdet(rbf(s, s, auto.sigma))[1] for s in everything]
    assert auto.log_det == pytest.approx(np.mean(log_dets))
    assert auto.spread == pytest.approx(np.std(log_dets, ddof=1))
    assert auto.spread > 1
    assert len(swap_points(cube(2), lambda a, b: rbf(a, b, auto.sigma), 20, rng).items) == 20


def test_auto_sigma_in_many_dimensions_stays_at_the_start():
    auto = length_scale(cube(100), 20, np.random.default_rng(0))
    assert auto.gamma == pytest.approx(0.1 / auto.median_distance)
    assert auto.median_distance == pytest.approx(100 / 6, rel=0.02)
    assert auto.median_similarity == pytest.approx(np.exp(-0.1), rel=1e-3)


def test_where_a_k_dpp_is_uniform():
    """Points far apart next to sigma, as corners of a large cube: every determinant is 1."""
    corners = length_scale(
        lambda rng: np.eye(300)[rng.permutation(300)], 5, np.random.default_rng(0)
    )
    assert corners.spread == pytest.approx(0, abs=1e-9)
    assert length_scale(cube(2), 1, np.random.default_rng(0)).spread == 0


@pytest.mark.parametrize("sigma", [1e-200, 1e200])
def test_the_ends_of_what_a_given_sigma_can_be(sigma):
    scale = length_scale(cube(2), 3, np.random.default_rng(0), sigma)
    assert scale.sigma == sigma
    assert scale.median_similarity == (sigma > 1)
    assert scale.log_det == pytest.approx(0 if sigma < 1 else -np.inf)


def test_few_distinct_points():
    levels = np.linspace(0, 1, 8)[:, None]
    auto = length_scale(lambda rng: levels[rng.integers(8)], 8, np.random.default_rng(0))
    assert np.isfinite([auto.sigma, auto.condition, auto.spread]).all()
    with pytest.raises(UserError, match=r"9 points are asked for; .* only 8 distinct"):
        length_scale(lambda rng: levels[rng.integers(8)], 9, np.random.default_rng(0))
    with pytest.raises(UserError, match="the same point"):
        length_scale(lambda rng: levels[:1], 2, np.random.default_rng(0))
    with pytest.raises(UserError, match="k is 0, must be at least 1"):
        length_scale(cube(2), 0, np.random.default_rng(0))
    close = np.array([[0.0], [1e-12], [1.0]])
    with pytest.raises(UserError, match="too close to distinguish"):
        length_scale(lambda rng: close[rng.integers(3)], 3, np.random.default_rng(0))


def test_squared_distances_beyond_double_precision_are_an_error():
    for scale, message in ((1e200, "squared distances must be finite"), (1e-200, "closer than")):
        with pytest.raises(UserError, match=message):
            length_scale(lambda rng, s=scale: s * rng.random((50, 2)), 2, np.random.default_rng(0))


def test_mostly_equal_points():
    """A median distance of 0 is of no use; that of points that differ is."""
    rare = np.array([[0.0]] * 50 + [[1.0]])
    auto = length_scale(lambda rng: rare[rng.integers(51, size=99)], 2, np.random.default_rng(0))
    assert auto.median_distance == 1
