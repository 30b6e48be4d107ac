"""k-DPPs of many items: by strata, and by features of low rank; against all subsets of a few."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemble_search.data.subsets import fourier_features
from ensemble_search.dpp.low_rank import swap_features
from ensemble_search.dpp.strata import sample_strata
from ensemble_search.runtime.errors import UserError
from support import subsets

pytestmark = pytest.mark.slow

STRATA = np.array([0, 1, 0, 2, 1, 0, 0])
WEIGHTS = np.array([0.5, 2.0, 1.0])
FEATURES = np.random.default_rng(4).normal(size=(7, 3))
QUALITY = WEIGHTS[STRATA]


def kernel(similarity, alpha, quality):
    return np.outer(quality, quality) * ((1 - alpha) * np.eye(7) + alpha * similarity)


def law(alpha, k, quality, groups=None, similarity=None):
    similarity = (STRATA[:, None] == STRATA).astype(float) if similarity is None else similarity
    if groups is not None:
        similarity = similarity * (groups[:, None] == groups)
    return subsets.law(kernel(similarity, alpha, quality), k)


@pytest.mark.parametrize(
    ("alpha", "k", "weights"),
    [(0.8, 3, None), (0.6, 4, WEIGHTS), (1.0, 3, WEIGHTS)],
)
def test_law_by_strata(alpha, k, weights):
    rng = np.random.default_rng(0)
    expected = law(alpha, k, np.ones(7) if weights is None else QUALITY)
    sample = lambda: sample_strata(STRATA, k, alpha, rng, weights)  # noqa: E731
    assert subsets.distance(sample, expected, 400) < 1
    uniform = dict.fromkeys(expected, 1 / len(expected))
    assert subsets.distance(sample, uniform, 400) > 1


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=8), st.floats(0, 1), st.floats(0, 1),
    st.integers(0, 2**32),
)  # fmt: skip
def test_strata_of_any_size(sizes, share, alpha, seed):
    rng = np.random.default_rng(seed)
    strata = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    most = len(sizes) if alpha == 1 else len(strata)
    k = max(1, round(share * most))
    items = sample_strata(strata, k, alpha, rng, rng.uniform(0.01, 100, len(sizes)))
    assert len(set(items.tolist())) == len(items) == k
    assert alpha < 1 or len(set(strata[items])) == k


def test_one_of_each_stratum_is_a_stratified_sample():
    rng = np.random.default_rng(0)
    cells = np.repeat(np.arange(40), 3)
    drawn = [sample_strata(cells, 40, 1.0, rng) for _ in range(300)]
    assert all(sorted(cells[items]) == list(range(40)) for items in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=120)
    assert counts.min() > 60 and counts.max() < 140  # each of three, 100 expected


def test_counts_of_large_strata():
    """Label likeness alone does not even out classes, qualities do."""
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1], [50, 10])

    def majority(alpha, weights=None):
        draws = (sample_strata(strata, 10, alpha, rng, weights) for _ in range(800))
        return np.mean([(strata[items] == 0).sum() for items in draws])

    assert majority(0.0) == pytest.approx(50 / 6, abs=0.15)
    assert majority(0.99) == pytest.approx(7.76, abs=0.17)
    assert majority(0.99, 1 / np.sqrt([50, 10])) == pytest.approx(5.77, abs=0.17)


@pytest.mark.parametrize("groups", [None, STRATA])
@pytest.mark.parametrize(("alpha", "quality"), [(0.9, None), (0.95, QUALITY)])
def test_law_by_features(alpha, quality, groups):
    rng = np.random.default_rng(0)
    ones = np.ones(7) if quality is None else quality
    expected = law(alpha, 4, ones, groups, FEATURES @ FEATURES.T)
    sample = lambda: swap_features(FEATURES, 4, alpha, rng, quality, groups, 40).items  # noqa: E731
    assert subsets.distance(sample, expected, 450) < 1
    uniform = dict.fromkeys(expected, 1 / len(expected))
    assert subsets.distance(sample, uniform, 450) > 1.3


def test_the_trace_of_log_determinants():
    """Also after the inverses have been refreshed."""
    rng = np.random.default_rng(1)
    features, groups = rng.normal(size=(200, 5)), rng.integers(3, size=200)
    quality = rng.uniform(0.5, 2, 200)
    chain = swap_features(features, 30, 0.9, rng, quality, groups, 3000)
    assert 500 < chain.accepted < 3000
    similarity = features @ features.T * (groups[:, None] == groups)
    whole = np.outer(quality, quality) * (0.1 * np.eye(200) + 0.9 * similarity)
    expected = np.linalg.slogdet(whole[np.ix_(chain.items, chain.items)])[1]
    assert chain.log_dets[-1] == pytest.approx(expected, abs=1e-6)
    assert len(set(chain.items.tolist())) == 30


def test_the_largest_alpha():
    """Rows that are far fewer than features, where swaps are of small differences: no drift."""
    rng = np.random.default_rng(1)
    features = fourier_features(rng.normal(size=(107, 13)), rng)
    similarity = 1e-5 * np.eye(107) + (1 - 1e-5) * features @ features.T
    chain = swap_features(features, 32, 1 - 1e-5, rng)
    assert chain.accepted > 500
    exact = np.linalg.slogdet(similarity[np.ix_(chain.items, chain.items)])[1]
    assert chain.log_dets[-1] == pytest.approx(exact, abs=0.05)


def test_limits():
    rng = np.random.default_rng(0)
    assert sorted(swap_features(FEATURES, 7, 0.5, rng).items) == list(range(7))
    assert sorted(sample_strata(STRATA, 7, 0.5, rng)) == list(range(7))
    strata = STRATA.tolist()
    for draw in (
        lambda rng, strata: sample_strata(strata, 3, 0.5, rng).tolist(),
        lambda rng, strata: swap_features(FEATURES, 3, 0.5, rng, groups=strata).items.tolist(),
    ):  # lists are taken, too
        assert draw(np.random.default_rng(1), strata) == draw(np.random.default_rng(1), STRATA)
    with pytest.raises(UserError, match="k is True, must be an integer"):
        sample_strata(STRATA, True, 0.5, rng)
    for alpha in (-0.1, 1.1, np.nan, None, True):
        with pytest.raises(UserError, match=f"alpha is {alpha}, must be a number from 0 to 1"):
            sample_strata(STRATA, 2, alpha, rng)
        with pytest.raises(UserError, match=f"alpha is {alpha}"):
            swap_features(FEATURES, 2, alpha, rng)
    unit = FEATURES / np.linalg.norm(FEATURES, axis=1, keepdims=True)
    for alpha in (1.0, 1 - 1e-9):
        with pytest.raises(UserError, match=f"alpha is {alpha}, must be at most 1 - 1e-05 for a c"):
            swap_features(unit, 2, alpha, rng)
    with pytest.raises(UserError, match=r"alpha is 1.0, must be at most 1 - 1e-16 for a chain"):
        swap_features(0 * unit, 2, 1.0, rng)
    with pytest.raises(UserError, match=r"must be at most 1 - 0.09 for a chain"):
        swap_features(100 * unit, 2, 0.95, rng)
    with pytest.raises(
        UserError, match="k is 4, must be at least 1 and at most 3, the number of s"
    ):
        sample_strata(STRATA, 4, 1.0, rng)
    with pytest.raises(UserError, match="k is 8"):
        swap_features(FEATURES, 8, 0.5, rng)
    with pytest.raises(UserError, match="qualities must be positive"):
        swap_features(FEATURES, 2, 0.5, rng, np.zeros(7))
    with pytest.raises(UserError, match="finite"):
        swap_features(FEATURES * np.nan, 2, 0.5, rng)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": -5}, r"steps is -5, must be an integer from 0 to 1e\+09"),
        ({"steps": 10**30}, r"steps is 10+, must be an integer from 0 to 1e\+09"),
        ({"steps": 2.5}, "steps is 2.5"),
        ({"k": 2.5}, "k is 2.5, must be an integer"),
        ({"features": FEATURES[0]}, "features must be a matrix"),
        ({"groups": np.zeros(6, dtype=int)}, "groups must be 7 integers"),
        (
            {"groups": np.full(7, -1)},
            "groups must be numbered from 0, below the number of items, 7",
        ),
        ({"given": np.array([7])}, "given items must be different integers from 0 to 6"),
        ({"given": np.array([-1])}, "given items must be different integers from 0 to 6"),
        ({"given": [1.0]}, "given items must be a list of integers"),
        ({"given": [1, 1]}, "given items must be different integers"),
        ({"given": [True, False]}, "given items must be a list of integers"),
    ],
)
def test_bad_arguments_of_the_chain(changes, message):
    call = {"features": FEATURES, "k": 2, "alpha": 0.5, "rng": np.random.default_rng(0)}
    with pytest.raises(UserError, match=message):
        swap_features(**{**call, **changes})


@pytest.mark.parametrize(
    ("strata", "quality", "message"),
    [
        ([0, 0, 2], None, "strata must be without gaps; none is 1"),
        ([0, -1, 1], None, "strata must be numbered from 0, below the number of items, 3"),
        ([0, 0.5, 1], None, "strata must be a list of integers"),
        ([0, 0, 1], [0.0, 1.0], "qualities must be positive"),
    ],
)
def test_bad_strata(strata, quality, message):
    with pytest.raises(UserError, match=message):
        sample_strata(strata, 2, 0.5, np.random.default_rng(0), quality)
