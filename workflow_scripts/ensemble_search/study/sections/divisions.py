"""`divisions`: rules scored on other divisions of the held-out rows, with the same fits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.runtime import plugins

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


def problems(study: "Study") -> Iterator[str]:
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
        # A name that is unknown is reported by the section of the ensembles or of the methods.
        kind = study.ensembles.get(name, {}).get("type")
        if kind in plugins.available("ensembles") and plugins.load("ensembles", kind).refits:
            yield (
                f"divisions: ensembles.{name} refits pipelines, and divisions use stored "
                "predictions; remove one of them"
            )
