"""`ensembles`: kinds of ensembles with settings."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ensemble_search.runtime import plugins
from ensemble_search.study.sections.base import check_task, mistakes

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

#: The folder of the plugins, and the key that names one.
KIND, KEY = "ensembles", "type"


def make(study: "Study", name: str):
    """Create an ensemble of the study, and tell it the budget."""
    made = plugins.make(KIND, study.ensembles[name], KEY, f"ensembles.{name}")
    check_task(made, study.task, f"ensembles.{name}")
    return made.planned(study.budget.evaluations)


def problems(study: "Study") -> Iterator[str]:
    """Check the settings of every ensemble."""
    for name in study.ensembles:
        yield from mistakes(make, study, name)
