"""`divisions`, `spread` and `autogluon`: measurements besides the methods."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from ensemble_search.dpp.coverage import CELLS
from ensemble_search.runtime import plugins
from ensemble_search.runtime.names import AUTOGLUON_METRICS
from ensemble_search.study.sections.base import SECONDS, Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


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
        # The sections of ensembles and methods report unknown names.
        kind = study.ensembles.get(name, {}).get("type")
        if kind in plugins.available("ensembles") and plugins.load("ensembles", kind).refits:
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
    sizes = study.spread.sizes if study.spread else []
    twice = next((size for i, size in enumerate(sizes) if size in sizes[:i]), None)
    if twice is not None:
        yield f"spread.sizes: '{twice}' is written twice; keep one"


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
