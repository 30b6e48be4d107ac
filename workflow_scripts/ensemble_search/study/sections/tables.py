"""`tables`: stores of evaluated configurations."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from ensemble_search.runtime.plugins import nearest
from ensemble_search.runtime.shares import Share, distinct, names
from ensemble_search.study.sections import searches
from ensemble_search.study.sections.base import Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Tables(Section):
    """Evaluated configurations of every data set and split, to replay searches on."""

    random: int = Field(
        1000, ge=0, le=1_000_000, description="random configurations, evaluated in jobs of 100"
    )
    fidelities: Annotated[list[Share], AfterValidator(distinct)] = Field(
        [1.0],
        min_length=1,
        description="shares of the training rows on which each configuration is evaluated",
    )
    searches: list[str] = Field([], description="searches whose evaluations are added")


def problems(study: "Study") -> Iterator[str]:
    """Check the names of the searches, and that there are enough configurations."""
    section = study.tables
    if section is None:
        return
    if not section.random and not section.searches:
        yield "tables.random: a table of 0 random configurations and no searches is empty; raise it"
    if 1 not in section.fidelities:
        yield f"tables.fidelities: {names(section.fidelities)} lack all rows; add 1"
    replay, budget = study.evaluation.replay, study.budget.whole or 0
    if replay == f"results/{study.study}/tables":
        if budget > section.random and any(
            searches.shares(study, name) == searches.WHOLE for name in study.used("search")
        ):
            yield (
                f"tables.random: {section.random} are fewer than budget.{study.budget.unit}, "
                f"{budget}, of the searches that are replayed on the table; raise it"
            )
        for name, shares in searches.lacking(study, section.fidelities):
            yield (
                f"tables.fidelities: search '{name}' may ask for {shares} of the training rows, "
                "which the table lacks; add them"
            )
    for name in section.searches:
        if name not in study.searches:
            hint = nearest(name, list(study.searches))
            yield f"tables.searches: '{name}' is not among searches; {hint}"
    if section.searches and replay:
        yield (
            "tables.searches: the searches of this study are replayed on a table and evaluate "
            "nothing that could be added; name them in a study without evaluation.replay"
        )
