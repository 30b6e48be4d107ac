"""`spread`: how evenly designs cover a range."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from ensemble_search.dpp.coverage import CELLS
from ensemble_search.study.sections.base import Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Spread(Section):
    """How evenly designs of k points cover the range from 0 to 1 (Dodge et al., 2017, Figure 1)."""

    sizes: list[Annotated[int, Field(ge=1, le=CELLS)]] = Field(
        sorted({round(500 ** (i / 34)) for i in range(35)}),
        min_length=1,
        description="numbers of points (default: 30 from 1 to 500)",
    )
    samples: int = Field(200, ge=1, le=10_000, description="designs per sampler and size")


def problems(study: "Study") -> Iterator[str]:
    """Check that no size is written twice."""
    sizes = study.spread.sizes if study.spread else []
    twice = next((size for i, size in enumerate(sizes) if size in sizes[:i]), None)
    if twice is not None:
        yield f"spread.sizes: '{twice}' is written twice; keep one"
