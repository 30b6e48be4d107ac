"""`searches`: optimizers with settings."""

import math
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from ensemble_search.runtime import plugins, signals
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.shares import TOLERANCE, names, read
from ensemble_search.search.budget import UNITS
from ensemble_search.study.sections.base import check_planned, check_task, check_type, mistakes
from ensemble_search.study.sections.methods import of_study as space_of

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

#: The folder of the plugins, and the key that names one.
KIND, KEY = "optimizers", "optimizer"
#: The only share of the training rows that most optimizers request.
WHOLE = (1.0,)
#: Type of the fidelities of an optimizer.
SHARES = Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)]


def _number(value: Any) -> Any:
    """Convert a number written as a fraction, such as ``1/27``; return other values unchanged."""
    return read(value) if isinstance(value, str) and re.fullmatch(r"\d+/\d+ *", value) else value


#: A value in the settings of a search.
Setting = Annotated[Any, BeforeValidator(_number)]


def make(study: "Study", name: str):
    """Create the optimizer of a search; if the search runs, pass it the budget.

    For an optimizer that only evaluates on all rows, a budget in full fits is a number of
    evaluations.
    """
    made = plugins.make(KIND, study.searches[name], KEY, f"searches.{name}")
    check_task(made, study.task, f"searches.{name}")
    runs, budget = name in study.searched, study.budget
    where, kind = f"searches.{name}.{KEY}", type(made)
    check_type(made.shares, SHARES, where, f"{kind.__name__}.shares")
    evaluations = budget.whole if made.shares == WHOLE else budget.evaluations
    space = space_of(study)
    try:
        if space:
            made.check_space(space)
        if runs:
            made = made.planned(evaluations, budget.seconds)
            check_planned(made, kind, KEY)
        if space:
            made.check_space(space)
    except UserError as error:
        said = str(error)
        if budget.fits and made.shares == WHOLE:  # which are the evaluations of its message
            said = said.replace(UNITS["evaluations"], UNITS["fits"])
        raise UserError(f"searches.{name}.{said}") from None
    least = made.minimum_evaluations
    check_type(least, int, where, f"{kind.__name__}.minimum_evaluations")
    check_type(made.modules, list[str], where, f"{kind.__name__}.modules")
    if runs and 1 not in made.shares:
        raise UserError(
            f"searches.{name}: its fidelities, {names(made.shares)}, lack all rows; add 1"
        )
    needed = made.minimum_fits if budget.fits else least
    if runs and needed > (budget.whole or math.inf) + TOLERANCE:
        raise UserError(
            f"budget.{budget.unit}: {budget.whole} is below what search '{name}' needs, "
            f"{math.ceil(needed - TOLERANCE)}"
        )
    return made


def shares(study: "Study", name: str) -> tuple[float, ...]:
    """Return the fidelities that a search may request; only 1 if its settings are wrong."""
    try:
        found = plugins.make(KIND, study.searches[name], KEY, f"searches.{name}").shares
        check_type(found, SHARES, name, "shares")
        return found
    except BaseException as error:  # :func:`make` says why
        if signals.caused(error):
            raise
        return WHOLE


def configurations(study: "Study", name: str) -> int:
    """Return how many configurations a table needs, so that a search on it ends with its budget.

    See :meth:`Optimizer.configurations`; 0 if the settings of the search are wrong.
    """
    try:
        made, budget = make(study, name), study.budget
    except BaseException as error:  # :func:`problems` says why
        if signals.caused(error):
            raise
        return 0
    return made.configurations(budget.evaluations, budget.fits)


def lacking(study: "Study", fidelities: Collection[float]) -> Iterator[tuple[str, str]]:
    """Name searches of methods that may request fidelities that a table lacks, and these."""
    for name in study.used("search"):
        if missing := [share for share in shares(study, name) if share not in fidelities]:
            yield name, names(missing)


def problems(study: "Study") -> Iterator[str]:
    """Check the settings of every search."""
    for name in study.searches:
        yield from mistakes(make, study, name)
