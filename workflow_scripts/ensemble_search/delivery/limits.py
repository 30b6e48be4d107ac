"""Making an ensemble affordable: fewer members, selected and weighted again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.ensembles.selection import Selection
from ensemble_search.runtime.errors import number_of

#: The delivery's final message if no member is within the limits.
NONE_WITHIN = "deliver.limits: no member is within them"

#: Units of the limits, in the order in which they are shown.
UNITS = {"members": "pipeline", "size_mb": "MB", "predict_ms_per_row": "ms per row"}


def in_words(limits: Mapping[str, float | None]) -> str:
    """Write limits by name with their units: ``50 MB, 10 ms per row``; ``none`` without any."""
    given = ((limits.get(name), unit) for name, unit in UNITS.items())
    said = (
        number_of(int(value), unit) if unit == UNITS["members"] else f"{value:g} {unit}"
        for value, unit in given
        if value is not None
    )
    return ", ".join(said) or "none"


def affordable(
    members: Members,
    errors: np.ndarray,
    costs: Mapping[str, Sequence[float]],
    limits: Mapping[str, float],
) -> np.ndarray:
    """Return the positions of the members within limits, ascending.

    Members are considered by decreasing weight, and for equal weights by increasing validation
    error. A member is kept if the sums of the costs stay within all limits. ``errors`` are the
    validation errors of all evaluations, of shape (n,); ``costs`` has those of each member, and
    ``limits`` upper limits of their sums, by name.
    """
    order = np.lexsort((members.indices, errors[members.indices], -members.weights))
    spent, kept = dict.fromkeys(limits, 0.0), []
    for place in order.tolist():
        then = {name: spent[name] + costs[name][place] for name in limits}
        if all(then[name] <= limits[name] for name in limits):
            spent = then
            kept.append(place)
    return np.sort(np.array(kept, dtype=int))


def reselected(pool: Pool, candidates: np.ndarray) -> Members:
    """Select an ensemble again, on the validation rows, from successful evaluations of a pool.

    ``candidates`` are their indices. Greedy selection with replacement, 25 rounds (``Selection``).
    """
    errors = np.full(len(pool.errors), np.nan)
    errors[candidates] = pool.errors[candidates]
    members = Selection(size=25).build(replace(pool, errors=errors))
    assert members is not None, "some candidate has succeeded"
    return members
