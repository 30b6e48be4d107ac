"""Markov chains of swaps, against all subsets of small sets."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemble_search.dpp.coverage import sample_by_variance
from ensemble_search.dpp.exact import LEnsemble
from ensemble_search.dpp.kernels import length_scale, rbf
from ensemble_search.dpp.low_rank import swap_features
from ensemble_search.dpp.mcmc import Determinant, default_steps, swap_items, swap_points
from ensemble_search.runtime.errors import UserError
from support import subsets

pytestmark = pytest.mark.slow

LINE = np.array([[0.0], [0.1], [0.15], [0.5], [0.9], [1.0]])
KERNEL = partial(rbf, sigma=0.3)
SIMILARITY = KERNEL(LINE, LINE)
QUALITY = np.array([0.5, 1.0, 2.0, 1.0, 0.3, 1.5])
L = QUALITY[:, None] * SIMILARITY * QUALITY
#: They distinguish laws with the square roots of the qualities (distances above 1.3).
CHAINS = 500
#: Enough for chains of 6 items to forget their start; new draws are often members already.
STEPS = {"items": 25, "points": 80}


def draw_of_line(rng):
    """Points that come again and again: half of the proposals are members already."""
    return LINE[rng.integers(len(LINE), size=50)]


def quality_of(points):
    return QUALITY[np.searchsorted(LINE[:, 0], points[:, 0])]


def swapped_items(rng, k, quality, steps):
    return swap_items(SIMILARITY, k, rng, quality, steps).items


def swapped_points(rng, k, quality, steps):
    quality = None if quality is None else quality_of
    chain = swap_points(draw_of_line, KERNEL, k, rng, quality, steps)
    return np.searchsorted(LINE[:, 0], chain.points[:, 0])


SAMPLERS = {"items": swapped_items, "points": swapped_points}


@pytest.mark.parametrize("ground", SAMPLERS)
@pytest.mark.parametrize(("k", "quality"), [(1, QUALITY), (3, None), (3, QUALITY), (5, None)])
def test_stationary_law(ground, k, quality):
    sample = partial(SAMPLERS[ground], k=k, quality=quality, steps=STEPS[ground])
    rng = np.random.default_rng(0)
    law = subsets.law(SIMILARITY if quality is None else L, k)
    assert subsets.distance(lambda: sample(rng), law, CHAINS) < 1


@pytest.mark.parametrize("quality", [None, quality_of])
def test_law_given_other_points(quality):
    """That of the sets of 4 that hold the two given points."""
    rng = np.random.default_rng(0)
    whole = subsets.law(SIMILARITY if quality is None else L, 4)
    law = {tuple(sorted({*a} - {1, 4})): p for a, p in whole.items() if {1, 4} < {*a}}
    law = {a: p / sum(law.values()) for a, p in law.items()}

    def sample():
        chain = swap_points(draw_of_line, KERNEL, 2, rng, quality, 80, LINE[[1, 4]])
        return np.searchsorted(LINE[:, 0], chain.points[:, 0])

    assert subsets.distance(sample, law, 250) < 1
    assert subsets.distance(sample, subsets.law(SIMILARITY, 2), 250) > 2


@pytest.mark.parametrize("sample", SAMPLERS.values())
def test_the_start_is_uniform_and_not_the_law(sample):
    rng = np.random.default_rng(0)
    law = subsets.law(L, 3)
    assert subsets.distance(lambda: sample(rng, 3, QUALITY, 0), law, 1000) > 2
    uniform = dict.fromkeys(law, 1 / len(law))
    assert subsets.distance(lambda: sample(rng, 3, QUALITY, 0), uniform, 1000) < 1


def kernels():
    """A positive definite matrix of k + 1 points, and one of its first k places."""
    return st.tuples(st.integers(1, 8), st.integers(0, 2**32)).map(made_kernel)


def made_kernel(arguments):
    k, seed = arguments
    rng = np.random.default_rng(seed)
    points = rng.random((k + 1, 2))
    return rbf(points, points, rng.uniform(0.05, 0.6)), int(rng.integers(k))


@given(kernels())
def test_ratio_and_update_against_determinants(made):
    matrix, out = made
    k = len(matrix) - 1
    if np.linalg.cond(matrix) > 1e8:
        return
    before = matrix[:k, :k]
    places = np.arange(k)
    places[out] = k
    after = matrix[np.ix_(places, places)]
    expected = np.linalg.slogdet(after)[1] - np.linalg.slogdet(before)[1]
    determinant = Determinant(before)
    ratio, error = determinant.ratio(out, matrix[:k, k], matrix[k, k])
    assert np.log(ratio) == pytest.approx(expected, abs=1e-6)
    assert abs(ratio - np.exp(expected)) <= error
    determinant.swap(out, matrix[:k, k], matrix[k, k], ratio)
    assert determinant.inverse @ after == pytest.approx(np.eye(k), abs=1e-4)
    assert determinant.log_det == pytest.approx(np.linalg.slogdet(after)[1], abs=1e-6)


def test_the_trace_is_log_det_of_the_sets():
    """Steps of one chain, by chains that end earlier; with k updates between refreshes."""
    rng = np.random.default_rng(3)
    points, quality = rng.random((60, 2)), rng.uniform(0.5, 2, 60)
    similarity = rbf(points, points, 0.15)
    chain = swap_items(similarity, 12, np.random.default_rng(0), quality, 60)
    assert 10 < chain.accepted < 60
    assert len(chain.log_dets) == 61
    kernel = quality[:, None] * similarity * quality
    for steps in range(0, 61, 3):
        items = swap_items(similarity, 12, np.random.default_rng(0), quality, steps).items
        expected = np.linalg.slogdet(kernel[np.ix_(items, items)])[1]
        assert chain.log_dets[steps] == pytest.approx(expected, abs=1e-9)


def test_points_are_numbered_draws():
    drawn = []

    def draw(rng):
        drawn.append(rng.random(4))
        return drawn[-1]

    rng = np.random.default_rng(0)
    chain = swap_points(draw, partial(rbf, sigma=0.5), 6, rng, steps=200)
    assert chain.accepted > 20
    assert len(drawn) == 206
    assert np.array_equal(chain.points, [drawn[i] for i in chain.items])
    expected = np.linalg.slogdet(rbf(chain.points, chain.points, 0.5))[1]
    assert chain.log_dets[-1] == pytest.approx(expected, abs=1e-9)


def test_default_number_of_steps():
    assert [default_steps(k) for k in (1, 10, 20)] == [1000, 1000, 2000]
    chain = swap_points(lambda rng: rng.random((100, 2)), KERNEL, 2, np.random.default_rng(0))
    assert len(chain.log_dets) == 1001
    assert default_steps(20, 3000) == 30_000
    assert len(swap_items(np.eye(150), 2, np.random.default_rng(0)).log_dets) == 1501


def test_a_single_outstanding_item_of_many_is_found():
    """Its inclusion probability is above 0.999; 1000 steps propose half of the items."""
    quality = np.ones(1500)
    quality[7] = 1000
    rng = np.random.default_rng(0)
    assert all(7 in swap_items(np.eye(1500), 3, rng, quality).items for _ in range(6))


def test_duplicates_are_never_drawn_together():
    """Even where sets of distinct points have determinants of 1e-9."""
    rng = np.random.default_rng(0)
    points = np.repeat(np.linspace(0, 1, 7), 3)[:, None]
    similarity = rbf(points, points, 0.6)
    for _ in range(50):
        chain = swap_items(similarity, 6, rng, steps=200)
        assert len(set(chain.items // 3)) == 6
        assert chain.log_dets[-1] == pytest.approx(
            np.linalg.slogdet(similarity[np.ix_(chain.items, chain.items)])[1], rel=1e-4
        )


def test_strata_that_uniform_sets_miss():
    """One of each of 12 strata: no uniform set is a start, the greedy one is."""
    labels = np.repeat(np.arange(12), 5)
    similarity = (labels[:, None] == labels).astype(float)
    rng = np.random.default_rng(0)
    firsts = [swap_items(similarity, 12, rng, steps=300).items for _ in range(40)]
    assert all(sorted(labels[items]) == list(range(12)) for items in firsts)
    assert len({tuple(sorted(items)) for items in firsts}) == 40
    assert len({items[0] // 5 for items in firsts}) > 6  # in random order
    with pytest.raises(UserError, match="only 12 items are linearly independent"):
        swap_items(similarity, 13, rng)


def test_items_of_quality_0_are_never_drawn():
    quality = np.array([0, 1, 1, 0, 1, 1.0])
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert not {0, 3} & set(swap_items(SIMILARITY, 3, rng, quality, 50).items.tolist())
    assert sorted(swap_items(SIMILARITY, 4, rng, quality).items) == [1, 2, 4, 5]
    with pytest.raises(UserError, match=r"k is 5, .*at most 4, the number of items of positive"):
        swap_items(SIMILARITY, 5, rng, quality)


def test_the_same_generator_gives_the_same_chain():
    for sample in SAMPLERS.values():
        one, other = (sample(np.random.default_rng(5), 3, QUALITY, 100) for _ in range(2))
        assert np.array_equal(one, other)


def test_rounding_decides_from_scratch(monkeypatch):
    """A chain that is told nothing by its updates takes the same steps."""
    points = np.random.default_rng(3).random((60, 2))
    similarity = rbf(points, points, 0.3)

    def run():
        return swap_items(similarity, 12, np.random.default_rng(0), steps=500)

    fast = run()
    assert 50 < fast.accepted < 450
    monkeypatch.setattr(Determinant, "ratio", lambda *_: (0.5, np.inf))
    slow = run()
    assert np.array_equal(fast.items, slow.items)
    assert fast.log_dets == pytest.approx(slow.log_dets, abs=1e-6)


@pytest.mark.parametrize(
    ("draw", "kernel", "k", "quality", "message"),
    [
        (draw_of_line, KERNEL, 7, None, "7 points are asked for; .* found only 6 distinct"),
        (draw_of_line, KERNEL, 0, None, "k is 0"),
        (lambda rng: rng.random(1), KERNEL, 30, None, "smaller sigma or fewer"),
        (draw_of_line, partial(rbf, sigma=0), 3, None, "sigma of the RBF kernel is 0"),
        (draw_of_line, partial(rbf, sigma=-1), 3, None, "sigma"),
        (draw_of_line, partial(rbf, sigma=np.nan), 3, None, "sigma"),
        (lambda rng: [np.nan], KERNEL, 3, None, "finite feature vector"),
        (lambda rng: [], KERNEL, 3, None, "finite feature vector"),
        (lambda rng: rng.random((1, rng.integers(1, 3))), KERNEL, 3, None, "of one length"),
        (draw_of_line, lambda a, b: KERNEL(a, b) * np.nan, 3, None, "finite"),
        (draw_of_line, lambda a, b: np.ones((1, 1)), 3, None, r"must have the shape \(3, 3\)"),
        (draw_of_line, KERNEL, 3, lambda points: np.zeros(len(points)), "a quality is 0"),
        (draw_of_line, KERNEL, 3, lambda points: -np.ones(len(points)), "not negative"),
    ],
)
def test_bad_spaces(draw, kernel, k, quality, message):
    with pytest.raises(UserError, match=message) as caught:
        swap_points(draw, kernel, k, np.random.default_rng(0), quality)
    assert "\n" not in str(caught.value)


def test_indefinite_kernels():
    """Seen at a swap, if the start sets are positive definite."""
    similarity = np.eye(4)
    similarity[0, 1:] = similarity[1:, 0] = 0.9
    with pytest.raises(UserError, match="positive semidefinite"):
        swap_items(similarity, 3, np.random.default_rng(0))
    with pytest.raises(UserError, match="steps is -1"):
        swap_items(np.eye(3), 2, np.random.default_rng(0), steps=-1)
    with pytest.raises(UserError, match="real numbers"):
        swap_items(np.eye(3) + 0j, 2, np.random.default_rng(0))
    draw, kernel = (lambda rng: rng.random((9, 2))), partial(rbf, sigma=0.1)
    with pytest.raises(UserError, match=r"given points have the shape \(1, 3\), and draws 2 feat"):
        swap_points(draw, kernel, 2, np.random.default_rng(0), given=np.zeros((1, 3)))
    chain = swap_points(draw, kernel, 2, np.random.default_rng(0), steps=5, given=[[0, 1]])
    same = swap_points(draw, kernel, 2, np.random.default_rng(0), steps=5, given=np.eye(2)[1:])
    assert np.array_equal(chain.points, same.points)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64])
def test_sizes_may_be_small_integers_of_numpy(kind):
    """Multiples of such a number overflow."""
    k, features = kind(3), np.eye(6, 3) + 0.1
    draws = [
        lambda k, rng: swap_items(SIMILARITY, k, rng).items,
        lambda k, rng: swap_points(draw_of_line, KERNEL, k, rng).points,
        lambda k, rng: swap_features(features, k, 0.5, rng).items,
        lambda k, rng: LEnsemble.from_similarity(SIMILARITY).sample(rng, k),
        lambda k, rng: sample_by_variance(LINE, k, KERNEL, rng),
    ]
    for draw in draws:
        found, expected = (draw(size, np.random.default_rng(0)) for size in (k, 3))
        np.testing.assert_array_equal(found, expected)
    assert length_scale(draw_of_line, k, np.random.default_rng(0)).sigma > 0
