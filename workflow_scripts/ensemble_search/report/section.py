"""Building blocks of a report page."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ensemble_search.report.plots.figures import Drawing
from ensemble_search.report.tables import Table


@dataclass(frozen=True)
class Panels:
    """Small figures side by side, one per data set or method, with a shared legend."""

    drawings: list[tuple[str, Drawing]]  #: caption and figure of each
    #: Samples of the lines by name (``figures.legend``); empty: none.
    legend: dict[str, str] = field(default_factory=dict)
    wide: bool = False  #: whether the figures need more than a third of the page's width


@dataclass(frozen=True)
class Section:
    """A heading and the parts below it, in order."""

    title: str  #: the heading
    #: Paragraphs (text, which the page escapes), tables, figures, panels of figures.
    parts: Sequence[str | Table | Drawing | Panels]
