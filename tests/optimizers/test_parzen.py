"""Parzen estimators by hand, against SciPy's truncated normals, and as distributions."""

import numpy as np
import pytest
from ConfigSpace import Categorical, Float, Integer, OrdinalHyperparameter
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import simpson
from scipy.stats import chisquare, kstest, norm, truncnorm

from ensemble_search.optimizers._model_based.parzen import bandwidths, estimate, recency
from ensemble_search.spaces._encoding import Column

pytestmark = pytest.mark.slow

FLOAT = Column.of(Float("x", (-2.0, 6.0)))
LOG = Column.of(Float("x", (1e-4, 10.0), log=True))
INTEGER = Column.of(Integer("k", (2, 9)))
LOG_INTEGER = Column.of(Integer("k", (1, 40), log=True))
ORDINAL = Column.of(OrdinalHyperparameter("o", ["low", "middle", "high"]))
CATEGORY = Column.of(Categorical("c", ["a", "b", "c"]))


def entries(column: Column, *values) -> np.ndarray:
    return np.array([column.entry(value) for value in values])


def all_entries(column: Column) -> np.ndarray:
    values = column.choices or range(int(column.lower), int(column.upper) + 1)
    return entries(column, *values)


def test_old_observations_are_forgotten_linearly():
    assert recency(0).tolist() == []
    assert recency(3).tolist() == [1, 1, 1]
    assert recency(25).tolist() == [1] * 25
    assert recency(26).tolist() == [1 / 26] + [1] * 25
    np.testing.assert_allclose(recency(28), [1 / 28, (1 / 28 + 1) / 2, 1] + [1] * 25)


@pytest.mark.parametrize(
    ("centres", "expected"),
    [
        ([], [1]),
        ([0.9], [1, 0.5]),
        ([0.1, 0.95, 0.7], [1, 0.4, 0.25, 0.25]),  # the prior's mean, 0.5, is a neighbour
        ([0.52, 0.97], [1, 0.45, 0.45]),
        ([0.52, 0.51], [1, 0.25, 0.25]),  # at least 1 / (n + 2)
        ([0.5, 0.9, 0.3], [1, 0.4, 0.4, 0.2]),
        ([0.0, 1.0, 0.0], [1, 0.2, 0.5, 0.5]),  # of equal ones, the older is further out
    ],
)
def test_bandwidths_by_hand(centres, expected):
    np.testing.assert_allclose(bandwidths(np.array(centres)), expected)


def test_bandwidths_of_many_are_at_least_a_hundredth():
    deviations = bandwidths(np.linspace(0.6, 0.7, 200))
    np.testing.assert_allclose(deviations, [1, 0.1, *[0.01] * 199])


def test_categories_by_hand():
    """One more for each category; the oldest of 26 has the weight 1/26."""
    assert estimate(CATEGORY, np.empty(0)).probabilities.tolist() == [1 / 3] * 3
    few = estimate(CATEGORY, entries(CATEGORY, "a", "c", "c"))
    np.testing.assert_allclose(few.probabilities, [2 / 6, 1 / 6, 3 / 6])
    np.testing.assert_allclose(few.log_likelihood(np.array([2.0, 0.0])), np.log([3 / 6, 2 / 6]))
    many = estimate(CATEGORY, entries(CATEGORY, "b", *"a" * 20, *"c" * 5))
    np.testing.assert_allclose(many.probabilities, np.array([21, 1 + 1 / 26, 6]) / (28 + 1 / 26))


def scaled(column: Column, numbers) -> np.ndarray:
    return np.log(numbers) if column.log else np.asarray(numbers, dtype=float)


