"""Qualities that differ by any factor, and duplicates: against laws in exact rationals."""

from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_search.dpp.coverage import sample_by_variance, star_discrepancy
from ensemble_search.dpp.exact import LEnsemble
from ensemble_search.dpp.greedy import greedy_map
from ensemble_search.dpp.kernels import rbf
from ensemble_search.dpp.low_rank import swap_features
from ensemble_search.dpp.mcmc import swap_items, swap_points
from ensemble_search.runtime.errors import UserError

pytestmark = pytest.mark.slow

LINE = np.linspace(0, 1, 5)[:, None]
TWINS = np.vstack([LINE, LINE[:1]])  # items 0 and 5 are equal


def determinant(rows):
    """By elimination, of fractions."""
    rows, result = [list(row) for row in rows], Fraction(1)
    for i in range(len(rows)):
        pivot = next((r for r in range(i, len(rows)) if rows[r][i]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != i:
            rows[i], rows[pivot], result = rows[pivot], rows[i], -result
        result *= rows[i][i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return result


def exact_law(similarity, quality, k):
    """The probability of every set of k items, as a fraction; {} if all are 0."""
    s = [[Fraction(float(value)) for value in row] for row in similarity]
    q = [Fraction(float(value)) for value in quality]
    weights = {}
    for items in combinations(range(len(q)), k):
        weights[items] = determinant([[s[i][j] for j in items] for i in items])
        for i in items:
            weights[items] *= q[i] ** 2
    total = sum(weights.values())
    return {items: weight / total for items, weight in weights.items()} if total else {}


@st.composite
def cases(draw):
    """Features of integers, some of which are equal or dependent, and qualities of any range."""
    dimensions = draw(st.integers(1, 3))
    row = st.lists(st.integers(-2, 2), min_size=dimensions, max_size=dimensions)
    features = np.array(draw(st.lists(row, min_size=2, max_size=5)), dtype=float)
    copied = draw(st.lists(st.integers(0, len(features) - 1), max_size=2))
    features = np.vstack([features, features[copied]])
    exponent = draw(st.sampled_from([0, 1, 3, 7, 8, 12, 20, 75, 150, 200, 300])) / 2
    levels = st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1)
    powers = draw(st.lists(levels, min_size=len(features), max_size=len(features)))
    return features, 10.0 ** (exponent * np.array(powers))


@settings(max_examples=60)
@given(cases(), st.integers(0, 2**32))
def test_laws_in_exact_rationals(case, seed):
    features, quality = case
    similarity, rng = features @ features.T, np.random.default_rng(seed)
    rank = np.linalg.matrix_rank(features)
    laws = {k: exact_law(similarity, quality, k) for k in range(1, rank + 1)}
    ensemble = LEnsemble.from_similarity(similarity, quality)
    assert ensemble.rank == rank
    for k, law in laws.items():
        expected = np.zeros(len(features))
        for items, probability in law.items():
            expected[list(items)] += float(probability)
        assert ensemble.inclusion(k) == pytest.approx(expected, abs=1e-9)
        assert law[tuple(sorted(ensemble.sample(rng, k).tolist()))] > 1e-9
    chosen = greedy_map(similarity, len(features), quality).tolist()
    assert len(chosen) == rank
    for n, item in enumerate(chosen, start=1):
        # As likely as every other set with the same first items.
        of_prefix = [
            probability for items, probability in laws[n].items() if {*chosen[: n - 1]} <= {*items}
        ]
        assert laws[n][tuple(sorted([*chosen[: n - 1], item]))] >= max(of_prefix) * Fraction(
            999999, 1000000
        )
    for k, law in laws.items():
        assert (
            law[tuple(sorted(swap_items(similarity, k, rng, quality, 150).items.tolist()))] > 1e-9
        )


@pytest.mark.parametrize("exponent", [0, 7, 7.5, 8, 9, 20, 150, 300])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_duplicates_are_never_drawn_together(exponent, k):
    similarity = rbf(TWINS, TWINS, 0.4)
    quality = 10.0 ** np.array([exponent, *[-exponent] * 4, exponent])
    rng = np.random.default_rng(0)
    exact = LEnsemble.from_similarity(similarity, quality)
    for _ in range(50):
        assert not {0, 5} <= {*exact.sample(rng, k).tolist()}
    for _ in range(10):
        items = {*swap_items(similarity, k, rng, quality, 200).items.tolist()}
        assert len(items & {0, 5}) == 1 or not exponent
    assert not {0, 5} <= {*greedy_map(similarity, k, quality).tolist()}


def test_a_gradual_range_beyond_that_of_floats():
    """Independent items, so that inclusion probabilities are known; ratios from 1e-300 to 1e300."""
    quality = np.logspace(-300, 300, 31)
    ensemble = LEnsemble.from_similarity(np.eye(31), quality)
    assert ensemble.log_values == pytest.approx(2 * np.log(quality[::-1]))
    assert ensemble.inclusion(7) == pytest.approx(np.repeat([0.0, 1.0], [24, 7]))
    mixed = np.eye(31) / 2 + 0.5  # all alike by half
    assert ensemble.rank == LEnsemble.from_similarity(mixed, quality).rank == 31
    drawn = LEnsemble.from_similarity(mixed, quality).sample(np.random.default_rng(0), 7)
    assert sorted(drawn.tolist()) == list(range(24, 31))
    assert greedy_map(mixed, 7, quality).tolist() == list(range(30, 23, -1))


def test_variances_of_any_range():
    """A kernel with the qualities in it is the same kernel."""
    quality = np.array([1e140, 1e-140, 1.0, 1e140, 2e-140])
    points = LINE[[0, 1, 2, 0, 4]]
    similarity = rbf(points, points, 0.4)
    kernel = quality[:, None] * similarity * quality
    rng = np.random.default_rng(0)
    for k in (2, 3, 4):
        expected = LEnsemble.from_similarity(similarity, quality).inclusion(k)
        assert LEnsemble.from_similarity(kernel).inclusion(k) == pytest.approx(expected, abs=1e-9)
        assert {0, 3} - {*swap_items(kernel, k, rng).items.tolist()}
    assert greedy_map(kernel, 5).tolist() == greedy_map(similarity, 5, quality).tolist()
    numbers = np.arange(5.0)[:, None]
    of_numbers = lambda a, b: kernel[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))]  # noqa: E731
    for _ in range(20):
        drawn = sample_by_variance(numbers, 4, of_numbers, rng)
        assert {*drawn[:2].tolist()} in ({0, 2}, {3, 2}) and not {0, 3} <= {*drawn.tolist()}


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e300, 1.7e308])
def test_kernels_and_qualities_at_the_ends_of_floats(scale):
    rng, similarity = np.random.default_rng(0), np.eye(4)
    similarity[0, 3] = similarity[3, 0] = 1  # items 0 and 3 are equal
    for kernel, quality in ((scale * similarity, None), (similarity, np.full(4, scale))):
        assert LEnsemble.from_similarity(kernel, quality).inclusion(2) == pytest.approx(
            [0.4, 0.6, 0.6, 0.4], abs=1e-3
        )
        assert greedy_map(kernel, 4, quality).tolist() == [0, 1, 2]
        assert not {0, 3} <= {*swap_items(kernel, 3, rng, quality, 50).items.tolist()}


