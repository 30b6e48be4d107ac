"""The ledger of claims: made-up evidence, and the committed page."""

import io
import json
import re

import pandas as pd
import pytest

from ensemble_search.evidence import findings, ledger
from ensemble_search.evidence import rows as evidence
from ensemble_search.papers import claims
from support import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "evidence"


def rows(tests: dict[str, dict[str, float]]) -> list[dict[str, str]]:
    """A run of each data set, with the test losses of its methods."""
    blank = dict.fromkeys(evidence.COLUMNS, "1") | {"stale": "", "repeat": "0"}
    return [
        {**blank, "dataset": dataset, "method": method, "test": str(loss)}
        for dataset, losses in tests.items()
        for method, loss in losses.items()
    ]


@pytest.fixture
def study():
    return json.loads((FOLDER / "verdict/study.json").read_text(encoding="utf-8"))


def line(text: str, start: str) -> list[str]:
    (found,) = [row for row in text.splitlines() if row.startswith(f"| {start}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_a_claim_is_shown_with_its_interval(study):
    made = {
        "wind": {"DivBO": 0.20, "RS-ES": 0.21, "BO-ES": 0.19},
        "eeg": {"DivBO": 0.10, "RS-ES": 0.12, "BO-ES": 0.12},
        "pol": {"DivBO": 0.10, "RS-ES": 0.13, "BO-ES": 0.10},
    }
    text = ledger.page({"verdict": (study, rows(made))})
    found = line(text, "DivBO is significantly better than RS-ES")
    # Differences 1, 2 and 3 points: mean 2, half width 4.303 / sqrt(3) = 2.48.
    assert found[2:4] == ["[verdict](verdict/README.md), 0 of 112 repeats", "**undecided**"]
    assert found[4].startswith("RS-ES − DivBO: 2.00 [-0.48, 4.48]; detectable ")
    assert found[4].endswith("; 3 data sets")
    assert line(text, "DivBO is significantly better than RB-ES")[3:] == ["not attempted", ""]
    # The third one is about the suggestions of DivBO and RS-ES.
    total = len(claims.load("divbo"))
    assert line(text, "DivBO (Shen")[1:] == [str(total), "0", "0", "0", "3", str(total - 3)]


def test_it_begins_with_the_differences_between_searches(study):
    study = {**study, "datasets": ["wind", "eeg", "pol"], "repeats": 1}
    study["methods"] = {"RS-ES": {}, "BO-ES": {}, "DivBO": {}}
    made = {
        "wind": {"DivBO": 0.20, "RS-ES": 0.21, "BO-ES": 0.19},
        "eeg": {"DivBO": 0.10, "RS-ES": 0.12, "BO-ES": 0.12},
        "pol": {"DivBO": 0.10, "RS-ES": 0.13, "BO-ES": 0.10},
    }
    found = line(ledger.page({"verdict": (study, rows(made))}), "Which search")
    assert found[1:4] == ["RS-ES − DivBO", "2.00", "[-0.48, 4.48]"]
    assert found[5] == "[verdict](verdict/README.md); 3 data sets"
    assert "Which search" not in ledger.page({"verdict": (study, rows(made)[:3])})


def test_repeats_are_counted_while_some_are_missing(study):
    study = {**study, "datasets": ["wind"], "repeats": 1, "methods": {"RS-ES": {}, "DivBO": {}}}
    made = rows({"wind": {"DivBO": 0.20, "RS-ES": 0.21}})
    start = "DivBO is significantly better than RS-ES"
    assert line(ledger.page({"verdict": (study, made)}), start)[2] == "[verdict](verdict/README.md)"
    found = line(ledger.page({"verdict": (study, made[:1])}), start)[2]
    assert found == "[verdict](verdict/README.md), 0 of 1 repeats"
    study["evaluation"] = {"replay": "results/tables"}
    found = line(ledger.page({"verdict": (study, made)}), start)[2]
    assert found == "[verdict](verdict/README.md), replayed"


def test_without_evidence_nothing_is_attempted():
    text = ledger.page({})
    assert "**undecided** |" not in text
    assert line(text, "DivBO (Shen")[-1] == str(len(claims.load("divbo")))
    assert "[verdict]" not in text


def test_the_committed_page_and_figure_follow_from_the_evidence(tmp_path):
    ledger.write(ledger.read(FOLDER), tmp_path)
    for name, content in (("README.md", str), ("findings.csv", numbers), ("findings.svg", texts)):
        committed, made = ((f / name).read_text(encoding="utf-8") for f in (FOLDER, tmp_path))
        assert content(committed) == content(made), (
            "run: make evidence STUDY=studies/verdict.yaml MINUTES=0"
        )


def test_the_words_of_readme_say_what_the_intervals_do(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    words = findings.words(findings.table(ledger.read(FOLDER)))
    assert words in " ".join(text.split()), (
        "run: make evidence STUDY=studies/verdict.yaml MINUTES=0"
    )
    (tmp_path / "evidence").mkdir()
    old = "a\n<!--findings-->\nold\n<!--/findings-->\nb\n"
    (tmp_path / "README.md").write_text(old, encoding="utf-8")
    ledger.write(ledger.read(FOLDER), tmp_path / "evidence")
    made = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert words in " ".join(made.split()) and "old" not in made
    assert (made[:2], made[-2:]) == ("a\n", "b\n")


def test_only_intervals_on_one_side_of_0_are_differences():
    rows = [("verdict", "A", -2, 1), ("verdict", "B", -1, 2), ("rules", "C", 1, 2),
            ("rules", "D", 0.1, 3), ("rules", "E", -3, -1), ("rules", "F", -3, 0)]  # fmt: skip
    found = pd.DataFrame(rows, columns=["study", "method", "error_low", "error_high"])
    assert findings.words(found.assign(reference="R")) == (
        "*Which search makes the best ensemble?* Compared with R: no significant difference. "
        "*Which ensemble of the same models is best?* Compared with R: "
        "E is better; C and D are worse."
    )


def numbers(text):
    table = pd.read_csv(io.StringIO(text))
    return table.round(4).to_dict()


def texts(svg):
    return re.findall("<text[^>]*>([^<]*)", svg)
