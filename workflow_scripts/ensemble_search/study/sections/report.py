"""`report`: what the report shows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from ensemble_search.runtime.plugins import nearest
from ensemble_search.study.sections.base import Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Report(Section):
    """What the report shows."""

    reference: str | None = Field(
        None, description="method that the others are compared with (default: DivBO, or the last)"
    )
    png: bool = Field(False, description="figures as PNG, too: slow, and large files")
    single_file: bool = Field(False, description="the report as one file, too: whole.html, to send")


def problems(study: "Study") -> Iterator[str]:
    """Check that the reference is a method."""
    reference = study.report.reference
    if reference is not None and reference not in study.methods:
        hint = nearest(reference, list(study.methods))
        yield f"report.reference: '{reference}' is not among methods; {hint}"
