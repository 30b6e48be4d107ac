"""Hyperparameters as columns of points; see ``Space``."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ensemble_search.runtime.errors import UserError

DIGITS = 8
#: Types of the values of hyperparameters.
TYPES = (bool, int, float, str)


@dataclass(frozen=True)
class Column:
    """Mapping between a hyperparameter's values and its entries in points."""

    name: str  #: name of the hyperparameter
    #: Bounds of a number; first and last index of categories or ordinal levels.
    lower: float
    upper: float
    log: bool  #: whether the unit scale is logarithmic
    whole: bool  #: whether the numbers are integers
    categorical: bool  #: whether entries are category indices (otherwise, positions in unit scale)
    choices: tuple | None  #: categories or ordinal levels; None for other numbers
    default: float = math.nan  #: entry of the default value
    #: Interval that :meth:`draw` maps to; all of [0, 1] unless the range is cut into pieces.
    low: float = 0.0
    high: float = 1.0
    #: Lowest and highest entry of the piece.
    first: float = -math.inf
    last: float = math.inf
    open: bool = False  #: whether the last entry belongs to the next piece

    @classmethod
    def of(cls, hyperparameter) -> "Column":
        """Describe a ConfigSpace hyperparameter.

        Raises
        ------
        UserError
            If it is neither a uniform ``Float``, ``Integer`` or ``Categorical`` nor an ``Ordinal``,
            or has choices of several types (integers and floats may be mixed), or integers from
            2^53 on.
        """
        from ConfigSpace import (
            CategoricalHyperparameter,
            OrdinalHyperparameter,
            UniformFloatHyperparameter,
            UniformIntegerHyperparameter,
        )

        name = hyperparameter.name
        if isinstance(hyperparameter, UniformFloatHyperparameter | UniformIntegerHyperparameter):
            whole = isinstance(hyperparameter, UniformIntegerHyperparameter)
            lower, upper = float(hyperparameter.lower), float(hyperparameter.upper)
            if whole and max(-lower, upper) >= 2**53:
                raise UserError(
                    f"hyperparameter '{name}': integers beyond 2^53 are not supported; lower its "
                    "bounds"
                )
            column = cls(name, lower, upper, bool(hyperparameter.log), whole, False, None)
        elif isinstance(hyperparameter, CategoricalHyperparameter | OrdinalHyperparameter):
            categorical = isinstance(hyperparameter, CategoricalHyperparameter)
            either: Any = hyperparameter
            choices = tuple(either.choices if categorical else either.sequence)
            column = cls(name, 0.0, len(choices) - 1.0, False, True, categorical, choices)
            if categorical and len(set(either.probabilities)) > 1:
                raise UserError(f"hyperparameter '{name}': weights of categories are not supported")
            if column.type not in TYPES:
                raise UserError(
                    f"hyperparameter '{name}': choices {list(choices)} must all be numbers, text, "
                    "or true and false; write them as text"
                )
        else:
            raise UserError(
                f"hyperparameter '{name}': {type(hyperparameter).__name__} is not supported;"
                " use Float, Integer, Categorical or Ordinal"
            )
        object.__setattr__(column, "default", column.entry(hyperparameter.default_value))
        return column

    @property
    def type(self) -> Any:
        """Type of the values, of :data:`TYPES`; None if the choices have several types."""
        if self.choices is None:
            return int if self.whole else float
        plain = (c.item() if isinstance(c, np.generic) else c for c in self.choices)
        found = {type(choice) for choice in plain}
        return float if found == {int, float} else found.pop() if len(found) == 1 else None

    def number(self, value: Any) -> float:
        """Return the number of a value: itself, or its index among the choices.

        Raises
        ------
        UserError
            If the value is outside the domain.
        """
        if self.choices is not None:
            if value not in self.choices:
                raise UserError(f"'{self.name}' must be one of {list(self.choices)}, not {value!r}")
            return float(self.choices.index(value))
        legal = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        legal = legal and self.lower <= value <= self.upper
        if not legal or (self.whole and value != int(value)):
            kind = "an integer" if self.whole else "a number"
            domain = f"{kind} in [{self.lower:g}, {self.upper:g}]"
            raise UserError(f"'{self.name}' must be {domain}, not {value!r}")
        return float(value)

    def entry(self, value: Any) -> float:
        """Return the entry of a value.

        Raises
        ------
        UserError
            If the value is outside the domain.
        """
        return float(self.entries(np.array([self.number(value)]))[0])

    def values(self, entries: np.ndarray) -> list:
        """Return the values of entries as plain Python objects."""
        return [self.value(number) for number in self._alone.numbers(0, entries).tolist()]

    def value(self, number: float) -> Any:
        """Return the value for a result of :meth:`number`."""
        if self.choices is not None:
            return self.choices[int(number)]
        return int(number) if self.whole else number

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """See :meth:`Columns.draw`."""
        return self._alone.draw(0, uniform)

    def positions(self, entries: np.ndarray, shift: float = 0.0) -> np.ndarray:
        """Return the positions in [0, 1] that :meth:`draw` maps to these entries.

        ``shift`` is added to the numbers: -0.5 and 0.5 give the ends of an integer's interval.
        """
        scaled = self.scaled(self._alone.numbers(0, entries) + shift)
        return (scaled - self.low) / (self.high - self.low)

    def scaled(self, numbers: np.ndarray) -> np.ndarray:
        """Return the positions in [0, 1] of numbers, for draws from the whole range."""
        lower, upper = self.ends
        return ((np.log(numbers) if self.log else numbers) - lower) / (upper - lower)

    def entries(self, numbers: np.ndarray) -> np.ndarray:
        """Return the entries of numbers or category indices, clipped to the range."""
        return self._alone.entries(0, numbers)

    def nearest(self, positions: np.ndarray) -> np.ndarray:
        """Return the entries nearest to positions in unit scale; categories are unchanged."""
        return self._alone.nearest(0, positions)

    def holds(self, entries: np.ndarray) -> np.ndarray:
        """Return which entries lie within this piece of a range, bool."""
        above = entries >= self.last if self.open else entries > self.last
        return ~(above | (entries < self.first))

    @property
    def scale(self) -> tuple[float, float]:
        """Ends of the domain on the scale of entries."""
        if self.categorical:
            return 0.0, 1.0
        lower, upper = (math.log(x) if self.log else x for x in (self.lower, self.upper))
        return lower, upper if upper > lower else lower + 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the domain on the scale of draws; for integers, extended by 0.5 on each side."""
        margin = 0.5 if self.whole else 0.0
        lower, upper = self.lower - margin, self.upper + margin
        return (math.log(lower), math.log(upper)) if self.log else (lower, upper)

    @property
    def decimals(self) -> int:
        """Decimals of numbers that are neither integers nor on a log scale."""
        plain = not (self.whole or self.log) and self.upper > self.lower
        return DIGITS - math.ceil(math.log10(self.upper - self.lower)) if plain else 0

    @property
    def few(self) -> bool:
        """Whether there are so few values that all others are neighbours."""
        return self.categorical or (self.whole and self.upper - self.lower <= NEIGHBOURS)

    @cached_property
    def _alone(self) -> "Columns":
        return Columns([self])


NEIGHBOURS = 4  # Gaussian neighbours of a numeric hyperparameter
SPREAD = 0.2  # their standard deviation in unit scale


class Columns:
    """Several columns, to map the cells of all at once.

    Methods take ``of``, the column index of each cell: int, of the shape of the cells, or a single
    index for all cells. A cell's result has the same bits regardless of the other cells.

    Parameters
    ----------
    columns
        The columns, in order.
    """

    def __init__(self, columns: Sequence[Column]):
        self._lower, self._upper = (
            _array(c.lower for c in columns),
            _array(c.upper for c in columns),
        )
        self._log = np.array([c.log for c in columns], dtype=bool)
        self._whole = np.array([c.whole for c in columns], dtype=bool)
        self._linear = self._whole & ~self._log
        self._decimals = np.array([c.decimals for c in columns], dtype=int)
        scales, ends = [c.scale for c in columns], [c.ends for c in columns]
        self._scale, self._end = _array(a for a, _ in scales), _array(a for a, _ in ends)
        self._scale_width = _array(b - a for a, b in scales)
        self._end_width = _array(b - a for a, b in ends)
        self._low, self._share = (
            _array(c.low for c in columns),
            _array(c.high - c.low for c in columns),
        )
        self._first = _array(c.first if c.whole else -math.inf for c in columns)
        self._last = _array(c.last if c.whole else math.inf for c in columns)
        self._pieces = any(c.low != 0 or c.high != 1 for c in columns)
        # Concatenated entries of all columns with few values, and where each column begins.
        self.few = np.array([c.few for c in columns], dtype=bool)
        sizes = [int(c.upper - c.lower) + 1 if c.few else 0 for c in columns]
        self._sizes, self._starts = np.array(sizes), np.cumsum([0, *sizes])[:-1]
        of = np.repeat(np.arange(len(columns)), sizes)
        numbers = np.arange(len(of)) - self._starts[of] + self._lower[of]
        self._all = self._entries(of, numbers)

    def draw(self, of, uniform: np.ndarray) -> np.ndarray:
        """Map draws from [0, 1) to entries that are uniform over the domain.

        Every integer gets the interval of length 1 around it (its share on a log scale).
        """
        if self._pieces:
            uniform = self._low[of] + uniform * self._share[of]
        width = self._end_width[of]
        numbers = self._lower[of] + np.minimum(np.floor(uniform * width), width - 1)
        rest = np.flatnonzero(~np.broadcast_to(self._linear[of], numbers.shape))
        if len(rest):
            of_rest = np.broadcast_to(of, numbers.shape)[rest]
            scaled = self._end[of_rest] + uniform[rest] * self._end_width[of_rest]
            numbers[rest] = self._round(of_rest, self._unscale(of_rest, scaled))
        entries = self._entries(of, numbers)
        return np.clip(entries, self._first[of], self._last[of]) if self._pieces else entries

    def entries(self, of, numbers: np.ndarray) -> np.ndarray:
        """Return the entries of numbers or category indices, clipped to the range."""
        return self._entries(of, self._round(of, numbers))

    def numbers(self, of, entries: np.ndarray) -> np.ndarray:
        """Return the numbers or category indices of entries; see :meth:`Column.value`."""
        scaled = self._scale[of] + entries * self._scale_width[of]
        return self._round(of, self._unscale(of, scaled))

    def nearest(self, of, positions: np.ndarray) -> np.ndarray:
        """Return the entries nearest to positions in unit scale; categories are unchanged."""
        return self._entries(of, self.numbers(of, positions))

    def neighbours(
        self, of: np.ndarray, entries: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the cell index, ascending, and the entry of every neighbour.

        See ``Space.neighbours``. Random numbers are drawn cell by cell.
        """
        from scipy.special import ndtr, ndtri

        few = self.few[of]
        some, many = np.flatnonzero(few), np.flatnonzero(~few)
        sizes = self._sizes[of[some]]
        cells = np.repeat(some, sizes)
        within = np.arange(len(cells)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        others = self._all[self._starts[of[cells]] + within]
        other = others != entries[cells]
        cells, others = cells[other], others[other]

        centre = entries[many]
        low, high = ndtr(-centre / SPREAD), ndtr((1 - centre) / SPREAD)
        uniform = rng.random((len(many), NEIGHBOURS))
        draws = ndtri(low[:, None] + uniform * (high - low)[:, None]) * SPREAD
        near = np.clip(centre[:, None] + draws, 0.0, 1.0).ravel()
        columns = np.repeat(of[many], NEIGHBOURS)
        near = self.nearest(columns, near).reshape(-1, NEIGHBOURS)
        near.sort(axis=1)
        new = near != centre[:, None]
        new[:, 1:] &= near[:, 1:] != near[:, :-1]
        rows, places = np.nonzero(new)

        cells = np.concatenate([cells, many[rows]])
        order = np.argsort(cells, kind="stable")
        return cells[order], np.concatenate([others, near[rows, places]])[order]

    def _entries(self, of, numbers: np.ndarray) -> np.ndarray:
        """Return the entries of rounded numbers; this overwrites them."""
        if self._log.any():
            log = np.flatnonzero(np.broadcast_to(self._log[of], numbers.shape))
            # The last bits of NumPy's logarithm depend on the processor.
            numbers[log] = list(map(math.log, numbers[log].tolist()))
        return np.round((numbers - self._scale[of]) / self._scale_width[of], DIGITS + 4)

    def _unscale(self, of, scaled: np.ndarray) -> np.ndarray:
        if self._log.any():
            log = np.broadcast_to(self._log[of], scaled.shape)
            scaled[log] = np.exp(scaled[log])
        return scaled

    def _round(self, of, numbers: np.ndarray) -> np.ndarray:
        """Round to eight digits of the range or, on a log scale, of the number."""
        digits = self._decimals[of]
        log = np.broadcast_to(self._log[of] & ~self._whole[of], numbers.shape)
        if log.any():
            digits = np.broadcast_to(digits, numbers.shape).copy()
            magnitude = np.searchsorted(_MAGNITUDES, numbers[log], side="right") + _LOWEST - 1
            digits[log] = np.clip(DIGITS - 1 - magnitude, 0, len(_POWERS) - 1)
        power = _POWERS[np.abs(digits)]
        coarse = np.broadcast_to(digits < 0, numbers.shape)
        rounded = np.rint(numbers * power) / power
        if coarse.any():
            rounded = np.where(coarse, np.rint(numbers / power) * power, rounded)
        return np.clip(rounded, self._lower[of], self._upper[of])


def _array(numbers) -> np.ndarray:
    return np.array(list(numbers), dtype=float)


# 10**k is exact up to k = 22, so that x * 10**k / 10**k is the double nearest to the decimal.
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
_LOWEST = DIGITS - len(_POWERS)
_MAGNITUDES = np.array([float(f"1e{k}") for k in range(_LOWEST, DIGITS)])
