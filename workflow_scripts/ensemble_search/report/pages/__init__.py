"""Pages of the report, one file each; ``docs/report.md`` says what a file must define.

Pages for the tables and figures of a paper lie in ``report/papers/<paper>/``.
"""

from pathlib import Path

REPORT = Path(__file__).parents[1]


def modules() -> list[str]:
    """List the modules of all pages, by the files that are there, sorted."""
    files = [*REPORT.glob("pages/*.py"), *REPORT.glob("papers/*/*.py")]
    names = [file.relative_to(REPORT).with_suffix("").parts for file in files]
    return sorted(
        ".".join(("ensemble_search.report", *parts)) for parts in names if parts[-1][0] != "_"
    )
