"""ConfigSpace's objects as columns and rules."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ensemble_search.spaces._encoding import Column
from ensemble_search.spaces._rules import Among, Rules, Test

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace


def rules(space: "ConfigurationSpace", columns: Sequence[Column]) -> Rules:
    """Return the conditions and forbidden clauses of a space."""
    index = {column.name: i for i, column in enumerate(columns)}
    conditions = []
    known: list[tuple] = []
    for column in columns:
        for condition in space.parent_conditions_of[column.name]:
            for other, children in known:
                if condition.equivalent_condition_on_parent(other):
                    children.append(index[column.name])
                    break
            else:
                known.append((condition, [index[column.name]]))
    for condition, children in known:
        for test, parents in _tests(condition, "satisfied_by_vector_array", space, columns):
            conditions.append((test, parents, children))
    forbidden = [
        [test for test, _ in _tests(clause, "is_forbidden_vector_array", space, columns)]
        for clause in space.forbidden_clauses
    ]
    return Rules(len(columns), conditions, forbidden)


def _tests(
    condition, method: str, space: "ConfigurationSpace", columns: Sequence[Column]
) -> Iterator[tuple[Test, list[int]]]:
    """Yield tests that together amount to a condition or clause, and what each depends on."""
    from ConfigSpace import AndConjunction, ForbiddenAndConjunction

    meets = getattr(condition, method)
    names = set(_names(condition))
    used = [i for i, column in enumerate(columns) if column.name in names]
    if len(used) == 1 and columns[used[0]].choices is not None:
        (i,) = used
        column, hyperparameter = columns[i], space[columns[i].name]
        choices = column.choices or ()
        vectors = np.full((len(columns), len(choices) + 1), np.nan)
        vectors[i, :-1] = [hyperparameter.to_vector(choice) for choice in choices]
        steps = 1.0 if column.categorical else column.upper
        yield Among(i, steps, np.asarray(meets(vectors), dtype=bool)), used
    elif isinstance(condition, AndConjunction | ForbiddenAndConjunction):
        for part in condition.components:
            yield from _tests(part, method, space, columns)
    else:

        def test(points: np.ndarray) -> np.ndarray:
            vectors = np.full((len(columns), len(points)), np.nan)
            for i in used:
                active = ~np.isnan(points[:, i])
                values = columns[i].values(points[active, i])
                hyperparameter = space[columns[i].name]
                vectors[i, active] = [hyperparameter.to_vector(v) for v in values]
            return meets(vectors)

        yield test, used


def _names(condition) -> Iterator[str]:
    """Names of the hyperparameters that a condition or forbidden clause depends on."""
    for part in getattr(condition, "components", ()):
        yield from _names(part)
    for attribute in ("parent", "hyperparameter", "left", "right"):
        if hasattr(condition, attribute):
            yield getattr(condition, attribute).name
