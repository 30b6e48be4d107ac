"""The ledger of claims: made-up evidence, and the committed page."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtr

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
    # Claims whose rule changed follow again.
    found, *_ = (row for row in text.splitlines() if row.startswith(f"| {start}"))
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
    assert found[4].startswith("test error, RS-ES − DivBO: 2.00 [-0.48, 4.48]; detectable ")
    assert found[4].endswith("; 3 data sets")
    assert line(text, "DivBO is significantly better than RB-ES")[3:] == ["not attempted", ""]
    # The third one is about the suggestions of DivBO and RS-ES.
    total = len(claims.load("divbo"))
    assert line(text, "DivBO (Shen")[1:] == [str(total), "0", "0", "0", "3", str(total - 3)]


def test_of_intervals_with_the_same_possible_limit_the_lower_mean_is_shown():
    """Of three ranks, RF-TPE's minus BOASF's are 1.5 and -1, and minus BO's 1.5 and -2."""
    study = json.loads((FOLDER / "boasf-models/study.json").read_text(encoding="utf-8"))
    made = {
        "wine": {"BO": 0.2, "BOASF": 0.2, "RF-TPE": 0.3},
        "adult": {"BO": 0.3, "BOASF": 0.2, "RF-TPE": 0.1},
    }
    text = ledger.page({"boasf-models": (study, rows(made))})
    found = line(text, "BOASF and Auto-sklearn (here, BO) are better")
    # Ranks 1.5, 1.5, 3 and 3, 2, 1: differences 1.5 and -1, 1.5 and -2. Both intervals, of
    # 0.25 ± 15.9 and -0.25 ± 22.2, are clipped to 2.
    assert "RF-TPE − BO: -0.25 [-2.00, 2.00]; detectable –" in found[4]
    # On wine, two of four are lowest, and on adult one.
    others = {name: {**losses, "SelectBest": 0.5} for name, losses in made.items()}
    of_best = line(ledger.page({"boasf-models": (study, rows(others))}), "BOASF is the best")
    assert "lowest test balanced error of BOASF, BO, SelectBest, RF-TPE on 50% " in of_best[4]
    assert "of 2 data sets, by chance on 38%" in of_best[4]


def test_a_claim_about_most_data_sets():
    study = json.loads((FOLDER / "boasf-grid/study.json").read_text(encoding="utf-8"))
    methods = dict.fromkeys(study["methods"], 0.2) | {"Hyperopt": 0.3, "c3-r3": 0.4}
    made = {"wine": methods, "adult": methods | {"c3-r3": 0.2}}
    found = line(ledger.page({"boasf-grid": (study, rows(made))}), "the same on test rows")
    assert found[3] == "**undecided**"
    says = "c3-r3: test balanced error not above that of Hyperopt on 50% [1%, 99%] of 2 data sets"
    assert found[4] == (
        f"{says}, by chance on 50%; not even 100% of 2 would agree: its interval begins at 16%"
    )


def test_parts_of_what_decides_a_claim_are_shown():
    """Test rows beside validation rows, both tasks of a pool, and verdicts that differ."""

    def committed(name):
        return json.loads((FOLDER / name / "study.json").read_text(encoding="utf-8"))

    def losses(low, high, n=5):
        own = {"ESMBO": low, "SMBO": high, "RS": high, "ERS": high}
        return {"machine_cpu": own, **{f"d{i}": own for i in range(n)}}

    better, worse = rows(losses(0.1, 0.2)), rows(losses(0.3, 0.2))
    evidence = {"esmbo-torgo": better, "esmbo-svr": worse, "esmbo-mlp": worse}
    text = ledger.page({name: (committed(name), made) for name, made in evidence.items()})
    found = line(text, "the surrogate pays off in difficult spaces")
    differs = "agrees in esmbo-torgo; differs in esmbo-svr, esmbo-mlp"
    assert found[4].endswith(f"; 6 data sets; {differs}")
    # Ranks differ by 2 in one study and by -2 in the other. Each has a machine_cpu of its own; the
    # other five, without a source in study.json, count as the same.
    found = line(text, "with support vector regression, ESMBO is first")
    assert ": 0.00 [" in found[4]
    alone = "esmbo-torgo alone: 2.00 [2.00, 2.00], 6 data sets; "
    alone += "esmbo-svr alone: -2.00 [-2.00, -2.00], 6 data sets"
    assert found[4].endswith(f"; 7 data sets; {alone}")
    # Ranks differ by 1 on 6 regressions and by -1 on 6 classifications.
    del evidence["esmbo-svr"]
    text = ledger.page({name: (committed(name), made) for name, made in evidence.items()})
    found = line(text, "over 22 regressions and 39 classifications")
    assert ": 0.00 [" in found[4]
    alone = "regression alone: 1.00 [1.00, 1.00], 6 data sets; "
    alone += "classification alone: -1.00 [-1.00, -1.00], 6 data sets"
    assert found[4].endswith(f"; 7 data sets; {alone}")
    made = [
        {**row, "validation": row["test"], "test": "0.2"}
        for row in rows({f"d{i}": {"BOASF": 0.1, "BOHB": 0.2, "Hyperopt": 0.3} for i in range(6)})
    ]
    name = "boasf-random-forest"
    found = line(
        ledger.page({name: (committed(name), made)}), "BOASF tunes a random forest better than BOHB"
    )
    assert found[4].endswith("; 6 data sets; on test rows: 0.00 [0.00, 0.00], 6 data sets")


