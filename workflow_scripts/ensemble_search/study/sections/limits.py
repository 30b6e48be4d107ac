"""`limits`: what one evaluation may take."""

from pydantic import Field

from ensemble_search.study.sections.base import SECONDS, Section

#: Largest limit of memory, far beyond any machine: 1 PB.
MEMORY_MB = 1_000_000_000


class Limits(Section):
    """What one evaluation may take; beyond it the evaluation fails and the search continues."""

    seconds: float = Field(
        300,
        gt=0,
        le=SECONDS,
        description="CPU seconds per thread to fit and predict; wall-clock: twice that and 5 s, "
        "without the time spent waiting for a processor",
    )
    memory_mb: int = Field(
        4096, ge=512, le=MEMORY_MB, description="resident memory of the worker, in MiB"
    )
