"""`repeats`, and so the number of jobs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

#: Maximum number of jobs in a study: Snakemake plans some hundreds per second.
JOBS = 100_000


def problems(study: "Study") -> Iterator[str]:
    """Check that Snakemake can plan the jobs."""
    jobs = len(study.datasets) * study.repeats * (len(study.used("search")) + len(study.methods))
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
