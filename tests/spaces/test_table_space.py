"""A space reduced to the configurations of a table."""

from types import SimpleNamespace

import numpy as np
import pytest

from ensemble_search.optimizers.base import History, Observation, random_new
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._table import TableSpace, distances
from ensemble_search.spaces.divbo_small import DivboSmall

pytestmark = pytest.mark.slow

WHOLE = DivboSmall()


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def space() -> TableSpace:
    return TableSpace(WHOLE, list(dict.fromkeys(WHOLE.sample(60, rng()))))


def test_draws_are_entries_without_replacement(space):
    assert len(set(space.sample(20, rng(1)))) == 20
    assert set(space.sample(1000, rng(1))) == set(space.all)
    assert space.sample(5, rng(1)) == space.sample(5, rng(1)) != space.sample(5, rng(2))


def test_draws_are_uniform(space):
    drawn = [space.sample(1, rng(seed))[0] for seed in range(600)]
    counts = [drawn.count(c) for c in space.all]
    assert sum(counts) == 600
    assert min(counts) > 0 and max(counts) < 30  # 10 expected


def test_fixed_values_restrict_draws(space):
    part = space.restricted({"algorithm": "knn"})
    expected = {c for c in space.all if c["algorithm"] == "knn"}
    assert set(part.sample(100, rng())) == expected != set()
    assert set(space.sample(100, rng(), {"algorithm": "knn"})) == expected
    assert set(space.sample(100, rng())) == set(space.all)


def test_values_that_no_entry_has_are_rejected():
    space = TableSpace(WHOLE, [c for c in WHOLE.sample(60, rng()) if c["algorithm"] != "knn"])
    with pytest.raises(UserError, match=r"no configuration with {'algorithm': 'knn'}; enlarge it"):
        space.restricted({"algorithm": "knn"}).sample(1, rng())


def test_configurations_are_looked_up(space):
    for configuration in space.all[:5]:
        assert space.configuration(dict(configuration)) is configuration
    other = next(c for c in WHOLE.sample(100, rng(9)) if c not in set(space.all))
    with pytest.raises(UserError, match="the table has no configuration"):
        space.configuration(dict(other))


def test_its_form_is_that_of_the_whole_space(space):
    assert space.for_task("classification") is space
    whole = WHOLE.for_task("regression")
    table = TableSpace(whole, whole.sample(5, rng()))
    assert table.for_task("regression") is table
    with pytest.raises(UserError, match="has no classification form"):
        table.for_task("classification")


def test_encoding_is_that_of_the_whole_space(space):
    assert np.array_equal(space.encode(space.all), WHOLE.encode(space.all))
    assert np.array_equal(space.categories, WHOLE.categories)


def test_new_draws_visit_every_entry_before_any_comes_again(space):
    history = History(space, np.zeros(3, dtype=int))
    for i in range(len(space.all)):
        new = random_new(history, rng(i))
        assert new not in history.seen
        observation = Observation(new, "timeout", float("nan"), None)
        history = History(space, history.labels, (*history.observations, observation))
    assert random_new(history, rng()) in history.seen


def test_a_new_draw_is_found_in_a_table_of_any_size():
    class Large:
        def __len__(self):
            return 25_000

        def sample(self, size, rng):
            return ["known"] * min(size, 24_999) + ["new"] * (size >= 25_000)

    assert random_new(SimpleNamespace(space=Large(), seen={"known"}), rng()) == "new"


def test_mutants_are_the_nearest_entries(space):
    for seed in range(20):
        parent = space.all[seed]
        found, name = space.mutate(parent, rng(seed))
        mutant, expected = WHOLE.mutate(parent, rng(seed))
        assert name == expected
        others = [c for c in space.all if c != parent]
        gaps = [by_hand(mutant, c) for c in others]
        assert by_hand(mutant, found) == pytest.approx(min(gaps), abs=1e-9)
        assert found in others


def by_hand(a, b) -> float:
    """Distance of two configurations, hyperparameter by hyperparameter."""
    total = 0.0
    for column in WHOLE.columns:
        if (column.name in a) != (column.name in b):
            total += 1
        elif column.name in a:
            x, y = column.entry(a[column.name]), column.entry(b[column.name])
            total += (x != y) if column.categorical else abs(x - y)
    return total


def test_distances_by_hand(space):
    for point in space.rows[:3]:
        found = distances(space.columns, point, space.rows)
        expected = [by_hand(space.at(point[None])[0], c) for c in space.all]
        assert found == pytest.approx(expected)


def test_an_empty_part_is_named_by_all_draws():
    table = TableSpace(WHOLE, [c for c in WHOLE.sample(60, rng()) if c["algorithm"] != "knn"])
    part = table.restricted({"algorithm": "knn"})
    for draw in (part.sample_points, part.independent_points):
        with pytest.raises(UserError, match=r"no configuration with .*knn.*; enlarge it"):
            draw(3, rng())
