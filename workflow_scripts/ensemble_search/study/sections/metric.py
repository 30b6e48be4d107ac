"""`metric`: the loss to minimise."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.study.sections.base import plugin_problems

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


def problems(study: "Study") -> Iterator[str]:
    """Check that the metric exists."""
    return plugin_problems("metric", "metrics", study.metric)
