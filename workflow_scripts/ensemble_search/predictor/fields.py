"""The values of a stored part of a pipeline, each checked when it is read."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: Maximum absolute value of numbers and array entries.
LARGEST = 1e300


class Fields:
    """A part: settings from JSON, and arrays.

    Every method reads one of them, and raises a ValueError that names it if it is missing or
    invalid. ``name``, that of the part, is for messages; its arrays are named ``<name>.<field>``
    among ``arrays``, those of the whole member; arrays that were read are removed there.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], arrays: dict[str, np.ndarray]):
        self.name, self.settings, self.arrays = name, settings, arrays

    def has(self, field: str) -> bool:
        """Whether there is an array of this name."""
        return f"{self.name}.{field}" in self.arrays

    def number(self, field: str, low: float = -LARGEST, high: float = LARGEST) -> float:
        """Read a number."""
        value: Any = self.settings.get(field)
        if type(value) not in (int, float) or not low <= value <= high:
            raise ValueError(f"'{self.name}.{field}' is not a number from {low:g} to {high:g}")
        return float(value)

    def integer(self, field: str, low: int, high: int) -> int:
        """Read an integer."""
        value = self.settings.get(field)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"'{self.name}.{field}' is not an integer from {low} to {high}")
        return value

    def choice(self, field: str, options: Sequence[Any]) -> Any:
        """Read a word or boolean that must be one of ``options``."""
        value = self.settings.get(field)
        if not any(type(value) is type(option) and value == option for option in options):
            raise ValueError(f"'{self.name}.{field}' is none of {', '.join(map(str, options))}")
        return value

    def array(
        self, field: str, *shape: int | None, low: float = -LARGEST, high: float = LARGEST
    ) -> np.ndarray:
        """Read finite numbers, float64; None in the shape means any size except 0."""
        found = self._shaped(field, "f", shape).astype(np.float64, order="C", copy=False)
        if found.size and not (found.min() >= low and found.max() <= high):  # false for NaN
            raise ValueError(f"'{self.name}.{field}' has numbers outside of {low:g} to {high:g}")
        return found

    def integers(self, field: str, *shape: int | None, low: int, high: int) -> np.ndarray:
        """Read integers, int64, as :meth:`array`."""
        found = self._shaped(field, "iu", shape)
        if found.size and not (found.min() >= low and found.max() <= high):
            raise ValueError(f"'{self.name}.{field}' has integers outside of {low} to {high}")
        return found.astype(np.int64, order="C")

    def _shaped(self, field: str, kinds: str, shape: Sequence[int | None]) -> np.ndarray:
        found = self.arrays.pop(f"{self.name}.{field}", None)
        if found is None or found.dtype.kind not in kinds or found.dtype.itemsize > 8:
            raise ValueError(f"it has no numbers '{self.name}.{field}'")
        fits = len(found.shape) == len(shape) and all(
            own == size if size is not None else own > 0
            for own, size in zip(found.shape, shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("n" if size is None else str(size) for size in shape)
            raise ValueError(f"'{self.name}.{field}' has the shape {found.shape}, not ({wanted})")
        return found


def checked(values: np.ndarray) -> np.ndarray:
    """Return numbers unchanged if all are finite; else raise ValueError."""
    if not math.isfinite(values.sum()) and not np.isfinite(values).all():
        raise ValueError("numbers that are not finite")
    return values
