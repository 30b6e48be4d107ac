"""`autogluon`: AutoGluon, to compare with."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from ensemble_search.runtime.names import AUTOGLUON_METRICS
from ensemble_search.study.sections.base import SECONDS, Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class AutoGluon(Section):
    """AutoGluon itself, once a data set; needs `make autogluon` (or `--sdm conda`)."""

    seconds: float = Field(600, gt=0, le=SECONDS, description="its time limit per data set")


def problems(study: "Study") -> Iterator[str]:
    """Check that AutoGluon can be compared with."""
    if study.autogluon and study.metric not in AUTOGLUON_METRICS:
        yield (
            f"autogluon: it is compared by {', '.join(AUTOGLUON_METRICS)} only, not by "
            f"'{study.metric}'; remove the key"
        )
