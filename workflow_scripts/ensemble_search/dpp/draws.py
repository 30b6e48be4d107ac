"""Numbered uniform draws from a space."""

from collections.abc import Callable, Iterator

import numpy as np

from ensemble_search.dpp.checks import check_function, real
from ensemble_search.runtime.errors import UserError


class Draws:
    """Feature vectors from ``draw``, one at a time, with their numbers from 0.

    Parameters
    ----------
    draw
        Returns a uniformly drawn feature vector (d,), or several, (m, d).
    rng
        Generator passed to ``draw``.
    """

    def __init__(self, draw: Callable[[np.random.Generator], np.ndarray], rng: np.random.Generator):
        check_function(draw, "draw", "a generator")
        self._numbered = enumerate(self._rows(draw, rng))

    @staticmethod
    def _rows(
        draw: Callable[[np.random.Generator], np.ndarray], rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        width = None
        while True:
            rows = np.atleast_2d(real(draw(rng), "feature vectors"))
            width = width or rows.shape[-1]
            other = rows.ndim != 2 or rows.shape[1] != width
            if other or not rows.size or not np.isfinite(rows).all():
                raise UserError(
                    "a draw must be a finite feature vector, or several of one length; "
                    f"found the shape {rows.shape}"
                )
            yield from rows

    def next(self) -> tuple[int, np.ndarray]:
        """Return the number and the feature vector (d,) of the next draw."""
        return next(self._numbered)

    def distinct(self, k: int, given: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the next k draws that differ from each other and from ``given`` (g, d).

        Returns
        -------
        numbers
            (k,).
        points
            (k, d).

        Raises
        ------
        UserError
            If max(1000, 100 k) draws contain fewer such points.
        """
        known = {(point + 0.0).tobytes() for point in ([] if given is None else given)}
        found: dict[bytes, tuple[int, np.ndarray]] = {}
        for _ in range(max(1000, 100 * k)):
            number, point = self.next()
            # Adding 0 turns -0 into 0; their bytes differ.
            key = (point + 0.0).tobytes()
            if key not in known:
                found.setdefault(key, (number, point))
            if len(found) == k:
                numbers, points = zip(*found.values(), strict=True)
                return np.array(numbers), np.array(points)
        raise UserError(f"{k} points are asked for; uniform draws found only {len(found)} distinct")
