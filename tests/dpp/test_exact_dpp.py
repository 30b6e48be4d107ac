"""Exact samplers, normalisers and inclusion probabilities, against all subsets."""

from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_search.dpp.coverage import sample_by_variance
from ensemble_search.dpp.exact import Elementary, LEnsemble
from ensemble_search.dpp.kernels import rbf
from ensemble_search.runtime.errors import UserError
from support import subsets

pytestmark = pytest.mark.slow

N = 6
DRAWS = 5000
LINE = np.array([[0.0], [0.1], [0.15], [0.5], [0.9], [1.0]])
SIMILARITY = rbf(LINE, LINE, 0.3)
QUALITY = np.array([0.5, 1.0, 2.0, 1.0, 0.3, 1.5])
KERNEL = QUALITY[:, None] * SIMILARITY * QUALITY
# Two kinds of three and two items, and one of its own: rank 3, eigenvalues of 0, duplicates.
LABELS = np.array([0, 0, 0, 1, 1, 2])
SAME_LABEL = (LABELS[:, None] == LABELS).astype(float)


def drawn(ensemble, k, seed=0):
    rng = np.random.default_rng(seed)
    return lambda: ensemble.sample(rng, k)


@pytest.mark.parametrize("k", [None, 1, 3, 6])
def test_law_of_all_subsets(k):
    ensemble = LEnsemble.from_similarity(SIMILARITY, QUALITY)
    assert subsets.distance(drawn(ensemble, k), subsets.law(KERNEL, k), DRAWS) < 1


@pytest.mark.parametrize("k", [None, 2, 3])
def test_law_with_duplicates(k):
    ensemble = LEnsemble.from_similarity(SAME_LABEL)
    assert ensemble.rank == 3
    assert subsets.distance(drawn(ensemble, k), subsets.law(SAME_LABEL, k), DRAWS) < 1


def test_the_distance_tells_laws_apart():
    """Uniform sets, no qualities, the scale of L, and seq-PV instead of the k-DPP."""
    rng = np.random.default_rng(0)
    law = subsets.law(KERNEL, 3)
    uniform = partial(rng.choice, N, 3, replace=False)
    assert subsets.distance(uniform, law, DRAWS) > 1.5
    ensemble = LEnsemble.from_similarity(SIMILARITY)
    assert subsets.distance(drawn(ensemble, 3), law, DRAWS) > 1.5
    scaled = LEnsemble.from_similarity(1.3 * KERNEL)
    assert subsets.distance(drawn(scaled, None), subsets.law(KERNEL), DRAWS) > 1.5
    by_variance = partial(sample_by_variance, LINE, 3, partial(rbf, sigma=0.3), rng)
    assert subsets.distance(by_variance, subsets.law(SIMILARITY, 3), DRAWS) > 1.5


def test_the_order_of_the_items_is_random():
    ensemble = LEnsemble.from_similarity(SIMILARITY, QUALITY)
    draw = drawn(ensemble, 3)
    firsts = np.bincount([draw()[0] for _ in range(DRAWS)], minlength=N) / DRAWS
    assert firsts == pytest.approx(ensemble.inclusion(3) / 3, abs=4 * np.sqrt(0.25 / DRAWS))


@pytest.mark.parametrize("kernel", [KERNEL, SAME_LABEL, 1e200 * KERNEL, 1e-200 * KERNEL])
def test_inclusion_probabilities(kernel):
    ensemble = LEnsemble.from_similarity(kernel)
    scale = kernel.max()
    for k in range(1, ensemble.rank + 1):
        expected = subsets.inclusion(subsets.law(kernel / scale, k), N)
        assert ensemble.inclusion(k) == pytest.approx(expected, abs=1e-9)
    if 1e-3 < scale < 1e3:
        law = subsets.law(kernel)
        assert ensemble.inclusion() == pytest.approx(subsets.inclusion(law, N), abs=1e-12)


def test_draws_of_k_items_do_not_depend_on_the_scale():
    for scale in (1e-6, 1e6, 1e150):
        one, other = (LEnsemble.from_similarity(c * SIMILARITY, QUALITY) for c in (1, scale))
        for seed in range(50):
            assert np.array_equal(drawn(one, 3, seed)(), drawn(other, 3, seed)())


