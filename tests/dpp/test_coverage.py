"""Designs on a range and their measures: by hand, by brute force, against laws that are known."""

import json
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

import spread
from ensemble_search.dpp import coverage
from ensemble_search.dpp.coverage import unit_grid
from ensemble_search.dpp.exact import LEnsemble, heads
from ensemble_search.dpp.kernels import rbf
from ensemble_search.runtime.errors import UserError
from support import subsets

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def few_cells(monkeypatch):
    """The decomposition of 2000 takes seconds."""
    monkeypatch.setattr(coverage, "CELLS", 120)


def designs(sampler: str, k: int, samples: int, seed=0) -> np.ndarray:
    drawn = coverage.designs(sampler, k, np.random.default_rng(seed))
    return np.array(list(islice(drawn, samples)))


@pytest.mark.parametrize(
    ("points", "discrepancy"),
    [([0.5], 0.5), ([0.25, 0.75], 0.25), ([0.75, 0.25], 0.25), ([0.0], 1.0), ([0.9, 0.8], 0.8),
     ([0.1, 0.2, 0.4], 0.6), ([1 / 6, 0.5, 5 / 6], 1 / 6)],
)  # fmt: skip
def test_star_discrepancy_by_hand(points, discrepancy):
    assert coverage.star_discrepancy(np.array(points)) == pytest.approx(discrepancy)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).map(np.array))
def test_star_discrepancy_by_brute_force(points):
    """The supremum over ends t is reached at a point, with or without it, or at 1."""
    ends = np.append(points, 1.0)
    closed = np.abs((points <= ends[:, None]).mean(axis=1) - ends).max()
    open_ = np.abs((points < ends[:, None]).mean(axis=1) - ends).max()
    assert coverage.star_discrepancy(points) == pytest.approx(max(closed, open_), abs=1e-12)


def test_distances_by_hand():
    found = coverage.measure(np.array([0.9, 0.2, 0.65]))
    assert found["centre"] == pytest.approx(0.15**2)
    assert found["origin"] == pytest.approx(0.2**2)
    assert found["discrepancy"] == pytest.approx(1 / 6 + 0.15)


def test_sobol_is_a_shifted_sequence_with_its_first_point():
    first = [0, 1 / 2, 3 / 4, 1 / 4, 3 / 8, 7 / 8]
    for points in designs("sobol", 6, 3):
        assert ((points - points[0]) % 1) == pytest.approx(first)
    starts = designs("sobol", 1, 300)[:, 0]
    assert kstest(starts, "uniform").pvalue > 0.01
    # 2^m points are evenly spaced: the discrepancy depends on the shift only.
    assert max(map(coverage.star_discrepancy, designs("sobol", 64, 50))) <= 1 / 64 + 1e-12


@pytest.mark.parametrize("sampler", coverage.SAMPLERS)
def test_samplers(sampler):
    """Points in the range, new ones in every design, the same from the same generator."""
    found = designs(sampler, 7, 3)
    assert found.shape == (3, 7) and (found >= 0).all() and (found <= 1).all()
    assert len(np.unique(found)) > 18
    assert (found == designs(sampler, 7, 3)).all()
    assert (found[:2] == designs(sampler, 7, 2)).all()
    assert (found != designs(sampler, 7, 3, seed=1)).any()


def test_k_dpp_has_the_law_of_all_sets_of_cells(monkeypatch):
    monkeypatch.setattr(coverage, "CELLS", 6)
    cells = (np.arange(6)[:, None] + 0.5) / 6
    law = subsets.law(rbf(cells, cells, 2**0.5 / 3), 3)
    drawn = coverage.designs("k-dpp", 3, np.random.default_rng(0))
    assert subsets.distance(lambda: (next(drawn) * 6).astype(int), law, 2500) < 1


def test_points_of_a_k_dpp_are_uniform_in_their_cells(monkeypatch):
    monkeypatch.setattr(coverage, "CELLS", 6)
    within = designs("k-dpp", 6, 100).ravel() * 6 % 1
    assert kstest(within, "uniform").pvalue > 0.01


