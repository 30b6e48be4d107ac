"""Samplers that are called with other types than documented."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ensemble_search.dpp import coverage
from ensemble_search.dpp.exact import LEnsemble
from ensemble_search.dpp.greedy import greedy_map
from ensemble_search.dpp.kernels import length_scale, rbf
from ensemble_search.dpp.low_rank import swap_features
from ensemble_search.dpp.mcmc import swap_items, swap_points
from ensemble_search.runtime.errors import UserError

POINTS = np.random.default_rng(0).random((6, 2))


def kernel(a, b):
    return rbf(a, b, 1.0)


def sample(rng, k):
    return LEnsemble.from_similarity(kernel(POINTS, POINTS)).sample(rng, k)


def designs(sampler, k, rng):
    return next(coverage.designs(sampler, k, rng))


def draw(rng):
    return rng.random((8, 2))


def ones(points):
    return np.ones(len(points))


def expected(size):
    return LEnsemble.from_similarity(np.eye(6)).of_expected_size(size).inclusion().sum()


#: Functions with valid arguments, but for generators.
CALLS = {
    sample: {"k": 2},
    swap_items: {"similarity": np.eye(6), "k": 2, "quality": np.ones(6), "steps": 9},
    swap_features: {
        **{"features": POINTS, "k": 2, "alpha": 0.5, "steps": 9},
        **{"groups": np.zeros(6, int), "given": np.array([0])},
    },
    coverage.sample_by_variance: {"candidates": POINTS, "k": 2, "kernel": kernel},
    coverage.unit_grid: {"dimensions": 2, "points": 9},
    coverage.length_scale: {"k": 3},
    coverage.measure: {"points": np.array([0.25, 0.75])},
    designs: {"sampler": "uniform", "k": 3},
    swap_points: {
        **{"draw": draw, "kernel": kernel, "k": 2, "quality": ones, "steps": 9},
        **{"given": POINTS[:1]},
    },
    length_scale: {"draw": draw, "k": 2, "sigma": 1.0},
    greedy_map: {"similarity": np.eye(6), "k": 2, "quality": np.ones(6)},
    rbf: {"a": POINTS, "b": POINTS, "sigma": 1.0},
    expected: {"size": 2.5},
}
#: Wrong for every argument of them.
WRONG = {
    "a function": lambda *_: None,
    "a seed below 0": -1,
    "text": "a",
    "a set": {1, 2},
    "no number": float("nan"),
    "numbers of another seed": np.random.RandomState(0),
    "a module": np.random,
    "lists of two lengths": [[1], [1, 2]],
    "a mapping": {"a": 1},
    "three dimensions": np.zeros((2, 2, 2)),
    "dates": np.array(["2020-01-01"] * 6, "M8[D]"),
    "categories": pd.Categorical(list("aabbcc")),
    "complex": 1j,
    "huge": 10**400,
}
ARGUMENTS = [
    pytest.param(function, name, id=f"{function.__name__}-{name}")
    for function, given in CALLS.items()
    for name in (*given, *(["rng"] if function.__code__.co_varnames.count("rng") else []))
]


@pytest.mark.parametrize(("function", "argument"), ARGUMENTS)
def test_another_type_is_one_line(function, argument):
    rng = {"rng": np.random.default_rng(0)} if "rng" in function.__code__.co_varnames else {}
    right = {**CALLS[function], **rng}
    function(**right)
    for value in WRONG.values():
        with pytest.raises(UserError) as error:
            function(**{**right, argument: value})
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("rng", [0, None, np.random])
def test_a_seed_is_not_a_generator(rng):
    with pytest.raises(UserError, match=r"rng must be a numpy.random.Generator, such as"):
        sample(rng, 2)


@pytest.mark.parametrize(
    ("dimensions", "points", "message"),
    [
        (2.5, 9, "dimensions of a grid is 2.5, must be an integer from 1 to 64"),
        (True, 9, "dimensions of a grid is True"),
        (65, 9, "dimensions of a grid is 65"),
        (1, "9", "points of a grid is '9'"),
        (1, 10**12, "points of a grid is 1000000000000, must be an integer from 1 to 10000000"),
    ],
)
def test_grids_have_integers(dimensions, points, message):
    with pytest.raises(UserError, match=message):
        coverage.unit_grid(dimensions, points)


def test_fractions_and_small_floats_are_numbers():
    assert expected(Fraction(5, 2)) == expected(2.5)
    rng, half = np.random.default_rng, Fraction(1, 2)
    np.testing.assert_array_equal(rbf(POINTS, POINTS, half), rbf(POINTS, POINTS, 0.5))
    # In half precision, -0.5 / 1e-5 is infinite, and 0 times that is not a number.
    np.testing.assert_array_equal(rbf(POINTS, POINTS, np.float16(1e-5)), np.eye(6))
    same = [swap_features(POINTS, 2, alpha, rng(0)).items.tolist() for alpha in (half, 0.5)]
    assert same[0] == same[1]
    same = [length_scale(draw, 3, rng(0), sigma).spread for sigma in (half, 0.5)]
    assert same[0] == same[1]


def test_numbers_beyond_float64_are_named_without_a_warning():
    huge = np.full(6, np.longdouble("1e4000"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserError, match="qualities must be finite"):
            LEnsemble.from_similarity(np.eye(6), huge)
        with pytest.raises(UserError, match="sigma of the RBF kernel"):
            rbf(POINTS, POINTS, 10**400)


def test_a_quality_that_returns_nothing_is_not_1():
    with pytest.raises(UserError, match="as many qualities"):
        swap_points(draw, kernel, 2, np.random.default_rng(0), lambda points: None)


@pytest.mark.parametrize(
    ("scale", "message"), [(1e-200, "multiply the kernel"), (1e200, "divide the kernel"), (1, None)]
)
def test_kernels_whose_squares_overflow_are_named(scale, message):
    def scaled(a, b):
        return scale * kernel(a, b)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            swap_points(draw, scaled, 2, np.random.default_rng(0))
            assert message is None
        except UserError as error:
            assert message and message in str(error)


def test_sparse_matrices_are_read():
    from scipy.sparse import csr_matrix

    assert greedy_map(csr_matrix(np.eye(6)), 2).tolist() == [0, 1]


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_python_does_not_write_cost_a_line(sign):
    huge, generator = sign * 10**5000, np.random.default_rng(0)
    ensemble = LEnsemble.from_similarity(np.eye(6))
    for call in (
        lambda: ensemble.sample(generator, k=huge),
        lambda: ensemble.sample(generator, k=[huge]),
        lambda: swap_points(draw, kernel, huge, generator),
        lambda: swap_points(draw, kernel, 2, generator, steps=huge),
        lambda: greedy_map(np.eye(6), huge),
        lambda: rbf(POINTS, POINTS, huge),
    ):
        with pytest.raises(UserError, match=r"of type (int|list) with thousands of digits"):
            call()