def matrices(max_rank=5):
    """Features of up to 7 items with numbers of a size that rounding does not touch."""
    numbers = st.integers(-8, 8).map(lambda number: number / 4)
    shapes = st.tuples(st.integers(1, 7), st.integers(1, max_rank))
    return shapes.flatmap(
        lambda shape: st.lists(
            st.lists(numbers, min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        ).map(np.array)
    )


@given(matrices(), st.integers(0, 2**32))
def test_random_kernels(features, seed):
    """Against all subsets; whatever the rank, 0 included."""
    rng = np.random.default_rng(seed)
    quality = rng.choice([0.0, 0.5, 1.0, 2.0], len(features))
    kernel = quality[:, None] * (features @ features.T) * quality
    ensemble = LEnsemble.from_similarity(features @ features.T, quality)
    rank = np.linalg.matrix_rank(quality[:, None] * features)
    assert ensemble.rank == rank
    marginal = kernel @ np.linalg.inv(kernel + np.eye(len(kernel)))
    assert ensemble.inclusion() == pytest.approx(marginal.diagonal(), abs=1e-9)
    for k in range(1, rank + 1):
        law = subsets.law(kernel, k)
        expected = subsets.inclusion(law, len(kernel))
        assert ensemble.inclusion(k) == pytest.approx(expected, abs=1e-6)
        assert ensemble.inclusion(k).sum() == pytest.approx(k)
        items = ensemble.sample(rng, k)
        assert law[tuple(sorted(items.tolist()))] > 1e-9
    with pytest.raises(UserError, match="rank"):
        ensemble.sample(rng, int(rank) + 1)
    items = ensemble.sample(rng)
    assert len(items) == 0 or np.linalg.det(kernel[np.ix_(items, items)]) > 1e-9


@settings(max_examples=30)
@given(st.lists(st.floats(-300, 300), min_size=1, max_size=20), st.integers(1, 20))
def test_the_choice_of_eigenvectors_of_any_spectrum(logs, k):
    """Against exact sums of products of integers."""
    k = min(k, len(logs))
    values = [max(round(2**600 * Fraction(np.exp(value))), 1) for value in logs]

    def polynomials(numbers):
        sums = [1] + [0] * k
        for number in numbers:
            for j in range(k, 0, -1):
                sums[j] += number * sums[j - 1]
        return sums

    def log(number):
        shift = max(number.bit_length() - 60, 0)
        return np.log(number >> shift) + shift * np.log(2)

    whole = polynomials(values)[k]
    expected = [
        float(Fraction(value * polynomials(values[:i] + values[i + 1 :])[k - 1], whole))
        for i, value in enumerate(values)
    ]
    elementary = Elementary(np.array([log(value) for value in values]), k)
    assert elementary.inclusion() == pytest.approx(np.array(expected), rel=1e-10, abs=1e-12)
    assert len(set(elementary.draw(np.random.default_rng(0)).tolist())) == k


@pytest.fixture(scope="module")
def wide():
    """A spectrum of 3000 eigenvalues from 1e-12 to 1e6, on its own and in a kernel."""
    rng = np.random.default_rng(0)
    values = np.logspace(6, -12, 3000)
    vectors = np.linalg.qr(rng.normal(size=(3000, 150)))[0]
    return values, LEnsemble(np.log(np.logspace(6, -12, 150)), vectors)


def test_a_hundred_of_three_thousand(wide):
    values, ensemble = wide
    assert ensemble.rank == 150
    rng = np.random.default_rng(1)
    for log_values in (np.log(values), ensemble.log_values, ensemble.log_values - 500):
        elementary = Elementary(log_values, 100)
        chosen = elementary.draw(rng)
        assert len(set(chosen.tolist())) == 100
        weights = elementary.inclusion()
        assert weights.sum() == pytest.approx(100, rel=1e-10)
        assert (np.diff(weights) < 1e-12).all()  # as the eigenvalues
    items = ensemble.sample(rng, 100)
    assert len(set(items.tolist())) == 100
    assert ensemble.inclusion(100).sum() == pytest.approx(100, rel=1e-9)
    assert ensemble.sample(rng, 150).size == 150


def test_the_choice_among_three_thousand_equal_values():
    for log_value in (-600, 0, 600):
        weights = Elementary(np.full(3000, float(log_value)), 100).inclusion()
        assert weights == pytest.approx(np.full(3000, 1 / 30), rel=1e-9)


@pytest.mark.parametrize("size", [0.01, 1, 2.5, 5.99])
def test_expected_size(size):
    ensemble = LEnsemble.from_similarity(SIMILARITY, QUALITY)
    scaled = ensemble.of_expected_size(size)
    assert scaled.inclusion().sum() == pytest.approx(size, rel=1e-9)
    assert scaled.inclusion(3) == pytest.approx(ensemble.inclusion(3))


def test_the_same_generator_gives_the_same_items():
    ensemble = LEnsemble.from_similarity(SIMILARITY, QUALITY)
    for k in (None, 3):
        assert np.array_equal(drawn(ensemble, k)(), drawn(ensemble, k)())


INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("similarity", "quality", "message"),
    [
        (INDEFINITE, None, "positive semidefinite, found -1 "),
        (-np.eye(2), None, "positive semidefinite, found -1 "),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), None, "symmetric; entries differ by 0.1"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), None, "finite"),
        (np.ones((2, 3)), None, r"square and not empty, has the shape \(2, 3\)"),
        (np.ones((0, 0)), None, "square"),
        (np.eye(2), np.array([1.0, -1.0]), "not negative"),
        (np.eye(2), np.array([1.0, np.nan]), "finite"),
        (np.eye(2), np.ones(3), r"2 items need as many qualities, not shape \(3,\)"),
    ],
)
def test_bad_kernels(similarity, quality, message):
    with pytest.raises(UserError, match=message):
        LEnsemble.from_similarity(similarity, quality)


