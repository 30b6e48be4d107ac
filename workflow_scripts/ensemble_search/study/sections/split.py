"""`split`: training, validation and test rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ensemble_search.study.sections.base import SEED, Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Split(Section):
    """Stratified split into training, validation and test rows."""

    train: float = Field(0.6, gt=0, lt=1)
    validation: float = Field(0.2, gt=0, lt=1)
    test: float = Field(0.2, gt=0, lt=1)
    resample: Literal["never", "per-repeat"] = Field(
        "never", description="one split a data set, as in the paper, or another for every repeat"
    )
    seed: int = Field(1, ge=0, le=SEED)


def problems(study: "Study") -> Iterator[str]:
    """Check that the shares add up."""
    total = study.split.train + study.split.validation + study.split.test
    if abs(total - 1) > 1e-9:
        yield f"split: train + validation + test is {total:.10g}; it must be 1"
