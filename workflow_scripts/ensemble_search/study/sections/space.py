"""`space`: the configurations to choose from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.study.sections.base import plugin_problems

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


def problems(study: "Study") -> Iterator[str]:
    """Check that the space exists."""
    return plugin_problems("space", "spaces", study.space)
