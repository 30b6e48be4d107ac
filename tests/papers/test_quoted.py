"""Published numbers that the documentation quotes are those of the data."""

from ensemble_search.papers import printed
from support import ROOT


def test_quoted_numbers_are_those_of_the_data():
    text = " ".join((ROOT / "docs/report.md").read_text(encoding="utf-8").split())
    lead = printed.values("divbo", "leads-from")["DivBO"]
    best = printed.values("divbo", "best-datasets")["DivBO"]
    second = printed.values("divbo", "second-validation-rank")["second"]
    for part in (f"({best} of 15)", f"(about {lead})", f"validation rank ({second})"):
        assert part in text
