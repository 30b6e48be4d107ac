"""`ensembles`: kinds of ensembles with settings."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study.sections.base import check_planned, check_task, check_type, mistakes

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

#: The folder of the plugins, and the key that names one.
KIND, KEY = "ensembles", "type"


def make(study: "Study", name: str):
    """Create an ensemble of the study with the study's budget."""
    made = plugins.make(KIND, study.ensembles[name], KEY, f"ensembles.{name}")
    check_task(made, study.task, f"ensembles.{name}")
    if made.needs_validation_part and study.split.folds:
        raise UserError(
            f"ensembles.{name}.type: '{study.ensembles[name][KEY]}' needs validation rows of their "
            "own, and split.folds makes all training rows validation rows; remove one of them"
        )
    planned, where = made.planned(study.budget.whole), f"ensembles.{name}.{KEY}"
    check_planned(planned, type(made), where)
    check_type(planned.modules, list[str], where, f"{type(made).__name__}.modules")
    return planned


def refits(study: "Study", name: str) -> bool:
    """Whether an ensemble refits pipelines; other checks say if there is no such ensemble."""
    kind = study.ensembles.get(name, {}).get(KEY)
    try:
        return kind in plugins.available(KIND) and plugins.load(KIND, kind).refits
    except UserError:  # :func:`make` says why, beside the other mistakes
        return False


def lacking(ensembles: Mapping[str, Mapping[str, Any]], split: Mapping[str, Any]) -> Iterator[str]:
    """Describe ensembles, settings by name, that need more training rows than a ``split.json`` has.

    If validation uses folds, ensembles refit nothing.
    """
    rows = split.get("sizes", {}).get("train")
    if rows is None or "folds" in split.get("settings", {}):
        return  # older versions of the project did not store the sizes
    classes = [*split["classes"]["train"].values()] or [rows]
    for name, settings in ensembles.items():
        made = plugins.make(KIND, settings, KEY, f"ensembles.{name}")
        if lack := made.lacks(classes):
            yield f"ensembles.{name}.{lack}"


def problems(study: "Study") -> Iterator[str]:
    """Check the settings of every ensemble."""
    for name in study.ensembles:
        yield from mistakes(make, study, name)
