"""Hyperopt (Bergstra, Yamins & Cox, ICML 2013)."""

import math
from collections.abc import Sequence
from typing import Any

from ensemble_search.drivers.base import Driver, legal

TRIES = 1000  # draws until a configuration is allowed: Hyperopt has no forbidden combinations


class Hyperopt(Driver):
    """Hyperopt's tree-structured Parzen estimator.

    Ordinal and integer values are rounded, the former represented by their positions; an integer
    that others depend on is categorical. A forbidden configuration is reported to Hyperopt with the
    worst loss.
    """

    environment = "hyperopt"

    def suggest(
        self, space: dict[str, Any], evaluations: Sequence[tuple[dict, float]], seed: int
    ) -> dict[str, Any]:
        """See :meth:`Driver.suggest`."""
        from hyperopt import JOB_STATE_DONE, STATUS_OK, Domain, Trials, tpe

        hyperparameters = _with_choices(space["hyperparameters"])
        domains = {h["name"]: h for h in hyperparameters}
        domain, trials = Domain(None, _whole(hyperparameters)), Trials()

        def tell(misc: dict[str, Any], loss: float) -> None:
            result = {"loss": loss, "status": STATUS_OK}
            (document,) = trials.new_trial_docs([misc["tid"]], [None], [result], [misc])
            trials.insert_trial_doc({**document, "state": JOB_STATE_DONE})
            trials.refresh()

        for number, (values, loss) in enumerate(evaluations):
            inner = {n: [_inner(domains[n], values[n])] if n in values else [] for n in domains}
            places = {name: [number] * len(own) for name, own in inner.items()}
            tell({"tid": number, "cmd": None, "idxs": places, "vals": inner}, loss)
        worst = max(loss for _, loss in evaluations)
        for number in range(len(evaluations), len(evaluations) + TRIES):
            (asked,) = tpe.suggest(
                [number], domain, trials, (seed + number) % 2**31, n_startup_jobs=1, verbose=False
            )
            found = asked["misc"]["vals"]
            values = {n: _outer(h, found[n][0]) for n, h in domains.items() if len(found[n])}
            if legal(space, values):
                return values
            tell(asked["misc"], worst)
        raise RuntimeError(f"{TRIES} forbidden configurations")


def _with_choices(hyperparameters: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Turn integers that others depend on into choices: in Hyperopt, only these have children."""
    parents = {h["when"][0] for h in hyperparameters if h["when"]}
    return [
        {**h, "kind": "categorical", "choices": list(range(h["lower"], h["upper"] + 1))}
        if h["kind"] == "integer" and h["name"] in parents
        else h
        for h in hyperparameters
    ]


def _whole(hyperparameters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return Hyperopt's space: the choices of a parent contain its active children."""
    from hyperopt import hp

    made: dict[str, Any] = {}
    for h in reversed(hyperparameters):  # children first
        name = h["name"]
        children = [c for c in hyperparameters if c["when"] and c["when"][0] == name]
        if children or h["kind"] == "categorical":
            options = [
                {c["name"]: made[c["name"]] for c in children if choice in c["when"][1]}
                for choice in h["choices"]
            ]
            made[name] = hp.choice(name, options)
        elif h["kind"] == "ordinal":
            made[name] = hp.quniform(name, -0.5, len(h["choices"]) - 0.5, 1)
        elif h["kind"] == "integer":
            bounds = h["lower"] - 0.5, h["upper"] + 0.5
            made[name] = (
                hp.qloguniform(name, *map(math.log, bounds), 1)
                if h["log"]
                else hp.quniform(name, *bounds, 1)
            )
        elif h["log"]:
            made[name] = hp.loguniform(name, math.log(h["lower"]), math.log(h["upper"]))
        else:
            made[name] = hp.uniform(name, h["lower"], h["upper"])
    return {h["name"]: made[h["name"]] for h in hyperparameters if not h["when"]}


def _inner(h: dict[str, Any], value: Any) -> Any:
    return h["choices"].index(value) if "choices" in h else value


def _outer(h: dict[str, Any], value: Any) -> Any:
    if "choices" in h:
        return h["choices"][min(max(round(float(value)), 0), len(h["choices"]) - 1)]
    value = min(max(float(value), h["lower"]), h["upper"])  # logarithms are rounded
    return round(value) if h["kind"] == "integer" else value
