"""Words of docs, messages and docstrings: those of scikit-learn's and Optuna's documentation."""

import re
from pathlib import Path

import pytest

from support import ROOT

#: What is not written, and what is instead.
INSTEAD = {
    r"\bwhole numbers?\b": "integer",
    r"\brefus(e|es|ed|als?)\b": "reject, raise",
    r"\bwhat came of\b": "result",
    r"\b(is|are) no error\b": "is not an error",
    r"\bby the clock\b": "wall-clock",
    r"\bstands? twice\b": "is duplicated",
    r"\b(tell|tells|told) (them )?apart\b": "distinguish",
    r"\btaken for (a |missing)": "read as, treat as missing",
    r"\bin place of\b": "instead of",
    r"\bsearch goes on\b": "continues",
    r"\b(one|two) (row|line|column)s? an? (?!time\b)": "per",
    r"\b(evaluations|configurations|fits) a search\b": "per search",
    r'"""Say\b': "return, print, describe, explain",
}
FOLDERS = ("benchmarks", "docs", "envs", "examples", "rules", "studies", "tests")
TEXT = {".py", ".md", ".smk", ".yaml", ".html"}
#: Most words of the documentation that is written by hand: with more, nobody reads it.
MOST_WORDS = 20_000


def texts():
    """Yield the files of the project that people read, without what the papers print."""
    yield from (ROOT / name for name in ("README.md", "Snakefile", "Makefile", "config.yaml"))
    for folder in (*FOLDERS, "workflow_scripts"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in TEXT and path != Path(__file__):
                yield path


@pytest.mark.parametrize("pattern", INSTEAD)
def test_words_that_have_a_better_one(pattern):
    found = []
    for path in texts():
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(pattern, text, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            name = path.relative_to(ROOT)
            found.append(f"{name}:{line}: '{match[0]}'; write: {INSTEAD[pattern]}")
    assert not found, "\n".join(found)


def test_the_documentation_is_short():
    """All of it but the reference, which is written from docstrings."""
    pages = {ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - {ROOT / "docs/reference.md"}
    counts = {page: len(page.read_text(encoding="utf-8").split()) for page in pages}
    longest = sorted(counts, key=counts.get, reverse=True)[:5]
    told = ", ".join(f"{page.name}: {counts[page]}" for page in longest)
    assert sum(counts.values()) <= MOST_WORDS, f"longest pages: {told}"
