"""`metric`: the loss to minimise."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.runtime import plugins
from ensemble_search.study.sections.base import plugin_problems

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


def problems(study: "Study") -> Iterator[str]:
    """Check that the metric exists, and that reports can show it."""
    wrong = list(plugin_problems("metric", "metrics", study.metric))
    yield from wrong
    if not wrong and not plugins.load("metrics", study.metric).percent:
        known = plugins.available("metrics")
        shown = [name for name in known if plugins.load("metrics", name).percent]
        yield (
            f"metric: '{study.metric}' is no share, and reports show losses in percent; "
            f"one of {', '.join(shown)}"
        )
