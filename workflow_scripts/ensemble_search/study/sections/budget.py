"""`budget`, `limits` and `repeats`: how much to compute."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from ensemble_search.study.sections.base import SECONDS, Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Budget(Section):
    """How long a search continues: exactly one of these."""

    evaluations: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="evaluated configurations per search (250 without the key `budget`)",
    )
    fits: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="fits on all training rows per search: the sum of the evaluations' fidelities, "
        "failed ones included; the last one may exceed it",
    )
    seconds: float | None = Field(
        None,
        gt=0,
        le=SECONDS,
        description="seconds (wall-clock) of fitting and predicting per search, over all its "
        "evaluations; the last one may exceed it; not deterministic",
    )
    cpu_seconds: float | None = Field(
        None,
        gt=0,
        le=SECONDS,
        description="like `seconds`, in CPU seconds, which hardly depend on other load",
    )

    @model_validator(mode="after")
    def _one(self) -> "Budget":
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if not given:
            raise ValueError("needs 'evaluations', 'fits', 'seconds' or 'cpu_seconds'")
        if len(given) > 1:
            names = " and ".join(f"'{name}'" for name in given)
            raise ValueError(f"has {names}; keep one, and set the others to null")
        return self

    @property
    def unit(self) -> str:
        """The given key."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def whole(self) -> int | None:
        """Evaluations per search on all training rows; None if the budget is in seconds."""
        return self.evaluations or self.fits


#: Largest memory limit in MiB, about 1 PB: beyond any machine.
MEMORY_MB = 1_000_000_000


class Limits(Section):
    """Limits of one evaluation; beyond them the evaluation fails and the search continues."""

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


#: Maximum number of jobs in a study: Snakemake plans some hundreds per second.
JOBS = 100_000


def problems_of_repeats(study: "Study") -> Iterator[str]:
    """Check that Snakemake can plan the jobs."""
    jobs = len(study.datasets) * study.repeats * (len(study.searched) + len(study.methods))
    if jobs > JOBS:
        yield (
            f"repeats: {jobs:,} jobs (data sets x repeats x (searches + methods)) are too many for "
            f"one study; at most {JOBS:,}"
        )
    if surrogates := study.surrogates:
        datasets = len(surrogates.datasets or study.datasets)
        jobs = datasets * surrogates.repeats * len(surrogates.names)
        if jobs > JOBS:
            yield (
                f"surrogates.repeats: {jobs:,} jobs (data sets x repeats x names) are too many for "
                f"one study; at most {JOBS:,}"
            )
