"""Optuna (Akiba et al., KDD 2019)."""

from collections.abc import Sequence
from typing import Any

from ensemble_search.drivers.base import Driver, active, legal

TRIES = 1000  # draws until a configuration is allowed: Optuna has no forbidden combinations


class Optuna(Driver):
    """Optuna's default sampler, the tree-structured Parzen estimator, with a define-by-run space.

    Ordinal values are represented by their positions. A forbidden configuration is reported to
    Optuna as a failed trial.
    """

    environment = "optuna"

    def suggest(
        self, space: dict[str, Any], evaluations: Sequence[tuple[dict, float]], seed: int
    ) -> dict[str, Any]:
        """See :meth:`Driver.suggest`."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=1)
        study = optuna.create_study(sampler=sampler)
        domains = {h["name"]: (h, _distribution(h)) for h in space["hyperparameters"]}
        for values, loss in evaluations:
            trial = optuna.trial.create_trial(
                params={name: _inner(domains[name][0], value) for name, value in values.items()},
                distributions={name: domains[name][1] for name in values},
                value=loss,
            )
            study.add_trial(trial)
        for _ in range(TRIES):
            trial = study.ask()
            values = run(trial, space)
            if legal(space, values):
                return values
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        raise RuntimeError(f"{TRIES} forbidden configurations")


def _distribution(h: dict[str, Any]):
    from optuna import distributions

    if h["kind"] == "categorical":
        return distributions.CategoricalDistribution(h["choices"])
    if h["kind"] == "ordinal":
        return distributions.IntDistribution(0, len(h["choices"]) - 1)
    kinds = {"integer": distributions.IntDistribution, "float": distributions.FloatDistribution}
    return kinds[h["kind"]](h["lower"], h["upper"], log=h["log"])


def _inner(h: dict[str, Any], value: Any) -> Any:
    return h["choices"].index(value) if h["kind"] == "ordinal" else value


def run(trial, space: dict[str, Any]) -> dict[str, Any]:
    """Let a trial suggest the active hyperparameters."""
    values: dict[str, Any] = {}
    for h in space["hyperparameters"]:
        if not active(h, values):
            continue
        name = h["name"]
        if h["kind"] == "categorical":
            values[name] = trial.suggest_categorical(name, h["choices"])
        elif h["kind"] == "ordinal":
            values[name] = h["choices"][trial.suggest_int(name, 0, len(h["choices"]) - 1)]
        else:
            suggest = trial.suggest_int if h["kind"] == "integer" else trial.suggest_float
            values[name] = suggest(name, h["lower"], h["upper"], log=h["log"])
    return values
