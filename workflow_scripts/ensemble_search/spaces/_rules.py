"""Which hyperparameters are active, and which combinations are forbidden."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

#: Whether points, of shape (n, n_hyperparameters), meet a condition; bool, of shape (n,).
Test = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Among:
    """Test whether a category or ordinal level is in a set."""

    index: int  #: index of the hyperparameter
    steps: float  #: factor that turns its entries into indices of the choices
    legal: np.ndarray  #: bool, of shape (n_choices + 1,); the last entry applies if it is inactive

    def __call__(self, points: np.ndarray) -> np.ndarray:
        return self.legal[self.choices(points)]

    def choices(self, points: np.ndarray) -> np.ndarray:
        """Return the indices of the choices; n_choices if inactive."""
        entries = points[:, self.index]
        indices = np.full(len(points), len(self.legal) - 1)
        active = np.flatnonzero(~np.isnan(entries))
        indices[active] = np.rint(entries[active] * self.steps)
        return indices


class Rules:
    """Conditions and forbidden combinations, for many points at a time.

    Parameters
    ----------
    size
        Number of hyperparameters; parents come before children.
    conditions
        Tests of parents, with their indices and those of the children that are inactive if the test
        fails.
    forbidden
        Groups of tests; a point that meets all tests of a group is forbidden.

    Attributes
    ----------
    parental
        Whether other hyperparameters depend on each one, bool, of shape (size,).
    """

    def __init__(
        self,
        size: int,
        conditions: Sequence[tuple[Test, Sequence[int], Sequence[int]]],
        forbidden: Sequence[Sequence[Test]],
    ):
        self.parental = np.zeros(size, dtype=bool)
        self.parental[[i for _, parents, _ in conditions for i in parents]] = True
        self.forbidden = forbidden
        self._steps: list[tuple[Test, Sequence[int], np.ndarray]] = []
        tables: dict[int, np.ndarray] = {}
        for test, parents, children in sorted(conditions, key=lambda c: max(c[1])):
            if not isinstance(test, Among):
                self._steps.append((test, parents, np.asarray(children)))
                continue
            if test.index not in tables:  # which children are active for each of the choices
                tables[test.index] = np.ones((len(test.legal), size), dtype=bool)
                self._steps.append((test, parents, tables[test.index]))
            tables[test.index][np.ix_(~test.legal, np.asarray(children))] = False

    def active(self, points: np.ndarray) -> np.ndarray:
        """Return which entries are active, bool, of the shape of ``points``.

        Only the parents' entries matter; inactive parents are set to NaN in place.
        """
        active = np.ones(points.shape, dtype=bool)
        for test, parents, children in self._steps:
            for i in parents:
                points[~active[:, i], i] = np.nan
            if isinstance(test, Among):
                active &= children.take(test.choices(points), axis=0)
            else:
                active[np.ix_(~test(points), children)] = False
        return active

    def deactivate(self, points: np.ndarray) -> None:
        """Set inactive entries to NaN, in place."""
        np.copyto(points, np.nan, where=~self.active(points))

    def forbids(self, points: np.ndarray) -> np.ndarray:
        """Return which points are forbidden, bool, of shape (n,)."""
        forbidden = np.zeros(len(points), dtype=bool)
        for first, *others in self.forbidden:
            rows = np.flatnonzero(first(points))  # few
            for test in others:
                rows = rows[test(points[rows])]
            forbidden[rows] = True
        return forbidden
