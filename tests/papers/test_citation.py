"""CITATION.cff cites the papers whose methods are here."""

import yaml

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
