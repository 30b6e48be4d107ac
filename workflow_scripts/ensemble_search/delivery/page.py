"""The page of a delivered ensemble, written as HTML and as Markdown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ensemble_search.delivery import figures
from ensemble_search.delivery.figures import Chart
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import printable

HERE = Path(__file__).parent
#: The page's first lines, which `make ensemble` prints, and the folder of the figures' data.
SUMMARY, FIGURES = "card.json", "figures"


@dataclass(frozen=True)
class Table:
    """A table."""

    #: Its cells, as text.
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Width of the bar at the end of each row, as a share; empty: no bars.
    bars: Sequence[float] = ()
    #: Darkness, from 0 to 1, of each cell of a row except the first; empty: no shades.
    shades: Sequence[Sequence[float]] = ()
    wide: bool = False  #: whether the last column has long text
    csv: str = ""  #: text of a data file, beside those of the figures; empty: none
    name: str = ""  #: stem of that file


@dataclass(frozen=True)
class Part:
    """A part of the page: paragraphs, then tables, then figures, then commands."""

    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    code: str = ""


@dataclass
class Card:
    """The page."""

    title: str  #: what is predicted
    headline: str = ""  #: how good the predictions are, in a sentence or two
    cautions: list[str] = field(default_factory=list)  #: reasons not to trust them, a sentence each
    parts: list[Part] = field(default_factory=list)  #: parts of the page, in order


def write(card: Card, folder: Path) -> None:
    """Write the page (``card.html`` and ``card.md``), its summary, and the figures' data.

    Text from data is escaped in both, control characters included.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: _lines(value) if type(value) is str else value,
    )  # fmt: skip
    style = Markup((HERE.parent / "report/style.css").read_text(encoding="utf-8"))
    page = environment.get_template("card.html")
    size = {"width": figures.WIDTH, "height": figures.HEIGHT}
    html = _unbroken(page.render(card=card, style=style, **size))
    texts = {"card.html": html, "card.md": markdown(card)}
    (folder / FIGURES).mkdir()
    for part in card.parts:
        texts |= {f"{FIGURES}/{chart.name}.csv": chart.csv() for chart in part.charts}
        texts |= {f"{FIGURES}/{table.name}.csv": table.csv for table in part.tables if table.csv}
    for name, text in texts.items():
        with files.atomic(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    files.write_json(folder / SUMMARY, {"headline": card.headline, "cautions": card.cautions})


def _lines(text: str) -> str:
    """Escape characters that are not printable, but for line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def _unbroken(html: str) -> str:
    """Keep ``95 %`` on one line, except in commands, which readers copy."""
    parts = re.split("(<pre.*?</pre>)", html, flags=re.DOTALL)
    parts[::2] = (re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", part) for part in parts[::2])
    return "".join(parts)


def markdown(card: Card) -> str:
    """Render the page as Markdown, without its figures."""
    lines = [f"# {_escaped(card.title)}", "", f"**{_escaped(card.headline)}**", ""]
    for caution in card.cautions:
        lines += [f"Caution: {_escaped(caution)}", ""]
    for part in card.parts:
        lines += [f"## {part.title}", ""]
        for paragraph in part.paragraphs:
            lines += [_escaped(paragraph), ""]
        for table in part.tables:
            head = table.head[: len(table.rows[0])]
            lines += [_row(head), _row(["---"] * len(head)), *map(_row, table.rows), ""]
            lines += [f"[All rows of this table as CSV]({FIGURES}/{table.name}.csv)\n"] * bool(
                table.csv
            )
        lines += [f"[{_escaped(c.title)}]({FIGURES}/{c.name}.csv)\n" for c in part.charts]
        if part.code:
            lines += ["```sh", _lines(part.code), "```", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell if cell == '---' else _escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Escape text that Markdown, or HTML in it, would interpret."""
    text = printable(" ".join(text.split()))
    return re.sub(r"([\\`_\[\]<>|#&])", r"\\\1", text)
