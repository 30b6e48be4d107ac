"""Learners of the space ``tabular`` that differ from those of the DivBO paper's space.

Multilayer perceptrons have the hyperparameters and ranges of auto-sklearn (``mlp`` in
``pipeline/components``), with scikit-learn's default of 100 units and learning rates of at most
0.1: with larger ones, training diverges.

LightGBM has the paper's ranges, but other defaults, as a short search hardly gets beyond them. The
paper's 500 trees of 128 leaves err as rarely, but are so sure of it that their log loss can be
twice as large. For regression, 500 smaller trees are as good, in half the time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from ConfigSpace import Categorical, Float, Integer, OrdinalHyperparameter

from ensemble_search.learners import classifiers, regressors
from ensemble_search.learners.operators import SEED, Data, Operator

#: Share of the training rows that decides when training stops.
HELD_OUT = 0.1

_PERCEPTRON = (
    Integer("layers", (1, 3), default=1),
    Integer("units", (16, 264), log=True, default=100),
    Categorical("activation", ["relu", "tanh"], default="relu"),
    Float("alpha", (1e-7, 0.1), log=True, default=1e-4),
    Float("learning_rate", (1e-4, 0.1), log=True, default=1e-3),
    Categorical("stops_by", ["validation", "training"], default="validation"),
)


def _arguments(values: Mapping[str, Any], early: bool) -> dict[str, Any]:
    return {
        "hidden_layer_sizes": (values["units"],) * values["layers"],
        "activation": values["activation"],
        "alpha": values["alpha"],
        "learning_rate_init": values["learning_rate"],
        "early_stopping": early and values["stops_by"] == "validation",
        "validation_fraction": HELD_OUT,
        "random_state": SEED,
    }


def _classifier(values: Mapping[str, Any], data: Data):
    """Stops by the training loss if some class is too rare for a stratified division."""
    from sklearn.neural_network import MLPClassifier

    counts = np.unique(data.y, return_counts=True)[1]
    enough = counts.min() > 1 and HELD_OUT * data.n_samples >= len(counts)
    return MLPClassifier(**_arguments(values, enough))


def _regressor(values: Mapping[str, Any], data: Data):
    """For a target with mean 0 and variance 1."""
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(**_arguments(values, early=True))


def _booster(trees: int) -> tuple:
    """Return LightGBM's hyperparameters with a default of so many trees of 31 leaves."""
    return (
        OrdinalHyperparameter("n_estimators", list(range(100, 1001, 50)), default_value=trees),
        Integer("num_leaves", (31, 2047), default=31),
        Float("learning_rate", (1e-3, 0.3), log=True, default=0.05),
        *classifiers.lightgbm.without("n_estimators", "num_leaves", "learning_rate"),
    )


def _learners(paper: Sequence[Operator], perceptron: Callable, trees: int) -> tuple[Operator, ...]:
    """Return the paper's learners, with LightGBM's other defaults, and the perceptron."""
    booster = _booster(trees)
    changed = [replace(o, hyperparameters=booster) if o.name == "lightgbm" else o for o in paper]
    return (*changed, Operator("mlp", perceptron, _PERCEPTRON, {}, ()))


CLASSIFIERS = _learners(classifiers.CLASSIFIERS, _classifier, 300)
REGRESSORS = _learners(regressors.REGRESSORS, _regressor, 500)
