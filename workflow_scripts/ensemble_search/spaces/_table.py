"""A space reduced to the configurations of a table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._encoding import Column
from ensemble_search.spaces.base import Configuration, Space


class TableSpace(Space):
    """Another space, reduced to some of its configurations: only these are drawn.

    Parameters
    ----------
    whole
        Their original space; encoding and pipelines are the same.
    configurations
        The configurations, distinct.
    """

    def __init__(self, whole: Space, configurations: Sequence[Configuration]):
        self.whole = whole
        self.libraries = whole.libraries  # type: ignore[misc]  # the class has its own
        self.tasks = (whole.task,)  # type: ignore[misc]
        self.has_algorithms = whole.has_algorithms  # type: ignore[misc]
        self.task = whole.task
        self.all = tuple(configurations)
        self.rows = whole.points(configurations)
        self._by_values = {frozenset(c.items()): c for c in configurations}
        self._by_row = dict(zip(map(bytes, self.rows), configurations, strict=True))
        self._parts: dict[frozenset, np.ndarray] = {}

    def __len__(self) -> int:
        """Return the number of configurations in the space, or in this part of it."""
        return len(self._part(self.fixed))

    @property
    def name(self) -> str:
        """See the original space."""
        return self.whole.name

    def define(self):
        """See the original space."""
        return self.whole.configspace

    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """See the original space."""
        return self.whole.pipeline(values, categorical, threads)

    def configuration(self, values: Mapping[str, Any]) -> Configuration:
        """Look up a configuration by its values.

        Raises
        ------
        UserError
            If it is not in the table.
        """
        try:
            return self._by_values[frozenset(values.items())]
        except KeyError:
            raise UserError(f"the table has no configuration {dict(values)}") from None

    def narrowed(self, columns: list[Column]) -> "TableSpace":
        """See :meth:`Space.narrowed`; only the rows in the part remain."""
        part = super().narrowed(columns)
        assert isinstance(part, TableSpace)
        part.rows, part._parts = part.rows[part.holds(part.rows)], {}
        return part

    def sample_points(
        self, size: int, rng: np.random.Generator, fixed: Mapping[str, Any] | None = None
    ) -> np.ndarray:
        """Draw rows without replacement; at most all of them, in random order.

        Raises
        ------
        UserError
            If no row has the ``fixed`` values.
        """
        rows = self._drawable({**self.fixed, **(fixed or {})})
        return rows[rng.permutation(len(rows))[:size]]

    def independent_points(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rows with replacement; raises as :meth:`sample_points`."""
        rows = self._drawable(self.fixed)
        return rows[rng.integers(len(rows), size=size)]

    def sobol_points(
        self, size: int, rng: np.random.Generator, *, shifted: bool = False
    ) -> np.ndarray:
        """As :meth:`sample_points` or, if ``shifted``, points of the whole space.

        :meth:`nearest_new` maps the latter to rows.
        """
        if shifted:
            return self.whole.restricted(self.fixed).sobol_points(size, rng, shifted=True)
        return self.sample_points(size, rng)

    def neighbour_points(
        self, old: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return none: all rows are candidates anyway, so there is nothing to climb."""
        return self.rows[:0], np.empty(0, dtype=int)

    def nearest_points(self, points: np.ndarray) -> np.ndarray:
        """Return none: all rows are candidates anyway, so there is nothing to ascend to."""
        return self.rows[:0]

    def mutate(
        self, configuration: Configuration, rng: np.random.Generator, tries: int = 100
    ) -> tuple[Configuration, str] | None:
        """Return the row nearest to a mutant, except the configuration itself."""
        mutant = self.whole.restricted(self.fixed).mutate(configuration, rng, tries)
        if mutant is None:
            return None
        rows = self._part(self.fixed)
        rows = rows[distances(self.columns, configuration.point, rows) > 0]
        if not len(rows):
            return None
        nearest = distances(self.columns, mutant[0].point, rows).argmin()
        return self.at(rows[nearest : nearest + 1])[0], mutant[1]

    def nearest_new(
        self, point: np.ndarray, seen: Collection[Configuration]
    ) -> Configuration | None:
        """Return the nearest row that is not in ``seen``; None if all are."""
        rows = self._part(self.fixed)
        for i in np.argsort(distances(self.columns, point, rows), kind="stable"):
            configuration = self._by_row[bytes(rows[i])]
            if configuration not in seen:
                return configuration
        return None

    def _drawable(self, fixed: Mapping[str, Any]) -> np.ndarray:
        """Rows with these values; raises UserError if there are none."""
        rows = self._part(fixed)
        if not len(rows):
            what = f"with {fixed}" if fixed else "in this part of the space"
            raise UserError(
                f"the table has no configuration {what}; enlarge it, or choose an optimizer that "
                "does not ask for them"
            )
        return rows

    def _part(self, fixed: Mapping[str, Any]) -> np.ndarray:
        """Rows with these values."""
        key = frozenset(fixed.items())
        if key not in self._parts:
            kept = np.ones(len(self.rows), dtype=bool)
            for name, value in fixed.items():
                i = self.index[name]
                kept &= self.rows[:, i] == self.columns[i].entry(value)
            self._parts[key] = self.rows[kept]
        return self._parts[key]


def distances(columns: Sequence[Column], point: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the distance of each row to a point, summed over hyperparameters, of shape (n,).

    A number adds the difference in unit scale; a different category, or a hyperparameter that is
    active in only one of the two, adds 1.
    """
    apart = np.abs(rows - point)
    one, both = np.isnan(apart), np.isnan(rows) & np.isnan(point)
    categorical = np.array([column.categorical for column in columns])
    apart = np.where(categorical, apart > 0, apart)
    return np.where(both, 0.0, np.where(one, 1.0, apart)).sum(axis=1)
