"""Results are in evidence/, which commands write; no page that is written by hand has any."""

import re

import pytest

from support import ROOT

pytestmark = pytest.mark.slow

#: performance.md says why figures of evidence/performance/ miss their goals, since which commit.
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if page.name != "performance.md"
]
NUMBER = r"[-+−]?\d*\.\d+"
#: What results look like: intervals and deviations, p-values, and the commit they were computed at.
RESULT = re.compile(
    rf"± ?\.?\d|[\[(]{NUMBER} ?%?(?:,| to) {NUMBER} ?%?[\])]"
    r"|\bp (?:=|<|between) 0?\.\d|commit `[0-9a-f]{7}"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_has_results_by_hand(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = " ".join(text.split())
    found = [text[max(0, m.start() - 40) : m.end() + 20] for m in RESULT.finditer(text)]
    assert not found, f"{page.name}: link to evidence/ instead of: {found}"


@pytest.mark.parametrize(
    "text",
    [
        "| 2.28 ± .06 |",
        "0.07 points [−0.08, 0.22]",
        "(0.131 to 0.146)",
        "p = 0.012",
        "commit `6ed0758`",
    ],
)
def test_results_are_recognised(text):
    assert RESULT.search(text)
