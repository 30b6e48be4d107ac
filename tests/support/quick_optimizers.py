"""Optimizers that leave their initial design after a few evaluations."""

import json

from ensemble_search.optimizers.base import Optimizer, Suggestion
from ensemble_search.runtime import plugins
from support import ROOT

SETTINGS = {  # so that a few evaluations are enough to get beyond the initial design
    "rising-bandit": {"pull": 2, "budget": 20, "initial": 2},
    "k-bo": {"initial": 2},
    "boasf": {"budget": 18, "initial": 2},
    "k-dpp": {"batch": 9},
    "tpe": {"initial": 5},
    "neural-ensemble-search": {"population": 6},
}


def runnable() -> list[str]:
    """The optimizers that run here: `make peers` installs the default library of ask-tell."""
    names = plugins.available("optimizers")
    return names if (ROOT / ".venv-optuna").exists() else [n for n in names if n != "ask-tell"]


def make(name: str, **settings) -> Optimizer:
    return plugins.load("optimizers", name)(**{**SETTINGS.get(name, {}), **settings})


def plain(suggestion: Suggestion) -> str:
    """The suggestion as bytes that can be compared; floats by all their digits."""
    return json.dumps([dict(suggestion.configuration), suggestion.why], allow_nan=False)
