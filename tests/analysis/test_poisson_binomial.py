"""The Poisson binomial test: values by hand, against brute force, and its symmetry."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ensemble_search.analysis import poisson_binomial

pytestmark = pytest.mark.slow

CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=8).map(np.array)


def test_chances_from_labels_by_hand():
    # Beta(1, 1), Beta(2, 1) with the density 2 x, and Beta(3, 2) with 12 x² (1 - x).
    found = poisson_binomial.of_labels(np.array([0, 1, 2, 0]), np.array([0, 0, 1, 1]))
    assert found == pytest.approx([0.5, 0.75, 11 / 16, 0.25])


def test_chances_from_labels_are_those_of_the_posterior():
    """Drawn from the Dirichlet distribution of the three shares."""
    only_first, only_second, neither = 9, 5, 30
    drawn = np.random.default_rng(0).dirichlet(
        (only_first + 1, only_second + 1, neither + 1), 10**5
    )
    found = poisson_binomial.of_labels(np.array(only_first), np.array(only_second))
    assert found == pytest.approx((drawn[:, 0] > drawn[:, 1]).mean(), abs=0.005)


def test_chances_from_losses_by_hand():
    # Mean 1, standard error 1: t with one degree of freedom has 3/4 of its mass below 1.
    low, high = np.array([0.0, 1.0]), np.array([0.0, 3.0])
    assert poisson_binomial.of_losses(high, low) == pytest.approx(0.25)
    assert poisson_binomial.of_losses(low, high) == pytest.approx(0.75)
    # As certain in other units, also where all losses are small.
    assert poisson_binomial.of_losses(1e-9 * high, 1e-9 * low) == pytest.approx(0.25)


def test_chances_from_losses_are_one_sided_p_values_of_the_t_test():
    first, second = np.random.default_rng(1).random(size=(2, 4, 30))
    found = poisson_binomial.of_losses(first, second)
    test = stats.ttest_rel(first, second, axis=1, alternative="greater")
    np.testing.assert_allclose(found, test.pvalue, rtol=1e-4)  # differences are rounded


@pytest.mark.parametrize(
    ("differences", "chance"),
    [([0.0] * 5, 0.5), ([0.1] * 5, 0.0), ([-0.1] * 5, 1.0), ([1e-8, -2e-9, 0.0], 0.5), ([-1.0], 1)],
)
def test_chances_from_losses_that_do_not_vary(differences, chance):
    second = np.ones(len(differences))
    assert poisson_binomial.of_losses(second + differences, second) == chance
    assert poisson_binomial.of_losses(np.zeros(3), np.zeros(3)) == 0.5


@pytest.mark.parametrize("scale", [0.001, 1, 30, 10_000])
def test_losses_that_differ_in_the_last_bit_are_equal(scale):
    first = (scale * np.random.default_rng(0).random(50)).astype(np.float32)
    assert poisson_binomial.of_losses(first, np.nextafter(first, np.float32(np.inf))) == 0.5


def test_an_equal_large_loss_hides_no_difference():
    first, second = np.array([1e6, 1.0, 0.5]), np.array([1e6, 0.8, 0.4])
    test = stats.ttest_rel(first, second, alternative="greater")
    assert poisson_binomial.of_losses(first, second) == pytest.approx(test.pvalue, rel=1e-4)


@given(CHANCES)
def test_the_number_of_data_sets_won_by_brute_force(chances):
    expected = np.zeros(len(chances) + 1)
    for outcome in product((0, 1), repeat=len(chances)):
        expected[sum(outcome)] += np.where(outcome, chances, 1 - chances).prod()
    np.testing.assert_allclose(poisson_binomial.data_sets_won(chances), expected, atol=1e-12)


def test_one_data_set_by_hand():
    # Won: Pr(Beta(2, 1) > 1/2) = 3/4; lost: 1/4.
    assert poisson_binomial.better(np.array([1.0])) == pytest.approx(0.75)
    assert poisson_binomial.better(np.array([0.8])) == pytest.approx(0.8 * 0.75 + 0.2 * 0.25)


def test_known_outcomes():
    assert poisson_binomial.better(np.full(15, 0.5)) == pytest.approx(0.5)
    assert poisson_binomial.better(np.repeat([1.0, 0.0], [18, 4])) == pytest.approx(
        0.9987, abs=5e-5
    )


@given(CHANCES)
def test_the_other_is_better_with_the_rest_of_the_probability(chances):
    both = poisson_binomial.better(np.stack([chances, 1 - chances]))
    assert both.sum() == pytest.approx(1)
    surer = poisson_binomial.better(np.append(chances[1:], min(1, chances[0] + 0.1)))
    assert surer >= both[0] - 1e-12


def test_many_at_once():
    chances = np.random.default_rng(0).random((3, 4, 6))
    found = poisson_binomial.better(chances)
    for place in np.ndindex(3, 4):
        assert found[place] == pytest.approx(poisson_binomial.better(chances[place]))
