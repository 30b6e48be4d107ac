"""`searches`: optimizers with settings."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study.sections.base import check_task, mistakes

if TYPE_CHECKING:
    from ensemble_search.optimizers.base import Optimizer
    from ensemble_search.study.model import Study

#: The folder of the plugins, and the key that names one.
KIND, KEY = "optimizers", "optimizer"


def make(study: "Study", name: str):
    """Create the optimizer of a search; one that a method uses is told the budget."""
    made = plugins.make(KIND, study.searches[name], KEY, f"searches.{name}")
    check_task(made, study.task, f"searches.{name}")
    _check_space(made, study, f"searches.{name}")
    if name not in study.used("search"):
        return made
    evaluations = study.budget.evaluations
    try:
        made = made.planned(evaluations)
    except UserError as error:
        raise UserError(f"searches.{name}.{error}") from None
    if made.minimum_evaluations > (evaluations or math.inf):
        raise UserError(
            f"budget.evaluations: {evaluations} is below what search '{name}' needs for its "
            f"initial design and one suggestion, {made.minimum_evaluations}"
        )
    return made


def _check_space(made: "Optimizer", study: "Study", where: str) -> None:
    """Check that an optimizer suits the space, unless that does not exist.

    Raises
    ------
    UserError
        Naming the setting.
    """
    if study.space not in plugins.available("spaces"):
        return
    try:
        made.check_space(plugins.load("spaces", study.space)())
    except UserError as error:
        raise UserError(f"{where}.{error}") from None


def problems(study: "Study") -> Iterator[str]:
    """Check the settings of every search."""
    for name in study.searches:
        yield from mistakes(make, study, name)
