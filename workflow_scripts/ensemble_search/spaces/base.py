"""Configuration spaces, as optimizers and workers use them."""

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces import _configspace
from ensemble_search.spaces._encoding import Column, Columns
from ensemble_search.spaces._rules import Rules

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

__all__ = ["Configuration", "Space"]

ALGORITHM = "algorithm"  # name of the hyperparameter that chooses the learner


class Configuration(Mapping[str, Any]):
    """The active hyperparameters by name: immutable, hashable, equal if the values are equal.

    Values are plain ``bool``, ``int``, ``float`` or ``str``, so that ``dict(configuration)`` is
    JSON, from which :meth:`Space.configuration` restores it.

    Attributes
    ----------
    point
        The configuration as a row of numbers, of shape (n_hyperparameters,); see :class:`Space`.
    """

    __slots__ = ("_hash", "_values", "point")

    def __init__(self, values: dict[str, Any], point: np.ndarray):
        self._values = values
        self._hash: int | None = None
        self.point = point

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._values == other._values

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Configuration({self._values})"


class Space(ABC):
    """A conditional configuration space and its pipelines.

    A space has its own file, ``spaces/<name>.py``, with one public subclass. It may list
    ``modules`` for the worker to import before the first evaluation. Its hyperparameters are
    ConfigSpace's ``Float``, ``Integer``, ``Categorical`` and ``Ordinal``.

    *Points* are configurations as float64 arrays of shape (n, n_hyperparameters), one column per
    hyperparameter in the order of :attr:`columns`: a number's position in unit scale, the index of
    a category, or NaN if inactive. Numbers are rounded to eight digits, so points and values
    determine each other exactly: configurations read from a file have the same encoding to the last
    bit.
    """

    #: The tasks that the space has pipelines for, ``classification`` and ``regression``.
    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    #: Whether a categorical hyperparameter ``algorithm`` chooses between learners.
    has_algorithms: ClassVar[bool] = True

    #: Task of the pipelines, one of :attr:`tasks`; see :meth:`for_task`.
    task: str = "classification"
    #: Values of hyperparameters that are not searched; see :meth:`restricted`.
    fixed: Mapping[str, Any] = MappingProxyType({})

    #: Additional libraries whose versions can change the pipelines' predictions.
    libraries: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def define(self) -> "ConfigurationSpace":
        """Build the ConfigSpace object: hyperparameters, conditions, forbidden clauses."""

    @abstractmethod
    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Build the unfitted estimator of a configuration.

        Parameters
        ----------
        values
            Active hyperparameters by name.
        categorical
            Bool, of shape (n_features,): whether each input column holds one-hot or categorical
            codes.
        threads
            Threads that a learner may start.

        Returns
        -------
        estimator
            A scikit-learn estimator. For classification, it has ``fit(X, y)``, ``predict_proba(X)``
            and ``classes_``; for regression, ``fit(X, y)`` with float64 ``y`` of mean 0 and
            variance 1 on the training rows, and ``predict(X)``, which returns shape (n_samples,).
        """

    @property
    def name(self) -> str:
        """Its name in studies: that of its file, or of its class if several share a file."""
        file = type(self).__module__.rpartition(".")[2]
        if file.startswith("_"):
            file = re.sub("(?<=.)(?=[A-Z])", "_", type(self).__name__).lower()
        return file.replace("_", "-")

    def for_task(self, task: str) -> "Space":
        """Return the form of the space for a task: itself, or a new space of the same class.

        Raises
        ------
        UserError
            If the space has no form for the task.
        """
        if task not in self.tasks:
            raise UserError(
                f"space '{self.name}' has no {task} form; use one that has, such as 'divbo', or "
                f"add pipelines for {task} to its class {type(self).__name__} and to its 'tasks'"
            )
        if task == self.task:
            return self
        form = type(self)()
        form.task = task
        return form.restricted(self.fixed)

    @cached_property
    def configspace(self) -> "ConfigurationSpace":
        """The ConfigSpace object of :meth:`define`, cached."""
        return self.define()

    @cached_property
    def columns(self) -> list[Column]:
        """The hyperparameters in ConfigSpace's order: parents before children."""
        return [Column.of(hyperparameter) for hyperparameter in self.configspace.values()]

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of every hyperparameter in a point."""
        return {column.name: i for i, column in enumerate(self.columns)}

    def configuration(self, values: Mapping[str, Any]) -> Configuration:
        """Create the configuration with these active values, as read from a journal.

        Raises
        ------
        UserError
            If a name is unknown, a value is outside its domain, an active hyperparameter is
            missing or an inactive one given, or the combination is forbidden.
        """
        return self.configurations([values])[0]

    def configurations(self, many: Sequence[Mapping[str, Any]]) -> list[Configuration]:
        """Create many configurations; see :meth:`configuration`."""
        points = np.full((len(many), len(self.columns)), np.nan)
        rows: list[int] = []
        of: list[int] = []
        numbers: list[float] = []
        for row, values in enumerate(many):
            for name, value in values.items():
                if name not in self.index:
                    raise UserError(f"the space has no hyperparameter '{name}'")
                rows.append(row)
                of.append(self.index[name])
                numbers.append(self.columns[of[-1]].number(value))
        points[rows, of] = self._together.entries(np.array(of, dtype=int), np.array(numbers))
        legal = np.where(np.isnan(points), self._defaults, points)
        self._rules.deactivate(legal)
        for row, i in np.argwhere(np.isnan(legal) != np.isnan(points))[:1]:
            what = "is inactive and must not be given" if np.isnan(legal[row, i]) else "is missing"
            raise UserError(f"hyperparameter '{self.columns[i].name}' {what}")
        for row in np.flatnonzero(self._rules.forbids(points))[:1]:
            raise UserError(f"the space forbids this combination: {dict(many[row])}")
        return self.at(points)

    @property
    def algorithms(self) -> list[str]:
        """Values of the hyperparameter ``algorithm``, in order; empty in a space of one learner.

        Raises
        ------
        UserError
            If it is missing although :attr:`has_algorithms` is true.
        """
        if not self.has_algorithms:
            return []
        if ALGORITHM not in self.index:
            raise UserError(f"the space has no categorical hyperparameter '{ALGORITHM}'")
        return list(self.columns[self.index[ALGORITHM]].choices or ())

    def restricted(self, fixed: Mapping[str, Any]) -> "Space":
        """Return the subspace with these values, such as ``{"algorithm": "knn"}``.

        Its samples, neighbours and mutations keep them; points and encoding are the same.
        """
        for name, value in fixed.items():
            if name not in self.index:
                raise UserError(f"the space has no hyperparameter '{name}'")
            self.columns[self.index[name]].entry(value)
        part = copy.copy(self)  # shares cached properties
        part.fixed = {**self.fixed, **fixed}
        return part

    def narrowed(self, columns: list[Column]) -> "Space":
        """Return the part of the space with these columns, pieces of the space's own."""
        part = copy.copy(self)
        part.columns = columns
        part._together = Columns(columns)
        return part

    def holds(self, points: np.ndarray) -> np.ndarray:
        """Return which points are in this part of the space, bool, of shape (n,)."""
        inside = np.ones(len(points), dtype=bool)
        for i, entry in self._entries(self.fixed).items():
            inside &= points[:, i] == entry
        for i, column in enumerate(self.columns):
            inside &= column.holds(points[:, i])
        return inside

    def sample(
        self, size: int, rng: np.random.Generator, fixed: Mapping[str, Any] | None = None
    ) -> list[Configuration]:
        """Draw ``size`` configurations uniformly from the conditional space.

        Every hyperparameter is drawn uniformly (numbers on their scale), inactive ones are dropped,
        and forbidden combinations are redrawn. ``fixed`` values, such as ``{"algorithm": "knn"}``,
        are not drawn.
        """
        return self.at(self.sample_points(size, rng, fixed))

    def neighbours(
        self, configuration: Configuration, rng: np.random.Generator
    ) -> list[Configuration]:
        """Return legal configurations that differ in one hyperparameter.

        Categoricals, and numbers with at most five values, take every other value; other numbers
        take four draws from a Gaussian around the value, truncated to the domain, of standard
        deviation 0.2 in unit scale (fewer if draws fall on one integer). Hyperparameters that
        become active get their default; those that become inactive are dropped.
        """
        return self.at(self.neighbour_points(configuration.point[None], rng)[0])

    def encode(self, configurations: Sequence[Configuration]) -> np.ndarray:
        """Encode as points with the defaults of inactive hyperparameters, as OpenBox does.

        Returns float64, of shape (n, n_hyperparameters): positions in unit scale, and indices of
        categories.
        """
        return self.encode_points(self.points(configurations))

    def points(self, configurations: Sequence[Configuration]) -> np.ndarray:
        """Stack the points of configurations, of shape (n, n_hyperparameters)."""
        return np.array([c.point for c in configurations]).reshape(-1, len(self.columns))

    def at(self, points: np.ndarray) -> list[Configuration]:
        """Make the configurations of legal points."""
        values: list[dict[str, Any]] = [{} for _ in points]
        rows, of = np.nonzero(~np.isnan(points))
        numbers = self._together.numbers(of, points[rows, of])
        for row, i, number in zip(rows.tolist(), of.tolist(), numbers.tolist(), strict=True):
            column = self.columns[i]
            values[row][column.name] = column.value(number)
        points = points.copy()
        points.setflags(write=False)
        return [Configuration(v, p) for v, p in zip(values, points, strict=True)]

    def sample_points(
        self, size: int, rng: np.random.Generator, fixed: Mapping[str, Any] | None = None
    ) -> np.ndarray:
        """As :meth:`sample`, but return points, of shape (size, n_hyperparameters)."""
        entries = self._entries({**self.fixed, **(fixed or {})})
        points = np.empty((0, len(self.columns)))
        while len(points) < size:
            uniform = rng.random((size - len(points), len(self.columns)))
            points = np.concatenate([points, self._legal(uniform, entries)])
        return points

    def independent_points(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """As :meth:`sample_points`, but always with replacement."""
        return self.sample_points(size, rng)

    def sobol_points(
        self, size: int, rng: np.random.Generator, *, shifted: bool = False
    ) -> np.ndarray:
        """Return the legal points among the first ``size`` of a random Sobol sequence.

        They fill the space more evenly than :meth:`sample_points`. The sequence is scrambled or, if
        ``shifted``, moved as a whole by one uniform vector modulo 1 (Cranley and Patterson, 1976).
        """
        from scipy.stats.qmc import Sobol

        dimensions = len(self.columns)
        sequence = Sobol(dimensions, scramble=not shifted, rng=rng)
        uniform = sequence.random_base2(max(size - 1, 0).bit_length())[:size]
        if shifted:
            uniform = (uniform + rng.random(dimensions)) % 1
        return self._legal(uniform, self._entries(self.fixed))

    def _entries(self, fixed: Mapping[str, Any]) -> dict[int, float]:
        """Return the entries of values, by the index of the hyperparameter."""
        given = [(self.index[name], value) for name, value in fixed.items()]
        return {i: self.columns[i].entry(value) for i, value in given}

    def _legal(self, uniform: np.ndarray, entries: Mapping[int, float]) -> np.ndarray:
        """Return the legal points for numbers in [0, 1), of shape (n, n_hyperparameters)."""
        points = np.full(uniform.shape, np.nan)
        drawn = np.ones(uniform.shape, dtype=bool)
        for i, entry in entries.items():
            points[:, i], drawn[:, i] = entry, False

        def draw(which: np.ndarray) -> None:
            cells = np.flatnonzero(drawn & which)
            of = cells % len(self.columns)
            points.ravel()[cells] = self._together.draw(of, uniform.ravel()[cells])

        # Parents first: most of the other entries are inactive.
        draw(self._rules.parental)
        active = self._rules.active(points)
        draw(active & ~self._rules.parental)
        np.copyto(points, np.nan, where=~active)
        forbidden = self._rules.forbids(points)
        return points[~forbidden] if forbidden.any() else points

    def neighbour_points(
        self, old: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the :meth:`neighbours` of many points at once.

        Parameters
        ----------
        old
            Points, of shape (n, n_hyperparameters).
        rng
            Generator of the Gaussian draws.

        Returns
        -------
        points
            The neighbours, of shape (n_neighbours, n_hyperparameters), grouped by centre.
        centres
            Index of each neighbour's centre, int, ascending, of shape (n_neighbours,).
        """
        free = ~np.isnan(old)
        free[:, [self.index[name] for name in self.fixed]] = False
        of, centres = np.nonzero(free.T)  # by column, as the draws are
        cells, entries = self._together.neighbours(of, old[centres, of], rng)
        of, centres = of[cells], centres[cells]
        order = np.argsort(centres, kind="stable")
        of, centres, entries = of[order], centres[order], entries[order]
        points = self.encode_points(old)[centres]
        points[np.arange(len(points)), of] = entries
        self._rules.deactivate(points)
        legal = ~self._rules.forbids(points)
        return points[legal], centres[legal]

    def nearest_points(self, points: np.ndarray) -> np.ndarray:
        """Return the configurations nearest to points with arbitrary positions in unit scale.

        Forbidden ones are left out.
        """
        near = np.column_stack([c.nearest(points[:, i]) for i, c in enumerate(self.columns)])
        return near[~self._rules.forbids(near)]

    def compose(self, choose: Callable[[int], float]) -> np.ndarray | None:
        """Build a point from entries chosen one by one, parents before children.

        Parameters
        ----------
        choose
            Maps the index of an active hyperparameter to an entry.

        Returns
        -------
        point
            Of shape (n_hyperparameters,); None if the combination is forbidden.
        """
        entries = self._entries(self.fixed)
        points = self._defaults[None].copy()
        self._rules.deactivate(points)
        for i in range(len(self.columns)):
            if np.isnan(points[0, i]):
                continue
            points[0, i] = entries[i] if i in entries else choose(i)
            if self._rules.parental[i]:
                points[0, i + 1 :] = self._defaults[i + 1 :]
                self._rules.deactivate(points)
        return None if self._rules.forbids(points)[0] else points[0]

    def nearest_new(
        self, point: np.ndarray, seen: Collection[Configuration]
    ) -> Configuration | None:
        """Return the configuration of a legal point; None if it is in ``seen``.

        In a ``TableSpace``, return the nearest configuration not in ``seen``.
        """
        configuration = self.at(point[None])[0]
        return None if configuration in seen else configuration

    def mutate(
        self, configuration: Configuration, rng: np.random.Generator, tries: int = 100
    ) -> tuple[Configuration, str] | None:
        """Give a random active hyperparameter another value, both drawn uniformly.

        Hyperparameters that become active get random values; those that become inactive are
        dropped. Forbidden combinations are redrawn.

        Returns
        -------
        mutant
            The new configuration and the name of the hyperparameter; None if none of ``tries``
            draws was legal.
        """
        old = configuration.point
        varies = np.array([c.upper > c.lower and c.name not in self.fixed for c in self.columns])
        free = np.flatnonzero(varies & ~np.isnan(old))
        for _ in range(tries if len(free) else 0):
            chosen = int(rng.choice(free))
            draws = rng.random(len(self.columns))
            new = np.array([c.draw(draws[i : i + 1])[0] for i, c in enumerate(self.columns)])
            keep = ~np.isnan(old)
            keep[chosen] = False
            new[keep] = old[keep]
            while new[chosen] == old[chosen]:
                new[chosen] = self.columns[chosen].draw(rng.random(1))[0]
            points = new[None]
            self._rules.deactivate(points)
            if not self._rules.forbids(points)[0]:
                return self.at(points)[0], self.columns[chosen].name
        return None

    def encode_points(self, points: np.ndarray) -> np.ndarray:
        """As :meth:`encode`, but for points."""
        return np.where(np.isnan(points), self._defaults, points)

    @cached_property
    def categories(self) -> np.ndarray:
        """Number of categories of every hyperparameter, 0 if it is numerical; int."""
        return np.array(
            [len(c.choices) if c.categorical and c.choices else 0 for c in self.columns]
        )

    @cached_property
    def _defaults(self) -> np.ndarray:
        return np.array([column.default for column in self.columns])

    @property
    def conditional(self) -> bool:
        """Whether some hyperparameters can be inactive."""
        return bool(self._rules.parental.any())

    @property
    def forbids(self) -> bool:
        """Whether some combinations are forbidden."""
        return len(self._rules.forbidden) > 0

    @cached_property
    def _rules(self) -> Rules:
        return _configspace.rules(self.configspace, self.columns)

    @cached_property
    def _together(self) -> Columns:
        return Columns(self.columns)
