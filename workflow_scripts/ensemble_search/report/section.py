"""What a page of the report is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ensemble_search.report.plots.figures import Drawing
from ensemble_search.report.tables import Table


@dataclass(frozen=True)
class Panels:
    """Small figures side by side, one a data set or method, which share a legend.

    Attributes
    ----------
    drawings
        Caption and figure of each.
    legend
        Samples of the lines by name (``figures.legend``); empty: none.
    wide
        Whether the figures need more room than a third of the page.
    """

    drawings: list[tuple[str, Drawing]]
    legend: dict[str, str] = field(default_factory=dict)
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it, in this order.

    Attributes
    ----------
    title
        The heading.
    parts
        Paragraphs (text, which the page escapes), tables, figures, panels of figures.
    """

    title: str
    parts: Sequence[str | Table | Drawing | Panels]