def test_seq_pv_is_the_sampler_by_posterior_variance_on_the_grid(monkeypatch):
    """Every ordered pair of six candidates has its probability."""
    monkeypatch.setattr(coverage, "unit_grid", lambda _: np.linspace(0, 1, 6)[:, None])
    grid = np.linspace(0, 1, 6)
    drawn = designs("seq-pv", 2, 4000)
    first, second = np.searchsorted(grid, drawn - 1e-9).T
    variance = 1 - np.square(rbf(grid[:, None], grid[:, None], 2**0.5 / 2))
    expected = variance / variance.sum(axis=1, keepdims=True) / 6
    counts = np.zeros((6, 6))
    np.add.at(counts, (first, second), 1)
    assert counts / 4000 == pytest.approx(expected, abs=0.014)


def test_repelling_points_cover_the_range_more_evenly_than_uniform_ones():
    found = {
        s: np.median(list(map(coverage.star_discrepancy, designs(s, 30, 20))))
        for s in coverage.SAMPLERS
    }
    assert found["sobol"] < found["k-dpp"] < 0.6 * found["uniform"]
    assert found["sobol"] < found["seq-pv"] < 0.6 * found["uniform"]


def test_counts_of_a_dpp_vary_in_proportion_to_their_number():
    """Hence discrepancies shrink like 1 / sqrt(k), in the end by 0.23 times those of uniform ones.

    In a DPP the number of points from 0 to 1/2 has the variance trace(K - K K), K the marginal
    kernel there; in a Poisson process, its expectation.
    """
    cells = (np.arange(300)[:, None] + 0.5) / 300
    variances = []
    for k in (20, 40, 60):
        ensemble = LEnsemble.from_similarity(rbf(cells, cells, coverage.length_scale(k)))
        ensemble = ensemble.of_expected_size(k)
        half = ensemble.vectors[:150] * np.sqrt(heads(ensemble.log_values))
        marginal = half @ half.T
        variances.append(np.trace(marginal) - np.square(marginal).sum())
    assert np.diff(variances) / 10 == pytest.approx(0.0512, abs=0.0005)


@pytest.mark.parametrize("sampler", coverage.SAMPLERS)
@pytest.mark.parametrize("k", [0, 121])
def test_no_points_and_more_than_cells(sampler, k):
    with pytest.raises(UserError, match=f"k is {k}, must be at least 1 and at most 120, "):
        coverage.designs(sampler, k, np.random.default_rng(0))


@pytest.mark.parametrize("points", [0.5, [], [0.5, np.nan], [-0.1], [1.1], [[0.5]]])
def test_no_points_from_0_to_1(points):
    with pytest.raises(UserError, match="one point or more from 0 to 1"):
        coverage.star_discrepancy(points)


def test_a_grid_of_nothing():
    with pytest.raises(
        UserError, match="dimensions of a grid is 0, must be an integer from 1 to 64"
    ):
        unit_grid(0)


def test_unknown_sampler():
    with pytest.raises(UserError, match="no sampler 'sobel'; choose from uniform, sobol, seq-pv"):
        coverage.designs("sobel", 3, np.random.default_rng(0))


def test_as_many_points_as_cells():
    """Every cell has one: also the largest k has the rank that it needs."""
    for points in designs("k-dpp", 120, 2):
        assert sorted((points * 120).astype(int)) == list(range(120))


def test_script(tmp_path, monkeypatch):
    job = {"sampler": "uniform", "sizes": [3, 1], "samples": 4, "seed": 5}
    path = tmp_path / "spread.parquet"
    monkeypatch.setattr("sys.argv", ["spread.py", "--job", json.dumps(job), "--output", str(path)])
    spread.main()
    table = pd.read_parquet(path)
    assert table["size"].tolist() == 4 * [3] + 4 * [1]
    assert table["sample"].tolist() == 2 * [0, 1, 2, 3]
    # Any list of sizes with 1 gives the same designs of 1 point.
    drawn = islice(coverage.uniform(1, np.random.default_rng([5, 1, *b"uniform"])), 4)
    measured = [coverage.measure(points) for points in drawn]
    assert table.iloc[4:, 2:].to_dict("records") == measured
