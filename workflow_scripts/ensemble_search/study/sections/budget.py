"""`budget`: how long a search continues."""

from pydantic import Field, model_validator

from ensemble_search.study.sections.base import SECONDS, Section


class Budget(Section):
    """How long a search continues: exactly one of `evaluations`, `fits` and `seconds`."""

    evaluations: int | None = Field(
        None, ge=1, le=1_000_000, description="evaluated configurations per search"
    )
    fits: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="fits on all training rows per search: the sum of the evaluations' fidelities, "
        "failed ones included; the last one may go beyond",
    )
    seconds: float | None = Field(
        None,
        gt=0,
        le=SECONDS,
        description="seconds (wall-clock) of fitting and predicting per search, over all its "
        "evaluations; the last one may go beyond; not deterministic",
    )

    @model_validator(mode="after")
    def _one(self) -> "Budget":
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if not given:
            raise ValueError("needs 'evaluations', 'fits' or 'seconds'")
        if len(given) > 1:
            names = " and ".join(f"'{name}'" for name in given)
            raise ValueError(f"has {names}; keep one, and set the others to null")
        return self

    @property
    def unit(self) -> str:
        """The key that is given."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def whole(self) -> int | None:
        """Evaluations of a search on all training rows; None if it is in seconds."""
        return self.evaluations or self.fits
