"""Make the pages of the report from the modules in ``pages/``."""

import importlib
import re
import traceback
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ensemble_search.analysis.load import Results
from ensemble_search.report import pages, tables
from ensemble_search.report.plots import figures
from ensemble_search.report.section import Section
from ensemble_search.report.tables import Table
from ensemble_search.runtime.errors import UserError, of_machine
from ensemble_search.runtime.files import Unusable


@dataclass(frozen=True)
class Made:
    """A page that was made, or the reason why it could not be."""

    name: str  #: stem of its file
    title: str  #: ``TITLE`` of its module, filled by ``Losses.fill``
    order: float = float("inf")  #: ``ORDER`` of its module
    #: ``PAPER`` of its module: the table or figure of a paper to compare with; empty if none.
    paper: str = ""
    sections: list[Section] = field(default_factory=list)  #: its content
    reason: str = ""  #: why there is nothing to show; empty if there is something
    error: str = ""  #: the exception raised by its module, in one line; empty if none

    @property
    def linked(self) -> bool:
        """Whether the page has a file."""
        return not self.reason


def make_all(results: Results, output: Path, threads: int = 1) -> list[Made]:
    """Make every page as :func:`make` does, in the order of ``ORDER``.

    ``threads`` of them are made at a time, each in a process; the files do not depend on it.
    """
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=threads, batch_size=1)
    found = run(delayed(_make)(module, results, output) for module in pages.modules())
    return sorted(found, key=lambda page: (page.order, page.name))


def _make(module: str, results: Results, output: Path) -> Made:
    """Make a page; a damaged file raises an error that can be pickled."""
    try:
        return make(module, results, output)
    except Unusable as error:
        raise UserError(*error.problems) from error


def make(module: str, results: Results, output: Path) -> Made:
    """Make one page; if its module raises, the page says so, and the traceback is printed.

    The last part of the module's name, with hyphens, names the page and prefixes its tables and
    figures below ``output``, the folder of the report. Only UserError, OSError and MemoryError are
    raised: if the cause is a damaged result or the system, such as a full disk, and not the page.
    """
    name = module.rsplit(".", 1)[-1].replace("_", "-")
    made, png = Made(name, name), (results.study.get("report") or {}).get("png", False)
    publish = partial(figures.publish, folder=output / "figures", prefix=f"{name}-", png=png)
    try:
        page = importlib.import_module(module)
        made = Made(name, results.losses.fill(page.TITLE), page.ORDER, getattr(page, "PAPER", ""))
        content = page.build(results, publish)
        if isinstance(content, str):
            return replace(made, reason=content)
        return replace(made, sections=[_written(s, name, output / "tables") for s in content])
    except UserError:  # caused by a result, not by the page's code
        raise
    except Exception as error:  # one page must not stop the report
        if of_machine(error):
            raise
        traceback.print_exc()
        text = " ".join(str(error).split())[:300]
        return replace(made, error=type(error).__name__ + (f": {text}" if text else ""))


def _written(section: Section, page: str, folder: Path) -> Section:
    """Write the tables of a section to files prefixed with the page's name."""
    parts = [
        replace(p, name=f"{page}-{p.name}".strip("-")) if isinstance(p, Table) else p
        for p in section.parts
    ]
    for part in parts:
        if isinstance(part, Table):
            tables.write(part, folder)
    return replace(section, parts=parts)


def stems(names: list[str]) -> list[str]:
    """Turn names into distinct file names, replacing unusual characters."""
    found: list[str] = []
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
        found.append(stem if stem not in found else f"{stem}-{len(found)}")
    return found