def test_intervals_of_shares_are_possible():
    """Shares of 0.9 and 0.1 are 0.38 less than 0.88 in the mean, ± 5.1, but at most 0.88 less."""
    study = json.loads((FOLDER / "verdict-paper/study.json").read_text(encoding="utf-8"))
    made = [
        {**row, "repeat": str(repeat), "suggested_beats": str(share)}
        for repeat, share in enumerate((0.9, 0.1))
        for row in rows({"quake": {"DivBO": 0.2}})
    ]
    found = line(ledger.page({"verdict-paper": (study, made)}), "on quake, the mean error of DivBO")
    assert "printed − DivBO: 0.38 [-0.12, 0.88]; detectable –; margin 0.10; 2 rep" in found[4]


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
    assert found[5] == "wind: 2.50 [-3.85, 8.85]"
    assert found[6] == "[verdict](verdict/README.md); 3 data sets"
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


def test_only_adjusted_significant_differences_are_named():
    rows = [
        ("verdict", "A", -2, 0.2, 3),
        ("verdict", "B", 1, 1, 4),
        ("rules", "C", 1, 0.01, 1),
        ("rules", "D", 2, 0.05, 2),
        ("rules", "E", -3, 0, 3),
        ("rules", "F", -3, 0.06, 4),
    ]
    found = pd.DataFrame(rows, columns=["study", "method", "error", "p_holm", "detectable"])
    assert findings.words(found.assign(reference="R", done=2, repeats=9, digits=2)) == (
        "*Which search makes the best ensemble?* Compared with `R`: no significant difference "
        "(detectable with 80 % power: 3.00 to 4.00 points; 2 of 9 repeats). "
        "*Which ensemble of the same models is best?* Compared with `R`: `E` is better; "
        "`C` and `D` are worse (detectable with 80 % power: 1.00 to 4.00 points; 2 of 9 repeats)."
    )


def test_findings_by_hand():
    errors = pd.DataFrame({"A": [0.5, 0.2, 0.2, 0.2], "B": [0.1, 0.1, 0.2, 0.3],
                           "R": [0.1, 0.1, 0.1, 0.1]}, list("wxyz"))  # fmt: skip
    found = findings._compared(100 * errors, "R", 100)
    assert found["without"].tolist() == ["w", "z"]
    assert found["rest"].tolist() == pytest.approx([10, 10 / 3])
    assert found.loc["A", ["rest_low", "rest_high"]].tolist() == pytest.approx([10, 10])
    # t = 2.333 and 1.567 with three degrees of freedom; Holm doubles the smaller p-value.
    t = np.array([17.5 / 7.5, 15 / np.std([0, 0, 10, 20], ddof=1)])
    assert found["p_holm"].tolist() == pytest.approx([4 * stdtr(3, -t[0]), 2 * stdtr(3, -t[1])])


def numbers(text):
    table = pd.read_csv(io.StringIO(text))
    return table.round(4).to_dict()


def texts(svg):
    return re.findall("<text[^>]*>([^<]*)", svg)
