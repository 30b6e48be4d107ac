"""`methods`: the rows of the tables."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from ensemble_search.runtime.plugins import nearest
from ensemble_search.study.sections.base import Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Method(Section):
    """A row of the tables: what an ensemble makes of a search."""

    search: str = Field(description="one of `searches`")
    ensemble: str = Field(description="one of `ensembles`: what is built from the search")


def problems(study: "Study") -> Iterator[str]:
    """Check that every method is a search and an ensemble of the study, and another one."""
    pairs: dict[tuple[str, str], str] = {}
    for name, method in study.methods.items():
        for key, section in (("search", "searches"), ("ensemble", "ensembles")):
            value, known = getattr(method, key), list(getattr(study, section))
            if value not in known:
                hint = nearest(value, known)
                yield f"methods.{name}.{key}: '{value}' is not among {section}; {hint}"
        other = pairs.setdefault((method.search, method.ensemble), name)
        if other != name:
            yield f"methods.{name}: the same search and ensemble as '{other}'; remove one"