COMPLEX = TWINS + 1j


@pytest.mark.parametrize(
    "call",
    [
        lambda rng: LEnsemble.from_similarity(np.eye(6) + 0j),
        lambda rng: LEnsemble.from_similarity(np.eye(6), COMPLEX[:, 0]),
        lambda rng: greedy_map(np.eye(6), 2, COMPLEX[:, 0]),
        lambda rng: rbf(COMPLEX, TWINS, 1.0),
        lambda rng: sample_by_variance(COMPLEX, 2, partial(rbf, sigma=1.0), rng),
        lambda rng: sample_by_variance(TWINS, 2, lambda a, b: rbf(a, b, 1.0) + 0j, rng),
        lambda rng: swap_features(COMPLEX, 2, 0.5, rng),
        lambda rng: swap_points(lambda rng: COMPLEX, partial(rbf, sigma=1.0), 2, rng),
        lambda rng: swap_points(lambda rng: TWINS, lambda a, b: rbf(a, b, 1.0) + 0j, 2, rng),
        lambda rng: swap_points(
            lambda rng: TWINS, partial(rbf, sigma=1.0), 2, rng, given=COMPLEX[:1]
        ),
        lambda rng: star_discrepancy(COMPLEX[:, 0]),
    ],
)
def test_complex_numbers_are_rejected(call):
    with pytest.raises(UserError, match="must be real numbers, found complex ones") as caught:
        call(np.random.default_rng(0))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array(np.eye(2), mask=[[0, 1], [1, 0]]),  # what is behind a mask is no value
        np.array([["1", 0], [0, 1]], dtype=object),
        [[1, 0], [0]],
        [[1, None], [None, 1j]],
    ],
)
def test_what_is_no_matrix_of_numbers_is_rejected(values):
    for call in (LEnsemble.from_similarity, greedy_map):
        with pytest.raises(UserError, match="must be real numbers"):
            call(values)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_variances_that_are_none(bad):
    with pytest.raises(UserError, match=r"not finite|semidefinite"):
        sample_by_variance(
            TWINS, 2, lambda a, b: np.full((len(a), len(b)), bad), np.random.default_rng(0)
        )


