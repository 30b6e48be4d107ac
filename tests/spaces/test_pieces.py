"""Spaces cut into pieces: where the cuts are, and that draws and TPE keep to them."""

import numpy as np
import pytest
from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer, OrdinalHyperparameter
from scipy.stats import kstest

from ensemble_search.optimizers._model_based import parzen
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._pieces import check, cut
from ensemble_search.spaces._table import TableSpace
from support.toy_space import ToySpace, _Toy


class Mixed(_Toy):
    """One hyperparameter of every kind, without conditions."""

    def define(self):
        space = ConfigurationSpace()
        space.add(
            [
                Categorical("c", list("uvwxy")),
                Categorical("constant", ["only"]),
                Float("f", (0.5, 1.0)),
                Float("l", (1e-3, 10.0), log=True),
                Integer("i", (2, 5)),
                Integer("j", (1, 49), log=True),
                OrdinalHyperparameter("o", ["low", "high"]),
            ]
        )
        return space


HALVES = {
    "c": ["uvw", "xy"],
    "f": [(0.5, 0.75), (0.75, 1.0)],
    "l": [(1e-3, 5.0005), (5.0005, 10.0)],
    "i": [[2, 3], [4, 5]],
    "j": [list(range(1, 26)), list(range(26, 50))],
    "o": [["low"], ["high"]],
}


@pytest.fixture(scope="module")
def parts() -> dict:
    return cut(Mixed(), 2)


def test_draws_are_from_the_halves_of_every_range(parts):
    assert len(parts) == 2**6
    space, rng = Mixed(), np.random.default_rng(0)
    for name, part in parts.items():
        drawn = part.sample(30, rng)
        assert space.configurations([dict(c) for c in drawn]) == drawn
        for text in name.split(", "):
            hyperparameter, number = text.split()
            half = HALVES[hyperparameter][int(number) - 1]
            for configuration in drawn:
                value = configuration[hyperparameter]
                inside = half[0] <= value <= half[1] if isinstance(half, tuple) else value in half
                assert inside, (name, value)
        if name.startswith("c 1"):
            assert {c["c"] for c in drawn} == set("uvw")


def test_a_point_is_in_one_part(parts):
    points = Mixed().sample_points(500, np.random.default_rng(0))
    held = np.array([part.holds(points) for part in parts.values()])
    assert (held.sum(axis=0) == 1).all()
    whole = Mixed().restricted({"i": 3})
    assert whole.holds(points).tolist() == [c["i"] == 3 for c in whole.at(points)]


def test_the_cut_itself_belongs_to_the_upper_piece():
    middle = {"c": "u", "constant": "only", "l": 1.0, "i": 2, "j": 1, "o": "low", "f": 0.75}
    point = Mixed().configuration(middle).point[None]
    holding = [name for name, part in cut(Mixed(), 2).items() if part.holds(point)[0]]
    assert holding == ["c 1, f 2, i 1, j 1, l 1, o 1"]


def test_draws_in_log_scale_stay_so(parts):
    part = parts["c 1, f 1, i 1, j 2, l 2, o 1"]
    drawn = part.sample(2000, np.random.default_rng(1))
    share = [np.log(c["l"] / 5.0005) / np.log(10 / 5.0005) for c in drawn]
    assert kstest(share, "uniform").pvalue > 0.01
    numbers = np.array([c["j"] for c in drawn])
    expected = np.log(35.5 / 25.5) / np.log(49.5 / 25.5)  # of 26 to 35
    assert (numbers <= 35).mean() == pytest.approx(expected, abs=0.035)


@pytest.mark.parametrize("size", [2, 3, 5, 7, 49])
def test_any_number_of_integers_is_cut_without_gaps(size):
    class Numbers(_Toy):
        def define(self):
            space = ConfigurationSpace()
            space.add(Integer("n", (1, size)))
            return space

    for number in range(2, min(size, 10) + 1):
        found, ends = [], np.append(np.linspace(0, 1, 401)[:-1], np.nextafter(1, 0))
        for part in cut(Numbers(), number).values():
            values = sorted(set(part.columns[0].values(part.columns[0].draw(ends))))
            assert size // number <= len(values) <= -(-size // number)
            found += values
        assert found == list(range(1, size + 1))


@pytest.mark.parametrize("name", list(HALVES))
def test_parzen_estimators_are_those_of_the_piece(name, parts):
    """A density over the piece: of integral 1 there, with draws from it."""
    part, rng = parts["c 2, f 2, i 2, j 2, l 2, o 2"], np.random.default_rng(0)
    column = part.columns[part.index[name]]
    entries = column.draw(rng.random(4))
    made = parzen.estimate(column, entries)
    drawn = made.draw(4000, rng)
    assert column.holds(drawn).all()
    if column.whole:
        values, counts = np.unique(drawn, return_counts=True)
        likelihood = np.exp(made.log_likelihood(values))
        assert likelihood.sum() == pytest.approx(1, abs=1e-3)
        np.testing.assert_allclose(counts / 4000, likelihood, atol=0.035)
    else:
        grid = column.draw(np.linspace(0, 1, 2001))
        density = np.exp(made.log_likelihood(grid))
        cumulative = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2) / 2000)
        assert cumulative[-1] == pytest.approx(1, abs=1e-3)
        x = column.positions(drawn)
        assert kstest(x, lambda u: np.interp(u, np.linspace(0, 1, 2001), cumulative)).pvalue > 0.01


def test_a_table_is_cut_too():
    rows = Mixed().sample(300, np.random.default_rng(0))
    table = TableSpace(Mixed(), rows)
    table.sample(1, np.random.default_rng(0))
    parts = cut(table, 2)
    assert sum(len(part.rows) for part in parts.values()) == 300
    part = parts["c 1, f 1, i 1, j 1, l 1, o 1"]
    drawn = part.sample(300, np.random.default_rng(0))
    assert set(drawn) == {c for c in rows if part.holds(c.point[None])[0]}
    assert 0 < len(drawn) < 300
    assert part.nearest_new(rows[0].point, set()) in drawn
    assert len(table.sample(300, np.random.default_rng(0))) == 300


def test_what_cannot_be_cut():
    with pytest.raises(UserError, match="3 pieces of 'o', which has 2 values"):
        check(Mixed(), 3)
    with pytest.raises(UserError, match="without conditions"):
        check(ToySpace(), 2)
    check(Mixed(), 2)
