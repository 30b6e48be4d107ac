"""Pages of the report, one file each; ``docs/report.md`` says what a file must define."""

from pathlib import Path

PACKAGE = "divbo.report.pages"


def modules() -> list[str]:
    """List the modules of all pages, by the files that are there, sorted."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(f"{PACKAGE}.{file.stem}" for file in files if file.stem != "__init__")
