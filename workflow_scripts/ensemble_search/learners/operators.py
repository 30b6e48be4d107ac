"""Operators of pipelines, and the configuration space they form."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ConfigSpace import (
    Categorical,
    ConfigurationSpace,
    EqualsCondition,
    ForbiddenAndConjunction,
    ForbiddenEqualsClause,
    InCondition,
)

SEED = 1  # random_state of every estimator, so that a configuration determines its evaluation


@dataclass(frozen=True)
class Data:
    """The training data of a step, as its builder sees it."""

    X: np.ndarray  #: features at this step, float64, of shape (n_samples, n_features)
    y: np.ndarray  #: labels, int, or in regression the target, float64, of shape (n_samples,)
    #: Bool, of shape (n_features,): whether each column is one-hot or holds categorical codes.
    categorical: np.ndarray
    threads: int = 1  #: threads that the estimator may start

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        """Number of classes among the labels."""
        return len(np.unique(self.y))


@dataclass(frozen=True)
class Operator:
    """A rescaler, preprocessor or learner with its hyperparameters."""

    name: str  #: value of the choice node, and prefix of the hyperparameters (``lda:shrinkage``)
    #: ``build(values, data)`` creates the unfitted estimator from values by short name; None leaves
    #: the data unchanged.
    build: Callable[[Mapping[str, Any], Data], Any]
    hyperparameters: tuple  #: ConfigSpace hyperparameters with short names
    #: Maps each child to (parent, values of the parent for which the child is active).
    conditions: Mapping[str, tuple[str, Sequence]]
    forbidden: Sequence[Mapping[str, Any]]  #: forbidden combinations of values

    def without(self, *names: str) -> tuple:
        """Return the other hyperparameters, for reuse in another operator."""
        return tuple(h for h in self.hyperparameters if h.name not in names)

    def parts(self, prefix: str = "") -> tuple[dict[str, Any], list]:
        """Return ConfigSpace's objects with prefixed names.

        Returns
        -------
        hyperparameters
            Keyed by short name.
        rules
            Conditions and forbidden clauses.
        """
        own = {h.name: copy.copy(h) for h in self.hyperparameters}
        for name, hyperparameter in own.items():
            hyperparameter.name = prefix + name
        rules: list = [
            InCondition(own[child], own[parent], list(values))
            for child, (parent, values) in self.conditions.items()
        ]
        for clause in self.forbidden:
            rules.append(
                ForbiddenAndConjunction(
                    *(ForbiddenEqualsClause(own[k], v) for k, v in clause.items())
                )
            )
        return own, rules

    def space(self) -> ConfigurationSpace:
        """Return the space of this operator alone: hyperparameters, conditions and clauses."""
        own, rules = self.parts()
        space = ConfigurationSpace()
        space.add(own.values(), rules)
        return space


def operator(*hyperparameters, conditions=None, forbidden=()) -> Callable[[Callable], Operator]:
    """Turn the decorated builder into an :class:`Operator` of the same name."""

    def make(build: Callable) -> Operator:
        return Operator(build.__name__, build, hyperparameters, conditions or {}, tuple(forbidden))

    return make


def joint_space(stages: Mapping[str, Sequence[Operator]]) -> ConfigurationSpace:
    """Combine operators into one space, with one choice node per stage.

    Parameters
    ----------
    stages
        Maps each choice node (``algorithm``, ``rescaler``, ``preprocessor``) to its operators; the
        first is the default.
    """
    parts: list = []
    for stage, operators in stages.items():
        names = [o.name for o in operators]
        choice = Categorical(stage, names, default=names[0])
        parts.append(choice)
        for o in operators:
            own, rules = o.parts(f"{o.name}:")
            chosen = [
                EqualsCondition(h, choice, o.name)
                for name, h in own.items()
                if name not in o.conditions
            ]
            parts += [own.values(), rules, chosen]
    space = ConfigurationSpace()
    space.add(parts)  # all at once, because ConfigSpace sorts everything after each call
    return space


def pipeline_steps(
    stages: Mapping[str, Sequence[Operator]], values: Mapping[str, Any]
) -> list[tuple[Operator, dict[str, Any]]]:
    """Return each stage's chosen operator with its values by short name."""
    steps = []
    for stage, operators in stages.items():
        chosen = next(o for o in operators if o.name == values[stage])
        prefix = f"{chosen.name}:"
        own = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
        steps.append((chosen, own))
    return steps
