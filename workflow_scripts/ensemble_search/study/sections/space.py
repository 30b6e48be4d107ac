"""`space`: the configurations to choose from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.runtime import plugins
from ensemble_search.study.sections.base import plugin_problems

if TYPE_CHECKING:
    from ensemble_search.spaces.base import Space
    from ensemble_search.study.model import Study


def of_study(study: "Study") -> "Space | None":
    """Return the space in the form for the task, if there is one; None if the name is unknown."""
    if study.space not in plugins.available("spaces"):
        return None
    space = plugins.load("spaces", study.space)()
    return space.for_task(study.task) if study.task in space.tasks else space


def problems(study: "Study") -> Iterator[str]:
    """Check that the space exists, and has a form for the study's task."""
    lines = list(plugin_problems("space", "spaces", study.space))
    if not lines and study.task and study.task not in plugins.load("spaces", study.space).tasks:
        lines.append(
            f"space: '{study.space}' has no form for {study.task}, which metric '{study.metric}' "
            "is for; change one of them"
        )
    yield from lines
