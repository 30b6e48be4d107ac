"""A hyperparameter as a column of points; see ``Space``."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble_search.runtime.errors import UserError

DIGITS = 8


@dataclass(frozen=True)
class Column:
    """Mapping between a hyperparameter's values and its entries in points.

    Attributes
    ----------
    name
        Name of the hyperparameter.
    lower, upper
        Bounds of numbers; first and last index of categories and ordinal levels.
    log
        Whether unit scale is logarithmic.
    whole
        Whether the numbers are integers.
    categorical
        Whether entries are category indices (unit-scale positions otherwise).
    choices
        Categories or ordinal levels; None for other numbers.
    default
        Entry of the default value.
    """

    name: str
    lower: float
    upper: float
    log: bool
    whole: bool
    categorical: bool
    choices: tuple | None
    default: float = math.nan

    @classmethod
    def of(cls, hyperparameter) -> "Column":
        """Describe a ConfigSpace hyperparameter.

        Raises
        ------
        UserError
            Unless it is a uniform ``Float``, ``Integer`` or ``Categorical``, or an ``Ordinal``.
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
            column = cls(name, lower, upper, bool(hyperparameter.log), whole, False, None)
        elif isinstance(hyperparameter, CategoricalHyperparameter | OrdinalHyperparameter):
            categorical = isinstance(hyperparameter, CategoricalHyperparameter)
            choices = tuple(hyperparameter.choices if categorical else hyperparameter.sequence)
            column = cls(name, 0.0, len(choices) - 1.0, False, True, categorical, choices)
            if categorical and len(set(hyperparameter.probabilities)) > 1:
                raise UserError(f"hyperparameter '{name}': weights of categories are not supported")
        else:
            raise UserError(
                f"hyperparameter '{name}': {type(hyperparameter).__name__} is not supported;"
                " use Float, Integer, Categorical or Ordinal"
            )
        object.__setattr__(column, "default", column.entry(hyperparameter.default_value))
        return column

    def entry(self, value: Any) -> float:
        """Return the entry of a value.

        Raises
        ------
        UserError
            If the value is outside the domain.
        """
        if self.choices is not None:
            if value not in self.choices:
                raise UserError(f"'{self.name}' must be one of {list(self.choices)}, not {value!r}")
            number = self.choices.index(value)
        else:
            legal = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            legal = legal and self.lower <= value <= self.upper
            if not legal or (self.whole and value != int(value)):
                kind = "an integer" if self.whole else "a number"
                domain = f"{kind} in [{self.lower:g}, {self.upper:g}]"
                raise UserError(f"'{self.name}' must be {domain}, not {value!r}")
            number = float(value)
        return float(self.entries(np.array([number], dtype=float))[0])

    def values(self, entries: np.ndarray) -> list:
        """Return the values of entries as plain Python objects."""
        numbers = entries if self.categorical else self._numbers(entries)
        if self.choices is not None:
            return [self.choices[i] for i in numbers.astype(int).tolist()]
        return numbers.astype(int).tolist() if self.whole else numbers.tolist()

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """Turn draws from [0, 1) into entries that are uniform over the domain.

        Every integer has the interval of length 1 around it (its share in log scale).
        """
        if self.whole and not self.log:
            size = self.upper - self.lower + 1
            numbers = self.lower + np.minimum(np.floor(uniform * size), size - 1)
        else:
            lower, upper = self._ends
            numbers = self._unscale(lower + uniform * (upper - lower))
        return self.entries(numbers)

    def positions(self, entries: np.ndarray, shift: float = 0.0) -> np.ndarray:
        """Return where in [0, 1] :meth:`draw` has numbers, given by their entries.

        ``shift`` is added to the numbers: -0.5 and 0.5 give the ends of an integer's interval.
        """
        return self.scaled(self._numbers(entries) + shift)

    def scaled(self, numbers: np.ndarray) -> np.ndarray:
        """Return where in [0, 1] :meth:`draw` has numbers."""
        lower, upper = self._ends
        return ((np.log(numbers) if self.log else numbers) - lower) / (upper - lower)

    def entries(self, numbers: np.ndarray) -> np.ndarray:
        """Return the entries of numbers, or of indices of categories, within the range."""
        return self._entries(self._round(numbers))

    def nearest(self, positions: np.ndarray) -> np.ndarray:
        """Return the entries nearest to positions in unit scale; categories stay."""
        return positions if self.categorical else self._entries(self._numbers(positions))

    def holds(self, entries: np.ndarray) -> np.ndarray:
        """Return which entries can be drawn, bool: all, unless this is a piece of a range."""
        return np.ones(len(entries), dtype=bool)

    def neighbours(
        self, entries: np.ndarray, size: int, spread: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return indices of ``entries`` and, for each, a neighbouring entry."""
        from scipy.special import ndtr, ndtri

        if self.categorical or (self.whole and self.upper - self.lower <= size):
            numbers = np.arange(self.lower, self.upper + 1)
            others = np.tile(self._entries(numbers), (len(entries), 1))
        else:
            low, high = ndtr(-entries / spread), ndtr((1 - entries) / spread)
            uniform = rng.random((len(entries), size))
            draws = ndtri(low[:, None] + uniform * (high - low)[:, None]) * spread
            near = np.clip(entries[:, None] + draws, 0.0, 1.0)
            others = self.nearest(near.ravel()).reshape(near.shape)
            others.sort(axis=1)
        new = others != entries[:, None]
        new[:, 1:] &= others[:, 1:] != others[:, :-1]
        rows, columns = np.nonzero(new)
        return rows, others[rows, columns]

    @property
    def _ends(self) -> tuple[float, float]:
        """Ends of the domain in its scale, with half an integer on each side."""
        margin = 0.5 if self.whole else 0.0
        return self._scale(self.lower - margin), self._scale(self.upper + margin)

    def _scale(self, number: float) -> float:
        return math.log(number) if self.log else number

    def _unscale(self, scaled: np.ndarray) -> np.ndarray:
        return np.exp(scaled) if self.log else scaled

    def _entries(self, numbers: np.ndarray) -> np.ndarray:
        """Return the entries of rounded numbers, with the same bits in any batch."""
        if self.categorical or self.upper == self.lower:
            return numbers - (0 if self.categorical else self.lower)
        if self.log:
            numbers = np.array([math.log(x) for x in numbers.tolist()])
        lower, upper = self._scale(self.lower), self._scale(self.upper)
        return np.round((numbers - lower) / (upper - lower), DIGITS + 4)

    def _numbers(self, entries: np.ndarray) -> np.ndarray:
        lower, upper = self._scale(self.lower), self._scale(self.upper)
        return self._round(self._unscale(lower + entries * (upper - lower)))

    def _round(self, numbers: np.ndarray) -> np.ndarray:
        """Round to eight digits (of the range, or of the number where the scale is log)."""
        if self.whole:
            numbers = np.rint(numbers)
        elif self.log:
            digits = DIGITS - 1 - np.floor(np.log10(numbers)).astype(int)
            power = _POWERS[np.clip(digits, 0, len(_POWERS) - 1)]
            numbers = np.rint(numbers * power) / power
        else:
            numbers = np.round(numbers, DIGITS - math.ceil(math.log10(self.upper - self.lower)))
        return np.clip(numbers, self.lower, self.upper)


# 10**k is exact up to k = 22, so that x * 10**k / 10**k is the double nearest to the decimal.
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
