"""`space`, `metric`, `methods` and `report`: what is compared, and how."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from ensemble_search.runtime import outside, plugins
from ensemble_search.study.sections.base import (
    Section,
    check_type,
    mistakes,
    plugin_problems,
    unknown,
)

if TYPE_CHECKING:
    from ensemble_search.spaces.base import Space
    from ensemble_search.study.model import Study

#: Type of the import names of a space's libraries.
LIBRARIES = tuple[str, ...] | list[str]
#: Scores of scikit-learn, and the losses that are 1 - score.
SCORES = {"accuracy": "error", "balanced-accuracy": "balanced-error"}


def of_study(study: "Study") -> "Space | None":
    """Return the space for the study's task, if it has one; None if the name is unknown."""
    if study.space not in plugins.available("spaces"):
        return None
    space = plugins.load("spaces", study.space)()
    return space.for_task(study.task) if study.task in space.tasks else space


def problems_of_space(study: "Study") -> Iterator[str]:
    """Check that the space exists, supports the study's task, and names its libraries well."""
    lines = list(plugin_problems("space", "spaces", study.space))
    yield from lines
    if lines:
        return
    space = plugins.load("spaces", study.space)
    if outside.holds(Path(inspect.getfile(space))):  # the space of a job is checked when it begins
        yield from (f"space: {line}" for line in mistakes(_columns, study))
    if study.task and study.task not in space.tasks:
        yield (
            f"space: '{study.space}' has no form for {study.task}, which metric '{study.metric}' "
            "is for; change one of them"
        )
    names = f"{space.__name__}.libraries"
    wrong = list(mistakes(check_type, space.libraries, LIBRARIES, "space", names))
    yield from wrong or (
        f"space: {names} has '{name}'; name the package alone, '{name.partition('.')[0]}'"
        for name in space.libraries
        if "." in name
    )


def _columns(study: "Study") -> list:
    found = of_study(study)
    return found.columns if found else []


def of_score(metric: str, option: str = "") -> str:
    """Name the loss for one of :data:`SCORES`, perhaps misspelt; empty for other metrics."""
    known = plugins.available("metrics")
    near = None if metric in known else plugins.similar(metric.replace("_", "-"), [*SCORES, *known])
    if near not in SCORES:
        return ""
    return f"losses are minimised here: for {near}, choose {option}{SCORES[near]}"


def problems_of_metric(study: "Study") -> Iterator[str]:
    """Check that the metric exists and has a title, which logs and reports use for its losses."""
    if instead := of_score(study.metric):
        yield f"metric: there is no '{study.metric}'; {instead}"
        return
    lines = list(plugin_problems("metric", "metrics", study.metric))
    if not lines and not hasattr(plugins.load("metrics", study.metric), "title"):
        lines.append(f"metric: '{study.metric}' has no title, such as title = \"log loss\"")
    yield from lines


class Method(Section):
    """A row of the tables: an ensemble of a search."""

    search: str = Field(description="one of `searches`")
    ensemble: str = Field(description="one of `ensembles`, built from the search")


def problems_of_methods(study: "Study") -> Iterator[str]:
    """Check that every method names a search and an ensemble, and that no two are the same."""
    pairs: dict[tuple[str, str], str] = {}
    for name, method in study.methods.items():
        yield from unknown(f"methods.{name}.search", [method.search], study, "searches")
        yield from unknown(f"methods.{name}.ensemble", [method.ensemble], study, "ensembles")
        other = pairs.setdefault((method.search, method.ensemble), name)
        if other != name:
            yield f"methods.{name}: the same search and ensemble as '{other}'; remove one"


class Report(Section):
    """What the report shows."""

    reference: str | None = Field(
        None, description="method to compare the others with (default: DivBO, or the last)"
    )
    png: bool = Field(False, description="also write figures as PNG: slow, and large files")
    single_file: bool = Field(False, description="also write the report as one file, whole.html")


def problems_of_report(study: "Study") -> Iterator[str]:
    """Check that the reference is a method."""
    if (reference := study.report.reference) is not None:
        yield from unknown("report.reference", [reference], study, "methods")
