"""`budget`: how long a search goes on."""

from pydantic import Field, model_validator

from ensemble_search.study.sections.base import SECONDS, Section


class Budget(Section):
    """How long a search goes on: exactly one of `evaluations` and `seconds`."""

    evaluations: int | None = Field(
        None, ge=1, le=1_000_000, description="evaluated configurations a search"
    )
    seconds: float | None = Field(
        None,
        gt=0,
        le=SECONDS,
        description="seconds (by the clock) of fitting and predicting a search, over all its "
        "evaluations; the last one may go beyond; not deterministic",
    )

    @model_validator(mode="after")
    def _one(self) -> "Budget":
        if (self.evaluations is None) == (self.seconds is None):
            raise ValueError(
                "needs 'evaluations' or 'seconds'"
                if self.seconds is None
                else "takes 'evaluations' or 'seconds', not both; set the other to null"
            )
        return self
