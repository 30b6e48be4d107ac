"""A table once, written thrice: numbers as CSV, text as LaTeX (booktabs), text in the page."""

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from ensemble_search.runtime import files


@dataclass(frozen=True)
class Cell:
    """Text of a cell, and whether it stands out as the best of its row."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table as it is shown, with the numbers behind it.

    Attributes
    ----------
    name
        Stem of the files.
    caption
        What it shows.
    columns
        Headings; the first one is that of the rows' names.
    rows
        Cells as text; the first one names the row.
    data
        Numbers for the CSV, not rounded.
    notes
        Lines below the table.
    foot
        How many of the last rows are a summary of those above.
    wide
        Whether text in the cells may wrap.
    """

    name: str
    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    data: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    foot: int = 0
    wide: bool = False

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


def write(table: Table, folder: Path) -> None:
    """Write ``<name>.csv`` and ``<name>.tex`` into ``folder``."""
    text = table.data.to_csv(index=False, lineterminator="\n")
    for suffix, content in ((".csv", text), (".tex", latex(table))):
        with files.atomic(folder / f"{table.name}{suffix}") as temporary:
            temporary.write_text(content, encoding="utf-8")


#: Characters that LaTeX would take for commands, and those that its basic fonts lack.
LATEX = {
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
}


def escape(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(LATEX.get(c, c) for c in text)


def latex(table: Table) -> str:
    """Write a table for LaTeX; it needs the package booktabs (and T1 fonts for quotes)."""

    def line(row: list[Cell]) -> str:
        texts = (escape(c.text) for c in row)
        return (
            " & ".join(rf"\textbf{{{t}}}" if c.best else t for t, c in zip(texts, row, strict=True))
            + r" \\"
        )

    columns = "l" * len(table.columns) if table.wide else "l" + "r" * (len(table.columns) - 1)
    return "\n".join(
        [
            r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line(cells(*table.columns)),
            r"\midrule",
            *map(line, table.body),
            *([r"\midrule"] if table.foot and table.body else []),
            *map(line, table.summary),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
