"""Building blocks of a report page."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ensemble_search.report.plots.figures import Drawing
from ensemble_search.report.tables import Table


@dataclass(frozen=True)
class Panels:
    """Small figures side by side, one per data set or method, with a shared legend.

    Attributes
    ----------
    drawings
        Caption and figure of each.
    legend
        Samples of the lines by name (``figures.legend``); empty: none.
    wide
        Whether the figures need more than a third of the page's width.
    """

    drawings: list[tuple[str, Drawing]]
    legend: dict[str, str] = field(default_factory=dict)
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """A heading and the parts below it, in order.

    Attributes
    ----------
    title
        The heading.
    parts
        Paragraphs (text, which the page escapes), tables, figures, panels of figures.
    """

    title: str
    parts: Sequence[str | Table | Drawing | Panels]