def mixture(column: Column, margin: float, values: list) -> tuple[np.ndarray, object]:
    """Truncated normals in a number's scale, and their shares of a mixture cut as a whole."""
    low, high = scaled(column, [column.lower - margin, column.upper + margin])
    centres = scaled(column, values)
    means = np.append((low + high) / 2, centres)
    deviations = (high - low) * bandwidths((centres - low) / (high - low))
    ends = (low - means) / deviations, (high - means) / deviations
    shares = np.append(1, recency(len(values))) * (norm.cdf(ends[1]) - norm.cdf(ends[0]))
    return shares / shares.sum(), truncnorm(*ends, means, deviations)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (FLOAT, [-1.9, 0.5, 5.7, 0.6]),
        (FLOAT, np.linspace(-2, 6, 40)[::-1].tolist()),
        (LOG, [1e-4, 0.3, 2.0]),
    ],
)
def test_floats_are_truncated_normals_in_their_scale(column, values):
    shares, kernels = mixture(column, 0.0, values)
    low, high = scaled(column, [column.lower, column.upper])
    grid = np.linspace(0, 1, 11)
    expected = kernels.pdf(low + grid[:, None] * (high - low)) @ shares * (high - low)
    found = estimate(column, entries(column, *values)).log_likelihood(grid)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("column", "values"),
    [(INTEGER, [2, 9, 4, 4]), (LOG_INTEGER, [1, 40, 3]), (LOG_INTEGER, [7]), (INTEGER, [])],
)
def test_integers_have_the_probability_of_their_interval(column, values):
    shares, kernels = mixture(column, 0.5, values)
    integers = np.arange(column.lower, column.upper + 1)[:, None]
    masses = kernels.cdf(scaled(column, integers + 0.5))
    masses -= kernels.cdf(scaled(column, integers - 0.5))
    found = estimate(column, entries(column, *values)).log_likelihood(all_entries(column))
    np.testing.assert_allclose(np.exp(found), masses @ shares, rtol=1e-6)


@pytest.mark.parametrize("log", [False, True])
def test_ratios_of_wide_integers_are_those_of_densities(log):
    """An interval of length 1 in 2^50 is too narrow for a difference of two probabilities."""
    column = Column.of(Integer("n", (1, 2**50), log=log))
    good, bad = (
        estimate(column, column.entries(np.array(values, dtype=float)))
        for values in ((1, 5, 2**40, 2**49, 2**50 - 1), (2**47, 2**48))
    )
    entries = good.draw(24, np.random.default_rng(0))
    positions = column.positions(entries)[:, None]

    def density(of):
        inside = norm.cdf(1, of.means, of.deviations) - norm.cdf(0, of.means, of.deviations)
        values = norm.logpdf(positions, of.means, of.deviations)
        return np.log(np.exp(values) @ of.weights / (of.weights @ inside))

    found = good.log_likelihood(entries) - bad.log_likelihood(entries)
    large = positions[:, 0] > 0.6  # on a logarithmic scale, small integers have wide intervals
    assert large.any()
    expected = (density(good) - density(bad))[large]
    np.testing.assert_allclose(found[large], expected, rtol=1e-6, atol=1e-6)


@given(st.lists(st.floats(0, 1), max_size=40), st.sampled_from([FLOAT, LOG]))
def test_densities_integrate_to_1(uniform, column):
    made = estimate(column, column.draw(np.array(uniform)))
    grid = np.linspace(0, 1, 2001)
    assert simpson(np.exp(made.log_likelihood(grid)), x=grid) == pytest.approx(1, abs=1e-6)


@given(
    st.lists(st.floats(0, 0.999), max_size=40),
    st.sampled_from([INTEGER, LOG_INTEGER, ORDINAL, CATEGORY]),
)
def test_probabilities_sum_to_1(uniform, column):
    made = estimate(column, column.draw(np.array(uniform)))
    assert np.exp(made.log_likelihood(all_entries(column))).sum() == pytest.approx(1)


@pytest.mark.parametrize("values", [[], [5.9], [-2, -1.9, 3]])
def test_draws_of_floats_follow_the_density(values):
    made = estimate(FLOAT, entries(FLOAT, *values))
    grid = np.linspace(0, 1, 2001)
    density = np.exp(made.log_likelihood(grid))
    cumulative = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2) / 2000)
    drawn = made.draw(5000, np.random.default_rng(1))
    assert drawn.min() >= 0 and drawn.max() <= 1
    assert kstest(drawn, lambda x: np.interp(x, grid, cumulative)).pvalue > 0.01


@pytest.mark.parametrize("column", [INTEGER, LOG_INTEGER, ORDINAL, CATEGORY])
def test_draws_of_others_follow_the_probabilities(column):
    domain = all_entries(column)
    made = estimate(column, domain[[0, 0, -1, 1]])
    drawn = made.draw(5000, np.random.default_rng(1))
    counts = (drawn[:, None] == domain).sum(axis=0)
    assert counts.sum() == 5000
    assert chisquare(counts, 5000 * np.exp(made.log_likelihood(domain))).pvalue > 0.01
