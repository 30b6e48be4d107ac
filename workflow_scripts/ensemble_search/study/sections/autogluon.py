"""`autogluon`: AutoGluon, to compare with."""

from pydantic import Field

from ensemble_search.study.sections.base import SECONDS, Section


class AutoGluon(Section):
    """AutoGluon itself, once a data set; needs `make autogluon` (or `--sdm conda`)."""

    seconds: float = Field(600, gt=0, le=SECONDS, description="its time limit a data set")
