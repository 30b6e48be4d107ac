"""Spaces cut into pieces, in each of which every hyperparameter has a part of its range."""

from dataclasses import replace
from itertools import product

import numpy as np

from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces._encoding import Column
from ensemble_search.spaces.base import Space


def varied(space: Space) -> list[Column]:
    """List the hyperparameters that have more than one value."""
    return [column for column in space.columns if column.upper > column.lower]


def check(space: Space, number: int) -> None:
    """Reject a space that has conditions, or too few values to cut.

    Raises
    ------
    UserError
        In one line that continues the name of a setting.
    """
    for column in varied(space):
        size = int(column.upper - column.lower) + 1
        if column.whole and size < number:
            raise UserError(f"{number} pieces of '{column.name}', which has {size} values")
    if space.conditional or space.forbids:
        raise UserError(
            "pieces need a space without conditions and forbidden combinations, and "
            f"'{space.name}' has some"
        )


def cut(space: Space, number: int) -> dict[str, Space]:
    """Cut every range into equal pieces; return their Cartesian product, keyed by piece numbers.

    Log-scaled ranges are also cut on the linear scale, but draws stay on the log scale. Categories
    and integers are divided into parts of equal size, the first ones larger by one if needed.
    Hyperparameters with a single value are unchanged.

    Parameters
    ----------
    space
        See :func:`check`.
    number
        Number of pieces, at least 2.
    """
    names = {column.name for column in varied(space)}
    parts = [_pieces(c, number) if c.name in names else {"": c} for c in space.columns]
    return {
        ", ".join(filter(None, pieces)): space.narrowed(
            [part[piece] for part, piece in zip(parts, pieces, strict=True)]
        )
        for pieces in product(*parts)
    }


def _pieces(column: Column, number: int) -> dict[str, Column]:
    """Cut a range; return the pieces by name, numbered from 1."""
    if column.whole:
        size = column.upper - column.lower + 1
        ends = column.lower - 0.5 + np.ceil(np.arange(number + 1) * size / number)
    else:
        ends = np.linspace(column.lower, column.upper, number + 1)
    margin = 0.5 if column.whole else 0.0
    first, last = column.entries(ends[:-1] + margin), column.entries(ends[1:] - margin)
    scaled = column.scaled(ends)
    return {
        f"{column.name} {i + 1}": replace(
            column,
            low=float(scaled[i]),
            high=float(scaled[i + 1]),
            first=float(first[i]),
            last=float(last[i]),
            open=not column.whole and i + 1 < number,
        )
        for i in range(number)
    }
