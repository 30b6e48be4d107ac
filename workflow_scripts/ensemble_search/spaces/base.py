"""Configuration spaces, as optimizers and workers use them."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._encoding import Column

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

__all__ = ["Configuration", "Space"]

ALGORITHM = "algorithm"  # name of the hyperparameter that chooses the learner
NEIGHBOURS = 4  # Gaussian neighbours of a numeric hyperparameter
SPREAD = 0.2  # their standard deviation in unit scale


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

    A space lives in a file of its own, ``spaces/<name>.py``, which defines one public subclass, and
    may have ``modules``, which a worker imports before the first evaluation. Its hyperparameters
    are ConfigSpace's ``Float``, ``Integer``, ``Categorical`` and ``Ordinal``.

    *Points* are configurations as float64 arrays of shape (n, n_hyperparameters), one column per
    hyperparameter in the order of :attr:`columns`: a number's position in unit scale, the index of
    a category, or NaN if inactive. As numbers are rounded to eight digits, points and values
    determine each other exactly: configurations read from a file have the same encoding to the last
    bit.

    Attributes
    ----------
    task
        What the pipelines are for, one of :attr:`tasks`; see :meth:`for_task`.
    fixed
        Values of hyperparameters not searched; see :meth:`restricted`.
    """

    #: The tasks that the space has pipelines for, ``classification`` and ``regression``.
    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    #: Whether a categorical hyperparameter ``algorithm`` chooses between learners.
    has_algorithms: ClassVar[bool] = True

    task: str = "classification"
    fixed: Mapping[str, Any] = MappingProxyType({})

    #: Further libraries whose versions can change predictions of the pipelines.
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
            Bool, of shape (n_features,): which input columns are one-hot or categorical codes.
        threads
            Threads that a learner may start.

        Returns
        -------
        estimator
            As in scikit-learn. For classification it has ``fit(X, y)``, ``predict_proba(X)`` and
            ``classes_``; for regression ``fit(X, y)`` with y float64, of mean 0 and variance 1 on
            the training rows, and ``predict(X)``, which returns an array of shape (n_samples,).
        """

    @property
    def name(self) -> str:
        """Its name in studies."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

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
        """Make the configuration with these active values, as read from a journal.

        Raises
        ------
        UserError
            If a name is unknown, a value is outside its domain, an active hyperparameter is
            missing or an inactive one given, or the combination is forbidden.
        """
        return self.configurations([values])[0]

    def configurations(self, many: Sequence[Mapping[str, Any]]) -> list[Configuration]:
        """Make many configurations; see :meth:`configuration`."""
        points = np.full((len(many), len(self.columns)), np.nan)
        for point, values in zip(points, many, strict=True):
            for name, value in values.items():
                if name not in self.index:
                    raise UserError(f"the space has no hyperparameter '{name}'")
                point[self.index[name]] = self.columns[self.index[name]].entry(value)
        legal = np.where(np.isnan(points), self._defaults, points)
        self._deactivate(legal)
        for row, i in np.argwhere(np.isnan(legal) != np.isnan(points))[:1]:
            what = "is inactive and must not be given" if np.isnan(legal[row, i]) else "is missing"
            raise UserError(f"hyperparameter '{self.columns[i].name}' {what}")
        for row in np.flatnonzero(self._forbidden(points))[:1]:
            raise UserError(f"the space forbids this combination: {dict(many[row])}")
        return self.at(points)

    @property
    def algorithms(self) -> list[str]:
        """Values of the hyperparameter ``algorithm``, in order; none in a space of one learner.

        Raises
        ------
        UserError
            If it is missing in a space that is said to have it.
        """
        if not self.has_algorithms:
            return []
        if ALGORITHM not in self.index:
            raise UserError(f"the space has no categorical hyperparameter '{ALGORITHM}'")
        return list(self.columns[self.index[ALGORITHM]].choices)

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
        """Return the part of the space whose draws are from these columns, pieces of its own."""
        part = copy.copy(self)
        part.columns = columns
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

        Every hyperparameter is drawn uniformly (numbers in their scale), inactive ones are dropped,
        and forbidden combinations redrawn. ``fixed`` values, such as ``{"algorithm": "knn"}``, are
        not drawn.
        """
        return self.at(self.sample_points(size, rng, fixed))

    def neighbours(
        self, configuration: Configuration, rng: np.random.Generator
    ) -> list[Configuration]:
        """Return legal configurations that differ in one hyperparameter.

        Categoricals, and numbers with at most five values, take every other value; other numbers
        take four draws from a Gaussian around the value, truncated to the domain, of standard
        deviation 0.2 in unit scale (fewer if draws fall on one integer). Hyperparameters that
        become active get their default, those that become inactive are dropped.
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
        for i, column in enumerate(self.columns):
            rows = np.flatnonzero(~np.isnan(points[:, i]))
            for row, value in zip(rows.tolist(), column.values(points[rows, i]), strict=True):
                values[row][column.name] = value
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
        """As :meth:`sample_points`, where that draws without replacement too."""
        return self.sample_points(size, rng)

    def sobol_points(
        self, size: int, rng: np.random.Generator, *, shifted: bool = False
    ) -> np.ndarray:
        """Return the legal ones of the first ``size`` points of a random Sobol sequence.

        They fill the space more evenly than :meth:`sample_points`. The sequence is scrambled, or
        ``shifted``: moved as a whole by one uniform vector, modulo 1 (Cranley and Patterson, 1976).
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
        """Return the legal points of numbers in [0, 1), of shape (n, n_hyperparameters)."""
        points = np.empty_like(uniform)
        for i, column in enumerate(self.columns):
            points[:, i] = entries[i] if i in entries else column.draw(uniform[:, i])
        self._deactivate(points)
        return points[~self._forbidden(points)]

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
            The neighbours, of shape (n_neighbours, n_hyperparameters), centre by centre.
        centres
            Index of each neighbour's centre, int, ascending, of shape (n_neighbours,).
        """
        rows, columns, entries = [], [], []
        for i, column in enumerate(self.columns):
            active = np.flatnonzero(~np.isnan(old[:, i]))
            if column.name in self.fixed or not len(active):
                continue
            row, entry = column.neighbours(old[active, i], NEIGHBOURS, SPREAD, rng)
            rows.append(active[row])
            columns.append(np.full(len(row), i))
            entries.append(entry)
        if not rows:
            return old[:0], np.empty(0, dtype=int)
        centres = np.concatenate(rows)
        points = np.where(np.isnan(old), self._defaults, old)[centres]
        points[np.arange(len(points)), np.concatenate(columns)] = np.concatenate(entries)
        self._deactivate(points)
        legal = np.flatnonzero(~self._forbidden(points))
        order = legal[np.argsort(centres[legal], kind="stable")]
        return points[order], centres[order]

    def nearest_points(self, points: np.ndarray) -> np.ndarray:
        """Return the nearest configurations to points whose numbers are anywhere in unit scale.

        The forbidden ones are left out.
        """
        near = np.column_stack(
            [column.nearest(points[:, i]) for i, column in enumerate(self.columns)]
        )
        return near[~self._forbidden(near)]

    def compose(self, choose: Callable[[int], float]) -> np.ndarray | None:
        """Make a point of entries chosen one by one, parents before children.

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
        self._deactivate(points)
        for i in range(len(self.columns)):
            if np.isnan(points[0, i]):
                continue
            points[0, i] = entries[i] if i in entries else choose(i)
            if i in self._parents:
                points[0, i + 1 :] = self._defaults[i + 1 :]
                self._deactivate(points)
        return None if self._forbidden(points)[0] else points[0]

    def nearest_new(
        self, point: np.ndarray, seen: Collection[Configuration]
    ) -> Configuration | None:
        """Return the configuration of a legal point; None if it is in ``seen``.

        Where there are only some configurations (``TableSpace``), it is the nearest of those not
        in ``seen``.
        """
        configuration = self.at(point[None])[0]
        return None if configuration in seen else configuration

    def mutate(
        self, configuration: Configuration, rng: np.random.Generator, tries: int = 100
    ) -> tuple[Configuration, str] | None:
        """Give a random active hyperparameter another value, both drawn uniformly.

        Those that become active get random values, those that become inactive are dropped;
        forbidden combinations are redrawn.

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
            self._deactivate(points)
            if not self._forbidden(points)[0]:
                return self.at(points)[0], self.columns[chosen].name
        return None

    def encode_points(self, points: np.ndarray) -> np.ndarray:
        """As :meth:`encode`, of points."""
        return np.where(np.isnan(points), self._defaults, points)

    @cached_property
    def categories(self) -> np.ndarray:
        """Number of categories of every hyperparameter, 0 for numbers; int."""
        return np.array([len(c.choices) if c.categorical else 0 for c in self.columns])

    @cached_property
    def _defaults(self) -> np.ndarray:
        return np.array([column.default for column in self.columns])

    @cached_property
    def conditional(self) -> bool:
        """Whether some hyperparameters are inactive at times."""
        return bool(self._conditions)

    @cached_property
    def _parents(self) -> set[int]:
        """Indices of the hyperparameters that others depend on."""
        parents = self.configspace.parents_of.values()
        return {self.index[parent.name] for group in parents for parent in group}

    @cached_property
    def _conditions(self) -> list[tuple[Any, list[int]]]:
        """Distinct conditions with their children; parents before children."""
        groups: list[tuple[Any, list[int]]] = []
        for i, column in enumerate(self.columns):
            for condition in self.configspace.parent_conditions_of[column.name]:
                for known, children in groups:
                    if condition.equivalent_condition_on_parent(known):
                        children.append(i)
                        break
                else:
                    groups.append((condition, [i]))
        return groups

    def _vectors(self, points: np.ndarray) -> np.ndarray:
        """ConfigSpace's own vectors, one column per point, as its conditions and clauses need."""
        vectors = points.T.copy()
        for i in self._numeric_parents:
            column, active = self.columns[i], ~np.isnan(vectors[i])
            hyperparameter = self.configspace[column.name]
            values = column.values(vectors[i, active])
            vectors[i, active] = [hyperparameter.to_vector(v) for v in values]
        return vectors

    @cached_property
    def _numeric_parents(self) -> list[int]:
        """Numbers in conditions or clauses, which ConfigSpace scales differently."""
        names = {n for clause in self.configspace.forbidden_clauses for n in _names_in(clause)}
        used = self._parents | {self.index[name] for name in names}
        return [i for i in sorted(used) if not self.columns[i].categorical]

    def _deactivate(self, points: np.ndarray) -> None:
        """Set inactive entries to NaN, in place; parents before children."""
        vectors = self._vectors(points)
        for condition, children in self._conditions:
            inactive = ~condition.satisfied_by_vector_array(vectors)
            for child in children:
                vectors[child, inactive] = np.nan
        points[np.isnan(vectors.T)] = np.nan

    def _forbidden(self, points: np.ndarray) -> np.ndarray:
        vectors = self._vectors(points)
        forbidden = np.zeros(len(points), dtype=bool)
        for clause in self.configspace.forbidden_clauses:
            forbidden |= clause.is_forbidden_vector_array(vectors)
        return forbidden


def _names_in(clause) -> Iterator[str]:
    """Names of the hyperparameters in a forbidden clause, relation or conjunction of clauses."""
    for part in getattr(clause, "components", ()):
        yield from _names_in(part)
    for attribute in ("hyperparameter", "left", "right"):
        if hasattr(clause, attribute):
            yield getattr(clause, attribute).name
