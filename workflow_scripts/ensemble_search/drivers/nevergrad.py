"""Nevergrad (Bennet et al., SIGEVOlution 2021)."""

from collections.abc import Sequence
from typing import Any

from ensemble_search.drivers.base import Driver, active, legal, plain

TRIES = 1000  # draws until a configuration is allowed: Nevergrad's constraints are for all values


class Nevergrad(Driver):
    """Nevergrad's differential evolution with two-point crossover.

    It learns from configurations that it did not suggest, as its other optimizers do only in part.
    Inactive hyperparameters have their default values.
    """

    environment = "nevergrad"

    def suggest(
        self, space: dict[str, Any], evaluations: Sequence[tuple[dict, float]], seed: int
    ) -> dict[str, Any]:
        """See :meth:`Driver.suggest`."""
        import nevergrad

        hyperparameters = space["hyperparameters"]
        defaults = {h["name"]: h["default"] for h in hyperparameters}
        whole = nevergrad.p.Dict(**{h["name"]: _parameter(h) for h in hyperparameters})
        whole.random_state.seed(seed)
        optimizer = nevergrad.optimizers.TwoPointsDE(whole)
        for values, loss in evaluations:
            optimizer.tell(whole.spawn_child(new_value={**defaults, **values}), loss)
        for _ in range(TRIES):
            asked = optimizer.ask().value
            values = {}
            for h in hyperparameters:
                if active(h, values):
                    values[h["name"]] = plain(asked[h["name"]])
            if legal(space, values):
                return values
        raise RuntimeError(f"{TRIES} forbidden configurations")


def _parameter(h: dict[str, Any]):
    from nevergrad import p

    if h["kind"] == "categorical":
        return p.Choice(h["choices"])
    if h["kind"] == "ordinal":
        return p.TransitionChoice(h["choices"])
    kind = p.Log if h["log"] else p.Scalar
    made = kind(lower=h["lower"], upper=h["upper"])
    return made.set_integer_casting() if h["kind"] == "integer" else made