def test_bad_sizes():
    ensemble = LEnsemble.from_similarity(SAME_LABEL)
    for k in (0, 4, -1):
        for call in (ensemble.inclusion, partial(ensemble.sample, np.random.default_rng(0))):
            with pytest.raises(UserError, match=f"k is {k}, .*at most 3, the rank"):
                call(k)
    with pytest.raises(UserError, match=r"k is 1\.5, must be an integer"):
        ensemble.sample(np.random.default_rng(0), 1.5)
    for size in (0, 3, np.nan):
        with pytest.raises(UserError, match="expected size"):
            ensemble.of_expected_size(size)


@pytest.mark.parametrize("scale", [1e-2, 1e-9, 1e-40])
def test_qualities_of_any_range(scale):
    """All sets of three, enumerated in logarithms; the rank is that of the similarities."""
    similarity = SIMILARITY
    logs = np.log(scale) * np.random.default_rng(0).permutation(N)
    sets = np.array(list(combinations(range(N), 3)))
    dets = [np.linalg.slogdet(similarity[np.ix_(a, a)])[1] + 2 * logs[a].sum() for a in sets]
    weights = np.exp(np.array(dets) - max(dets))
    member = (sets[:, :, None] == np.arange(N)).any(axis=1)
    ensemble = LEnsemble.from_similarity(similarity, np.exp(logs))
    assert ensemble.rank == N
    assert ensemble.inclusion(3) == pytest.approx(weights @ member / weights.sum())
    assert ensemble.log_values.sum() == pytest.approx(
        np.linalg.slogdet(similarity)[1] + 2 * logs.sum()
    )
    everything = ensemble.sample(np.random.default_rng(0), N)
    assert sorted(everything.tolist()) == list(range(N))


def test_rounding_is_not_taken_for_an_indefinite_kernel():
    similarity = rbf(LINE, LINE, 10.0).astype(np.float32)
    assert np.linalg.eigvalsh(similarity.astype(float))[0] < -1e-9
    ensemble = LEnsemble.from_similarity(similarity)
    assert 2 <= ensemble.rank < N
    assert np.isfinite(ensemble.inclusion(2)).all()