def test_a_wide_range_without_gaps():
    """Qualities fall from 1e150 to 1e-150 in steps of 1e5; an item is left out as L^-1 says."""
    n = 62
    features = np.eye(n) + np.diag(np.full(n - 1, 0.5), -1)
    quality = 10.0 ** np.linspace(150, -150, n)[np.random.default_rng(3).permutation(n)]
    kernel = LEnsemble.from_similarity(features @ features.T, quality)
    assert kernel.rank == n
    assert kernel.log_values.sum() == pytest.approx(2 * np.log(quality).sum(), abs=1e-8)
    # The inverse of the features is (-1/2)^(i - j) below the diagonal.
    missed = [
        sum(Fraction(1, 4) ** (row - item) for row in range(item, n)) / Fraction(quality[item]) ** 2
        for item in range(n)
    ]
    wanted = np.array([float(1 - weight / sum(missed)) for weight in missed])
    np.testing.assert_allclose(kernel.inclusion(n - 1), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("exponent", [60, 105, 135, 150])
def test_items_of_tiny_probability_do_not_disturb_draws(exponent):
    """Squares of their eigenvectors' entries are subnormal; the best 20 are drawn for certain."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(80, 5))
    exponents = np.r_[np.full(20, exponent), -exponent * rng.uniform(0.2, 1, 60)]
    kernel = LEnsemble.from_similarity(rbf(points, points, 1.0), 10.0**exponents)
    for _ in range(5):
        assert sorted(kernel.sample(rng, 20).tolist()) == [*range(20)]


@pytest.mark.parametrize("odd", [np.array([["a"]]), np.array([[10**400]], dtype=object)])
def test_what_is_no_number_is_rejected(odd):
    with pytest.raises(UserError, match="must be real numbers"):
        LEnsemble.from_similarity(odd)


@pytest.mark.parametrize("values", [np.array([["1"]]), np.array([["2020-01-01"]], "M8[D]")])
def test_text_and_dates_are_no_numbers(values):
    with pytest.raises(UserError, match="must be real numbers, found text or dates"):
        LEnsemble.from_similarity(values)


@pytest.mark.parametrize("size", ["2", None, np.array([1])])
def test_sizes_that_are_no_numbers_are_one_line(size):
    kernel = LEnsemble.from_similarity(np.eye(3))
    with pytest.raises(UserError, match="expected size is"):
        kernel.of_expected_size(size)
    if size is not None:
        with pytest.raises(UserError, match="must be an integer"):
            kernel.sample(np.random.default_rng(0), size)


def test_points_whose_similarity_rounds_to_1_are_duplicates():
    """As for greedy and swap: the matrix has the determinant 0, though its rows differ by 1e-9."""
    x = np.random.default_rng(0).random((8, 1))
    x[5] = x[0] + 1e-9
    similarity, quality = rbf(x, x, 0.4), np.full(8, 1e-10)
    quality[[0, 5]] = 1e10
    assert similarity[0, 5] == 1
    for scale in (1.0, 3.0):
        scales = np.where(np.arange(8) == 5, scale, 1.0)
        ensemble = LEnsemble.from_similarity(similarity * scales[:, None] * scales, quality)
        drawn = [ensemble.sample(np.random.default_rng(seed), 3).tolist() for seed in range(50)]
        assert all((0 in chosen) != (5 in chosen) for chosen in drawn)
        # In proportion to their variances.
        assert sum(5 in chosen for chosen in drawn) > 35 or scale == 1
    x[5] = x[0] + 1e-5  # near only: 1 - 3e-10
    ensemble = LEnsemble.from_similarity(rbf(x, x, 0.4), quality)
    assert {0, 5} <= set(ensemble.sample(np.random.default_rng(0), 3).tolist())


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones((3, 2, 1)), 1.0])
def test_a_kernel_of_another_shape_is_rejected(wrong):
    with pytest.raises(UserError, match=r"must have the shape \(5, 5\)"):
        sample_by_variance(np.eye(5), 2, lambda a, b: wrong, np.random.default_rng(0))
