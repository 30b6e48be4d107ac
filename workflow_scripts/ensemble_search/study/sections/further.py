"""`surrogates`, `divisions`, `spread` and `autogluon`: measurements besides the methods."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from ensemble_search.dpp.coverage import CELLS
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import AUTOGLUON_METRICS
from ensemble_search.study.sections.base import (
    SECONDS,
    Section,
    mistakes,
    plugin_problems,
    repeated,
    unknown,
)
from ensemble_search.study.sections.ensembles import refits
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


def problems_of_surrogates(study: "Study") -> Iterator[str]:
    """Check names and data sets, and that there are enough configurations."""
    section = study.surrogates
    if section is None:
        return
    for name in section.names:
        lines = list(plugin_problems("surrogates.names", "surrogates", name))
        yield from lines or mistakes(_check_space, study, name)
    yield from unknown("surrogates.datasets", section.datasets or (), study, "datasets")
    for key in ("names", "datasets", "sizes"):
        yield from repeated(f"surrogates.{key}", getattr(section, key) or ())
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


def problems_of_divisions(study: "Study") -> Iterator[str]:
    """Check that the methods differ in their ensembles only, and that the rows can be divided."""
    if study.divisions is None:
        return
    searches = study.used("search")
    if len(searches) > 1:
        yield (
            f"divisions: the methods use {len(searches)} searches ({', '.join(searches)}), whose "
            "paths depend on the validation rows; compare ensembles of one search, or remove "
            "divisions"
        )
    if study.split.folds:
        yield (
            "divisions: with split.folds the validation rows are training rows, which cannot "
            "become test rows; remove one of them"
        )
    for name, dataset in study.datasets.items():
        for role in ("group", "time"):
            if dataset.columns and getattr(dataset.columns, role):
                yield (
                    f"datasets.{name}.columns.{role}: divisions draw single rows at random; remove "
                    "one of them"
                )
    for name in study.used("ensemble"):
        if refits(study, name):
            yield (
                f"divisions: ensembles.{name} refits pipelines, and divisions use stored "
                "predictions; remove one of them"
            )


class Spread(Section):
    """How evenly designs of k points cover the range from 0 to 1 (Dodge et al., 2017, Figure 1)."""

    sizes: list[Annotated[int, Field(ge=1, le=CELLS)]] = Field(
        sorted({round(500 ** (i / 34)) for i in range(35)}),
        min_length=1,
        description="numbers of points (default: 30 from 1 to 500)",
    )
    samples: int = Field(200, ge=1, le=10_000, description="designs per sampler and size")


def problems_of_spread(study: "Study") -> Iterator[str]:
    """Check that no size occurs twice."""
    yield from repeated("spread.sizes", study.spread.sizes if study.spread else ())


class AutoGluon(Section):
    """AutoGluon itself, once per data set; needs `make autogluon` (or `--sdm conda`)."""

    seconds: float = Field(600, gt=0, le=SECONDS, description="time limit per data set, in seconds")


def problems_of_autogluon(study: "Study") -> Iterator[str]:
    """Check that AutoGluon can be compared with."""
    if study.autogluon and study.metric not in AUTOGLUON_METRICS:
        yield (
            f"autogluon: it is compared by {', '.join(AUTOGLUON_METRICS)} only, not by "
            f"'{study.metric}'; remove the key"
        )
