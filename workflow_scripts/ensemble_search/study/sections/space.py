"""`space`: the configurations to choose from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.runtime import plugins
from ensemble_search.study.sections.base import plugin_problems

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


def problems(study: "Study") -> Iterator[str]:
    """Check that the space exists, and has a form for the study's task."""
    lines = list(plugin_problems("space", "spaces", study.space))
    if not lines and study.task and study.task not in plugins.load("spaces", study.space).tasks:
        lines.append(
            f"space: '{study.space}' has no form for {study.task}, which metric '{study.metric}' "
            "is for; change one of them"
        )
    yield from lines
