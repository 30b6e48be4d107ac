"""k-DPPs of many items by features of low rank; against all subsets of a few."""

import numpy as np
import pytest

from ensemble_search.data.subsets import fourier_features
from ensemble_search.dpp.low_rank import swap_features
from ensemble_search.runtime.errors import UserError
from support import subsets

pytestmark = pytest.mark.slow

GROUPS = np.array([0, 1, 0, 2, 1, 0, 0])
FEATURES = np.random.default_rng(4).normal(size=(7, 3))


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("alpha", [0.9, 0.95])
def test_law_by_features(alpha, groups):
    rng = np.random.default_rng(0)
    similarity = FEATURES @ FEATURES.T
    if groups is not None:
        similarity = similarity * (groups[:, None] == groups)
    expected = subsets.law((1 - alpha) * np.eye(7) + alpha * similarity, 4)
    sample = lambda: swap_features(FEATURES, 4, alpha, rng, groups, 40).items  # noqa: E731
    assert subsets.distance(sample, expected, 450) < 1
    uniform = dict.fromkeys(expected, 1 / len(expected))
    assert subsets.distance(sample, uniform, 450) > 1.3


def test_the_trace_of_log_determinants():
    """Also after the inverses have been refreshed."""
    rng = np.random.default_rng(1)
    features, groups = rng.normal(size=(200, 5)), rng.integers(3, size=200)
    chain = swap_features(features, 30, 0.9, rng, groups, 3000)
    assert 500 < chain.accepted < 3000
    similarity = features @ features.T * (groups[:, None] == groups)
    whole = 0.1 * np.eye(200) + 0.9 * similarity
    expected = np.linalg.slogdet(whole[np.ix_(chain.items, chain.items)])[1]
    assert chain.log_dets[-1] == pytest.approx(expected, abs=1e-6)
    assert len(set(chain.items.tolist())) == 30


def test_the_largest_alpha():
    """Rows that are far fewer than features, where swaps are of small differences: no drift."""
    rng = np.random.default_rng(1)
    features = fourier_features(rng.normal(size=(107, 13)), rng)
    similarity = 1e-4 * np.eye(107) + (1 - 1e-4) * features @ features.T
    chain = swap_features(features, 32, 1 - 1e-4, rng)
    assert chain.accepted > 500
    exact = np.linalg.slogdet(similarity[np.ix_(chain.items, chain.items)])[1]
    assert chain.log_dets[-1] == pytest.approx(exact, abs=1e-3)


def test_limits():
    rng = np.random.default_rng(0)
    assert sorted(swap_features(FEATURES, 7, 0.5, rng).items) == list(range(7))
    drawn = [
        swap_features(FEATURES, 3, 0.5, np.random.default_rng(1), groups=groups).items.tolist()
        for groups in (GROUPS, GROUPS.tolist())  # lists are taken, too
    ]
    assert drawn[0] == drawn[1]
    with pytest.raises(UserError, match="k is True, must be an integer"):
        swap_features(FEATURES, True, 0.5, rng)
    for alpha in (-0.1, 1.1, np.nan, None, True):
        with pytest.raises(UserError, match=f"alpha is {alpha}, must be a number from 0 to 1"):
            swap_features(FEATURES, 2, alpha, rng)
    unit = FEATURES / np.linalg.norm(FEATURES, axis=1, keepdims=True)
    for alpha in (1.0, 1 - 1e-9):
        with pytest.raises(
            UserError, match=f"alpha is {alpha}, must be at most 1 - 0.0001 for a c"
        ):
            swap_features(unit, 2, alpha, rng)
    with pytest.raises(UserError, match=r"alpha is 1.0, must be at most 1 - 1e-16 for a chain"):
        swap_features(0 * unit, 2, 1.0, rng)
    with pytest.raises(UserError, match=r"must be at most 1 - 0.5 for a chain"):
        swap_features(100 * unit, 2, 0.95, rng)
    with pytest.raises(UserError, match="k is 8"):
        swap_features(FEATURES, 8, 0.5, rng)
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
        ({"groups": np.zeros(7)}, "groups must be a list of integers"),
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
