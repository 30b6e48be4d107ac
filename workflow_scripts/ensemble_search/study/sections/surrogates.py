"""`surrogates`: evaluation of surrogates."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.plugins import nearest
from ensemble_search.study.sections.base import Section, mistakes, plugin_problems
from ensemble_search.study.sections.methods import of_study as space_of

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Surrogates(Section):
    """Evaluation of surrogates on random configurations (DivBO paper, Figure 2)."""

    names: list[str] = Field(min_length=1, description="files in ensemble_search/surrogates/")
    datasets: list[str] | None = Field(
        None, min_length=1, description="data sets of the study (default: all)"
    )
    repeats: int = Field(10, ge=1, le=10_000, description="shuffles of the configurations")
    sizes: list[Annotated[int, Field(ge=2, le=100_000)]] = Field(
        list(range(25, 251, 25)), min_length=1, description="configurations to fit on"
    )
    configurations: int = Field(
        300,
        ge=5,
        le=100_000,
        description="random configurations per data set, not counting failed ones",
    )
    held_out: int = Field(
        50, ge=3, le=100_000, description="configurations to predict, the same for all sizes"
    )


def problems(study: "Study") -> Iterator[str]:
    """Check names and data sets, and that there are enough configurations."""
    section = study.surrogates
    if section is None:
        return
    for name in section.names:
        lines = list(plugin_problems("surrogates.names", "surrogates", name))
        yield from lines or mistakes(_check_space, study, name)
    for name in section.datasets or []:
        if name not in study.datasets:
            hint = nearest(name, list(study.datasets))
            yield f"surrogates.datasets: '{name}' is not among datasets; {hint}"
    for key in ("names", "datasets", "sizes"):
        values = getattr(section, key) or []
        twice = next((v for i, v in enumerate(values) if v in values[:i]), None)
        if twice is not None:
            yield f"surrogates.{key}: '{twice}' is written twice; keep one"
    largest, held_out = max(section.sizes), section.held_out
    if largest + held_out > section.configurations:
        yield (
            f"surrogates.configurations: {section.configurations} are too few to fit on {largest} "
            f"of them and to hold {held_out} out; {largest + held_out} are needed"
        )


def _check_space(study: "Study", name: str) -> None:
    """Check that a surrogate suits the space, as ``Optimizer.check_space`` does."""
    suits = getattr(plugins.load("surrogates", name), "suits_conditions", True)
    if not suits and (space := space_of(study)) and space.conditional:
        raise UserError(
            f"surrogates.names: '{name}' needs a space without conditions, and '{study.space}' has "
            "some; remove it"
        )
