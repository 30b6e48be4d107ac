"""Pages of the report, one file each; ``docs/report.md`` describes what a file must define.

Pages that compare results with those printed in a paper are in ``papers/<paper>/``: every module
except ``checks``. Nothing here imports them.
"""

from pathlib import Path

from ensemble_search.runtime import outside, plugins
from ensemble_search.runtime.errors import UserError

PACKAGE = Path(__file__).parents[2]


def modules() -> list[str]:
    """List the modules of all pages, found by file name and entry points, sorted."""
    files = [*PACKAGE.glob("report/pages/*.py"), *PACKAGE.glob("papers/*/*.py")]
    pages = (file for file in files if file.stem != "checks" and file.stem[0] != "_")
    own = (".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in pages)
    return sorted([*own, *_outside()])


def check_outside() -> None:
    """Import the pages from outside early, before hours are spent on their results.

    UserError if a page cannot be imported, or lacks a required name.
    """
    for module, file in _outside().items():
        page = plugins.imported(module, file)
        for name in ("TITLE", "ORDER", "build"):
            if not hasattr(page, name):
                raise UserError(f"{outside.shown(Path(page.__file__))}: must define {name}")


def _outside() -> dict[str, Path | None]:
    """Find the modules of the pages from outside, with the files of those in folders."""
    files = [file for file in outside.files("pages") if not file.stem.startswith("_")]
    packaged = dict.fromkeys(outside.packaged("pages").values())
    return {f"{__name__}.{file.stem}": file for file in files} | packaged
