"""Points made entry by entry, the new configuration nearest to them, and positions of entries."""

import numpy as np
import pytest

from ensemble_search.spaces._table import TableSpace, distances
from ensemble_search.spaces.divbo import Divbo
from ensemble_search.spaces.divbo_small import DivboSmall
from support.toy_space import ToySpace

FORMS = [Divbo(), Divbo().for_task("regression"), ToySpace()]


def composed(space, given: np.ndarray) -> tuple[np.ndarray | None, list[int]]:
    """Compose from the entries of a point; also list what was asked for, in order."""
    asked = []

    def choose(i: int) -> float:
        asked.append(i)
        return given[i]

    return space.compose(choose), asked


@pytest.mark.parametrize("space", FORMS, ids=lambda s: f"{type(s).__name__} for {s.task}")
def test_every_point_can_be_composed_of_its_active_entries(space):
    for point in space.sample_points(20, np.random.default_rng(0)):
        found, asked = composed(space, point)
        np.testing.assert_array_equal(found, point)
        assert asked == np.flatnonzero(~np.isnan(point)).tolist()


def test_forbidden_combinations_give_no_point():
    space = DivboSmall()
    rows = space.sample_points(400, np.random.default_rng(0), {"algorithm": "liblinear_svc"})
    mixed = rows.copy()
    for name in ("loss", "penalty", "dual"):
        i = space.index[f"liblinear_svc:{name}"]
        mixed[:, i] = np.roll(mixed[:, i], i)
    forbidden = space._rules.forbids(mixed)
    assert 0 < forbidden.sum() < 400
    assert [composed(space, point)[0] is None for point in mixed] == forbidden.tolist()


def test_fixed_values_are_not_asked_for():
    space = ToySpace().restricted({"algorithm": "b", "k": 7})
    given = space.configuration({"algorithm": "b", "k": 7, "x": 0.25, "rate": 0.1}).point
    found, asked = composed(space, given)
    np.testing.assert_array_equal(found, given)
    assert asked == [space.index["x"], space.index["rate"]]


def test_the_nearest_new_configuration_of_a_space_is_the_point():
    space = ToySpace()
    one, other = space.sample(2, np.random.default_rng(0))
    assert space.nearest_new(one.point, {other}) == one
    assert space.nearest_new(one.point, {one, other}) is None


def test_the_nearest_new_configuration_of_a_table_is_an_entry():
    whole = DivboSmall()
    rows = list(dict.fromkeys(whole.sample(50, np.random.default_rng(0))))
    table = TableSpace(whole, rows)
    point = whole.sample(1, np.random.default_rng(9))[0].point
    gaps = distances(table.columns, point, table.rows)
    seen = set()
    for gap in np.sort(gaps):
        found = table.nearest_new(point, seen)
        assert found not in seen
        assert gaps[rows.index(found)] == gap
        seen.add(found)
    assert table.nearest_new(point, seen) is None
    part = table.restricted({"algorithm": "knn"})
    assert part.nearest_new(point, set())["algorithm"] == "knn"


@pytest.mark.parametrize("space", FORMS, ids=lambda s: f"{type(s).__name__} for {s.task}")
def test_positions_are_where_draws_are_from(space):
    uniform = np.random.default_rng(0).random(50)
    for column in space.columns:
        if column.categorical:
            continue
        entries = column.draw(uniform)
        np.testing.assert_array_equal(column.draw(column.positions(entries)), entries)
        if not column.whole:
            np.testing.assert_allclose(column.positions(entries), uniform, atol=1e-7)
            continue
        low, high = column.positions(entries, -0.5), column.positions(entries, 0.5)
        assert (low - 1e-12 <= uniform).all() and (uniform <= high + 1e-12).all()
        for inside in (low + 1e-6 * (high - low), high - 1e-6 * (high - low)):
            np.testing.assert_array_equal(column.draw(inside), entries)
