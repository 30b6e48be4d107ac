"""CITATION.cff cites the papers whose methods are here."""

import re

import yaml

from ensemble_search.evidence import ledger
from ensemble_search.papers.printed import PAPERS
from support import ROOT

FIRST = {"divbo": "Shen", "esmbo": "Lacoste", "boasf": "Zhu", "dodge": "Dodge"}
BOASF = "Guanghui Zhu, Xin Fang, Lei Wang, Wenzhong Chen, Rong Gu, Chunfeng Yuan, Yihua Huang"


def test_all_papers_are_cited():
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    cited = {
        paper["authors"][0]["family-names"]: ", ".join(
            f"{a['given-names']} {a['family-names']}" for a in paper["authors"]
        )
        for paper in content["references"]
    }
    assert set(cited) == {FIRST[paper] for paper in PAPERS}
    assert cited["Zhu"] == BOASF
    assert content["preferred-citation"] in content["references"]


def test_pages_and_the_ledger_cite_the_same_years():
    """Of each paper, the short forms in pages and ledger: names and years."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "workflow_scripts/ensemble_search").rglob("*.py")
    )
    for paper, first in FIRST.items():
        found = re.findall(rf'^PAPER = ".* of {first} et al. \((\d+)\)"$', code, re.M)
        assert len(found) > 0
        assert set(found) == set(re.findall(r"\d{4}", ledger.NAMES[paper]))
