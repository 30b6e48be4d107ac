"""Variance components: by hand, without bias for unequal numbers, and what intervals cover."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import components, effects

pytestmark = pytest.mark.slow

LEVELS = ["dataset", "split", "repeat"]
#: Splits of each data set, with the number of seeds on each: unequal.
UNEQUAL = [[1, 2], [3], [2, 2, 1], [1, 1, 1, 1], [4, 2], [1, 3]]


def rows(design) -> pd.MultiIndex:
    return pd.MultiIndex.from_tuples(
        [
            (d, s, r)
            for d, splits in enumerate(design)
            for s, seeds in enumerate(splits)
            for r in range(seeds)
        ],
        names=LEVELS,
    )


def drawn(design, deviations, rng, samples, skewed=False) -> pd.DataFrame:
    """Samples, one a column, of values with mean 0 and these deviations by level."""
    index = rows(design)
    total = np.zeros((len(index), samples))
    for depth, deviation in enumerate(deviations, start=1):
        own = pd.Series(0, index).groupby(level=LEVELS[:depth]).ngroup().to_numpy()
        size = own.max() + 1, samples
        # Of a gamma distribution with skewness 0.7, or a normal one.
        effect = (rng.gamma(8, size=size) - 8) / np.sqrt(8) if skewed else rng.normal(size=size)
        total += deviation * effect[own]
    return pd.DataFrame(total, index)


def test_balanced_components_by_hand():
    index = pd.MultiIndex.from_product([["d", "e"], [0, 1]], names=["dataset", "repeat"])
    # Means 2 and 7; within them, variances 2 and 8: 5, and 12.5 - 5 / 2.
    found = components.components(pd.Series([1.0, 3.0, 5.0, 9.0], index))
    assert found.to_dict() == pytest.approx({"dataset": 10, "repeat": 5})
    # Equal means: the component between data sets is estimated as negative.
    found = components.components(pd.Series([1.0, 3.0, 0.0, 4.0], index))
    assert found.to_dict() == pytest.approx({"dataset": -2.5, "repeat": 5})


def test_unbalanced_components_by_hand():
    # Groups of 1 and 3 with means 0 and 4, of values 2, 4, 6: 4 within, with 2 degrees of freedom.
    # Between: 12 = variance within + n0 * component, n0 = 4 - (1 + 9) / 4.
    index = pd.MultiIndex.from_tuples(
        [("d", 0), ("e", 0), ("e", 1), ("e", 2)], names=["dataset", "repeat"]
    )
    found = components.components(pd.Series([0.0, 2.0, 4.0, 6.0], index))
    assert found.to_dict() == pytest.approx({"dataset": (12 - 4) / 1.5, "repeat": 4})


def test_estimates_are_unbiased_for_unequal_numbers():
    rng = np.random.default_rng(0)
    wanted = np.array([1.0, 0.8, 0.5])
    samples = drawn(UNEQUAL, wanted, rng, 500)
    found = [components.components(samples[sample]) for sample in samples]
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(500)
    assert (np.abs(mean - wanted**2) < 4 * error).all()


def test_levels_that_cannot_be_seen_are_part_of_the_one_before():
    rng = np.random.default_rng(1)
    one_seed = components.components(drawn([[1, 1], [1, 1, 1]], (1, 1, 1), rng, 1)[0])
    assert one_seed.isna().tolist() == [False, False, True]
    one_split = components.components(drawn([[3], [2]], (1, 1, 1), rng, 1)[0])
    assert one_split.isna().tolist() == [False, True, False]
    one_set = components.components(drawn([[2, 2]], (1, 1, 1), rng, 1)[0])
    assert one_set.isna().tolist() == [True, False, False]
    assert components.components(drawn([[1]], (1, 1, 1), rng, 1)[0]).isna().all()


def test_deviations_by_method():
    index = pd.MultiIndex.from_product([["d", "e"], ["fixed"], [0, 1]], names=LEVELS)
    tests = pd.DataFrame({"a": [1.0, 3.0, 5.0, 9.0], "b": [1.0, 3.0, 0.0, 4.0], "ref": 0.0}, index)
    found = components.deviations(tests, "ref")
    assert found.columns.tolist() == ["dataset", "repeat"]
    assert found.loc["a"].tolist() == pytest.approx([10**0.5, 5**0.5])
    assert found.loc["b"].tolist() == pytest.approx([0, 5**0.5])


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize(
    "design",
    [
        [[3]] * 5,  # seeds on one split
        [[1, 1, 1]] * 6,  # a split for each seed
        [[2, 2]] * 14,
        UNEQUAL * 2,
    ],
    ids=["seeds", "splits", "both", "unequal"],
)
def test_intervals_over_data_sets_cover_splits_and_seeds(design, skewed):
    """The mean over data sets, splits and seeds is 0; each of the three varies."""
    rng = np.random.default_rng(len(design))
    deviations = (0.3, 0.6, 0.5)
    errors = drawn(design, deviations, rng, 3000, skewed).groupby(level="dataset").mean()
    found = effects.intervals(pd.concat([errors, errors[0].rename("ref") * 0], axis=1), "ref")
    covered = ((found["error_low"] <= 0) & (found["error_high"] >= 0)).mean()
    assert 0.93 <= covered <= 0.97
    # The variance of a data set's mean, as the module says.
    if design == [[2, 2]] * 14:
        expected = 0.3**2 + 0.6**2 / 2 + 0.5**2 / 4
        assert errors.var().mean() == pytest.approx(expected, rel=0.05)


def test_more_seeds_on_one_split_hardly_narrow_an_interval():
    """What buys power is data sets and splits."""
    widths = {}
    for name, design in {"one": [[1]], "seeds": [[8]], "splits": [[1] * 8]}.items():
        rng = np.random.default_rng(0)
        samples = drawn(design * 14, (0.3, 0.6, 0.3), rng, 300)
        errors = samples.groupby(level="dataset").mean()
        widths[name] = np.mean([effects.detectable(errors[sample]) for sample in errors])
    assert widths["seeds"] > 0.88 * widths["one"]
    assert widths["splits"] < 0.62 * widths["one"]
