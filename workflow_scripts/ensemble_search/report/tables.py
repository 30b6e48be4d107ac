"""Tables, written as CSV (numbers), as LaTeX with booktabs, in Markdown, and on the page (text)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.analysis.losses import Losses
from ensemble_search.analysis.ranks import DIGITS
from ensemble_search.runtime import files


@dataclass(frozen=True)
class Cell:
    """Text of a cell, and whether it is highlighted as the best of its row."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table as shown, with the numbers behind it."""

    name: str  #: stem of the files
    caption: str  #: its caption
    columns: list[str]  #: headings; the first one is for the rows' names
    rows: list[list[Cell]]  #: cells as text; the first one names the row
    data: pd.DataFrame  #: numbers for the CSV, not rounded
    notes: list[str] = field(default_factory=list)  #: lines below the table
    foot: int = 0  #: how many of the last rows summarise those above
    wide: bool = False  #: whether text in the cells may wrap

    @property
    def body(self) -> list[list[Cell]]:
        """Rows above the summary."""
        return self.rows[: len(self.rows) - self.foot]

    @property
    def summary(self) -> list[list[Cell]]:
        """Rows of the summary."""
        return self.rows[len(self.rows) - self.foot :]


def cells(*texts: str) -> list[Cell]:
    """Make a row of plain cells."""
    return [Cell(str(text)) for text in texts]


def number(value: float, digits: int = 2) -> str:
    """Write a number, or a dash if there is none."""
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def spread(mean: float, std: float, digits: int = 2) -> str:
    """Write mean ± deviation, or only the mean if there is one repeat."""
    return number(mean, digits) + (f" ± {std:.{digits}f}" if np.isfinite(std) else "")


def by_method(
    lines: pd.DataFrame, show: Callable[[dict[str, Any]], Cell]
) -> tuple[list[str], list[list[Cell]]]:
    """Return columns and rows of a table of data sets × methods; – where empty.

    ``lines`` has one row per cell: ``dataset``, ``method``, and the values that ``show`` converts.
    """
    found = {(line["dataset"], line["method"]): line for line in lines.to_dict("records")}
    datasets, methods = (list(dict.fromkeys(lines[key])) for key in ("dataset", "method"))
    rows = [
        [Cell(d), *(show(found[d, m]) if (d, m) in found else Cell("–") for m in methods)]
        for d in datasets
    ]
    return ["data set", *methods], rows


def of_losses(spreads: pd.DataFrame, losses: Losses) -> tuple[list[str], list[list[Cell]]]:
    """Return columns and rows of a table of ``ranks.spreads``; the lowest mean of each is marked.

    Ties are marked, too; nothing is if there is only one method.
    """
    rounded = spreads["mean"].round(DIGITS)
    lowest = rounded == rounded.groupby(spreads["dataset"]).transform("min")
    marked = spreads.assign(best=lowest & (spreads["method"].nunique() > 1))
    return by_method(
        marked, lambda line: Cell(losses.spread(line["mean"], line["std"]), line["best"])
    )


def write(table: Table, folder: Path) -> None:
    """Write ``<name>.csv`` and ``<name>.tex`` into ``folder``."""
    text = table.data.to_csv(index=False, lineterminator="\n")
    for suffix, content in ((".csv", text), (".tex", latex(table))):
        with files.atomic(folder / f"{table.name}{suffix}") as temporary:
            temporary.write_text(content, encoding="utf-8")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write the lines of a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


#: Characters that LaTeX would treat as commands, and those that its basic fonts lack.
LATEX: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": r"{[}",
    "]": r"{]}",
    "\n": " ",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\le$",
    "−": "$-$",
    "–": "--",
    "→": r"$\to$",
    "∘": r"$\circ$",
    "•": r"$\bullet$",
    "●": r"{\Large$\bullet$}",
}


def escape(text: str) -> str:
    """Escape text for LaTeX."""
    return text.translate(str.maketrans(LATEX))


def latex(table: Table) -> str:
    """Write a table for LaTeX; it needs the package booktabs (and T1 fonts for quotes)."""
    places = range(len(table.columns))  # headings may be duplicated
    texts, looks = (
        pd.DataFrame([[show(c) for c in row] for row in table.rows], columns=places, dtype=str)
        for show in (lambda c: escape(c.text), lambda c: "textbf: --rwrap" if c.best else "")
    )
    style = texts.style.hide(axis="index").apply(lambda _: looks, axis=None)
    style.format_index(lambda place: escape(table.columns[place]), axis="columns")
    lines = style.to_latex(
        hrules=True,
        position_float="centering",
        column_format="l" + ("l" if table.wide else "r") * (len(places) - 1),
        caption=escape(table.caption),
        label=f"tab:{table.name}",
    ).splitlines()
    if table.foot and table.body:
        lines.insert(-3 - table.foot, r"\midrule")
    return "\n".join([r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}", *lines, ""])
