"""Pages of the report, one file each; ``docs/report.md`` says what a file must define.

Pages for the tables and figures of a paper lie in ``report/papers/<paper>/``.
"""

from pathlib import Path

from ensemble_search.runtime import outside, plugins
from ensemble_search.runtime.errors import UserError

REPORT = Path(__file__).parents[1]


def modules() -> list[str]:
    """List the modules of all pages, by the files that are there and entry points, sorted."""
    files = [*REPORT.glob("pages/*.py"), *REPORT.glob("papers/*/*.py")]
    names = [file.relative_to(REPORT).with_suffix("").parts for file in files]
    own = (".".join(("ensemble_search.report", *parts)) for parts in names if parts[-1][0] != "_")
    return sorted([*own, *_outside()])


def check_outside() -> None:
    """Import the pages from outside, before hours are spent on what they show.

    Raises
    ------
    UserError
        If one cannot be imported, or lacks what a page must define.
    """
    for module, file in _outside().items():
        page = plugins.imported(module, file)
        for name in ("TITLE", "ORDER", "build"):
            if not hasattr(page, name):
                raise UserError(f"{outside.shown(Path(page.__file__))}: must define {name}")


def _outside() -> dict[str, Path | None]:
    """Find the modules of the pages from outside, and the files of those in folders."""
    files = [file for file in outside.files("pages") if not file.stem.startswith("_")]
    packaged = dict.fromkeys(outside.packaged("pages").values())
    return {f"{__name__}.{file.stem}": file for file in files} | packaged
