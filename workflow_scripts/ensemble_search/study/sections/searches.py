"""`searches`: optimizers with settings."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study.sections.base import check_task, mistakes
from ensemble_search.study.sections.space import of_study as space_of

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

#: The folder of the plugins, and the key that names one.
KIND, KEY = "optimizers", "optimizer"


def make(study: "Study", name: str):
    """Create the optimizer of a search; one that a method uses is told the budget."""
    made = plugins.make(KIND, study.searches[name], KEY, f"searches.{name}")
    check_task(made, study.task, f"searches.{name}")
    used, evaluations = name in study.used("search"), study.budget.evaluations
    space = space_of(study)
    try:
        if space:
            made.check_space(space)
        if used:
            made = made.planned(evaluations, study.budget.seconds)
        if space:
            made.check_space(space)
    except UserError as error:
        raise UserError(f"searches.{name}.{error}") from None
    if used and made.minimum_evaluations > (evaluations or math.inf):
        raise UserError(
            f"budget.evaluations: {evaluations} is below what search '{name}' needs, "
            f"{made.minimum_evaluations}"
        )
    return made


def problems(study: "Study") -> Iterator[str]:
    """Check the settings of every search."""
    for name in study.searches:
        yield from mistakes(make, study, name)
