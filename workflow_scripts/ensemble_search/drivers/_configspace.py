"""Build a ConfigSpace object with any version of ConfigSpace: each library needs its own."""

from typing import Any


def config_space(space: dict[str, Any]):
    """Build the ``ConfigurationSpace`` of a described space; see :class:`base.Driver`."""
    import ConfigSpace as cs

    made = cs.ConfigurationSpace(seed=0)
    part: Any
    for h in space["hyperparameters"]:
        kind, name, default = h["kind"], h["name"], {"default_value": h["default"]}
        if kind == "categorical":
            part = cs.CategoricalHyperparameter(name, h["choices"], **default)
        elif kind == "ordinal":
            part = cs.OrdinalHyperparameter(name, h["choices"], **default)
        else:
            whole = kind == "integer"
            number = cs.UniformIntegerHyperparameter if whole else cs.UniformFloatHyperparameter
            part = number(name, h["lower"], h["upper"], log=h["log"], **default)
        _add(made, "add_hyperparameter", part)
    for h in space["hyperparameters"]:
        if h["when"]:
            parent, values = h["when"]
            condition = cs.InCondition(_get(made, h["name"]), _get(made, parent), values)
            _add(made, "add_condition", condition)
    for clause in space["forbidden"]:
        parts = [cs.ForbiddenEqualsClause(_get(made, k), v) for k, v in clause.items()]
        _add(made, "add_forbidden_clause", cs.ForbiddenAndConjunction(*parts))
    return made


def _add(space, old: str, part) -> None:
    """Add by ``add`` or, in old versions, by the method ``old``."""
    (space.add if hasattr(space, "add") else getattr(space, old))(part)


def _get(space, name: str):
    return space[name] if hasattr(space, "add") else space.get_hyperparameter(name)
