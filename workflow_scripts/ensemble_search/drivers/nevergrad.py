"""Nevergrad (Bennet et al., SIGEVOlution 2021)."""

import math
from collections.abc import Sequence
from typing import Any

from ensemble_search.drivers.base import Driver, active, legal

TRIES = 1000  # draws until a configuration is allowed: an array has no forbidden combinations


class Nevergrad(Driver):
    """Nevergrad's differential evolution with two-point crossover, on the unit cube.

    It learns from configurations that it did not suggest, as its other optimizers do only in part.
    Choices are equal parts of an axis: Nevergrad's own are slower by a factor of 100 in large
    spaces. Inactive hyperparameters have their default values.
    """

    environment = "nevergrad"

    def suggest(
        self, space: dict[str, Any], evaluations: Sequence[tuple[dict, float]], seed: int
    ) -> dict[str, Any]:
        """See :meth:`Driver.suggest`."""
        import nevergrad

        hyperparameters = space["hyperparameters"]
        cube = nevergrad.p.Array(shape=(len(hyperparameters),), lower=0, upper=1)
        cube.random_state.seed(seed)
        optimizer = nevergrad.optimizers.TwoPointsDE(cube)
        for values, loss in evaluations:
            point = [_inner(h, values.get(h["name"], h["default"])) for h in hyperparameters]
            optimizer.tell(cube.spawn_child(new_value=point), loss)
        for _ in range(TRIES):
            values = {}
            for h, place in zip(hyperparameters, optimizer.ask().value.tolist(), strict=True):
                if active(h, values):
                    values[h["name"]] = _outer(h, place)
            if legal(space, values):
                return values
        raise RuntimeError(f"{TRIES} forbidden configurations")


def _scale(h: dict[str, Any]) -> tuple[float, float]:
    """Bounds of a numeric axis; integers are the centres of equal parts of it."""
    half = 0.5 if h["kind"] == "integer" else 0
    low, high = h["lower"] - half, h["upper"] + half
    return (math.log(low), math.log(high)) if h["log"] else (low, high)


def _inner(h: dict[str, Any], value: Any) -> float:
    if "choices" in h:
        return (h["choices"].index(value) + 0.5) / len(h["choices"])
    low, high = _scale(h)
    return min(max(((math.log(value) if h["log"] else value) - low) / (high - low), 0), 1)


def _outer(h: dict[str, Any], place: float) -> Any:
    if "choices" in h:
        return h["choices"][min(int(place * len(h["choices"])), len(h["choices"]) - 1)]
    low, high = _scale(h)
    value = low + place * (high - low)
    value = min(max(math.exp(value) if h["log"] else value, h["lower"]), h["upper"])
    return round(value) if h["kind"] == "integer" else value
