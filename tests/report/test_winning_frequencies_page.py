"""The page on Tables 2 and 3 of the ESMBO paper, from synthetic results."""

from itertools import product

import pandas as pd
import pytest

from ensemble_search.analysis.load import load
from ensemble_search.papers.esmbo import checks, winning_frequencies
from ensemble_search.report import build as pages
from support import made_results as made

pytestmark = pytest.mark.slow

PAGE = winning_frequencies.__name__
METHODS = ("RS", "SMBO", "ERS", "ESMBO")
DATASETS = [f"d{i}" for i in range(20)]


def losses(method: str, dataset: str, repeat: int):
    """ESMBO wins on 16 of 20 data sets against each other, which are level."""
    low = method == "ESMBO" and dataset not in DATASETS[:4]
    level = 0.2 if low else 0.4 if method == "ESMBO" else 0.3
    return [level] * 3, [level] * 3


def make(folder, methods=METHODS, **changes):
    content = made.study(methods, DATASETS, repeats=1, budget=3) | {"space": "svm"} | changes
    made.write(folder, content, losses)
    page = pages.make(PAGE, load(content, folder), folder / "report")
    assert page.error == ""
    return page


def test_frequencies_by_hand(tmp_path):
    (section,) = make(tmp_path).sections
    text, table = section.parts
    assert "on 20 data sets; in parentheses those of the paper, on 39 others" in text
    assert "The paper has 150 evaluations; the study has 3 evaluations." in text
    assert table.columns == ["", "ESMBO", "RS", "SMBO", "ERS", "expected rank"]
    # 16 of 20 and 0.54 of 39: share 0.628, error 0.1329; 0.8 - 0.54 < 2 errors.
    assert [c.text for c in table.rows[0]] == [
        "ESMBO", "", "0.80 (0.54)", "0.80 (0.55)", "0.80 (0.56)", "1.60 (2.35)",
    ]  # fmt: skip
    assert [c.text for c in table.rows[1]][1:4] == ["0.20 (0.46)", "", "0.50 (0.51)"]
    assert "Without ≠, they need not agree" in table.notes[0]
    csv = pd.read_csv(tmp_path / "report/tables/winning-frequencies.csv")
    assert csv["error"].iloc[0] == pytest.approx(0.1329, abs=1e-4)
    assert not csv["differs"].any()


def test_a_regression_stands_beside_a_regression(tmp_path):
    (section,) = make(tmp_path, metric="squared-error", space="random-forest").sections
    assert "on 22 others" in section.parts[0]
    # The paper: ERS against RS 1.00; here 0.50.
    ers = next(row for row in section.parts[1].rows if row[0].text == "ERS")
    assert ers[4].text == "0.50 (1.00) ≠"


def test_it_averages_over_full_fits_if_the_budget_is_in_these(tmp_path):
    content = made.study(METHODS, DATASETS, repeats=1, budget=3) | {"space": "svm"}
    made.write(tmp_path, content, losses)
    content["budget"] = {"fits": 3}
    for dataset, method in product(DATASETS, METHODS):
        search = content["methods"][method]["search"]
        settings = made.made_with(content, search) | {"budget": content["budget"]}
        errors = losses(method, dataset, 0)[0]
        made.write_search(tmp_path, dataset, search, 0, errors, made_with=settings)
    (section,) = pages.make(PAGE, load(content, tmp_path), tmp_path / "report").sections
    assert "Both are means over the last 15 full fits." in section.parts[0]


def test_what_the_page_needs(tmp_path):
    alone = made.study(METHODS, ["d0"], repeats=1, budget=3) | {"space": "svm"}
    made.write(tmp_path / "d", alone, losses)
    page = pages.make(PAGE, load(alone, tmp_path / "d"), tmp_path / "d/report")
    assert page.reason == "the study has one data set"
    assert "the ESMBO paper has no such" in make(tmp_path / "a", space="divbo").reason
    assert "the ESMBO paper has no such" in make(tmp_path / "c", metric="brier").reason
    assert "lacks some of the paper's methods" in make(tmp_path / "b", METHODS[:3]).reason


def test_all_spaces_of_the_paper_are_found():
    found = {
        winning_frequencies.space_of({"space": space, "metric": metric})
        for metric, spaces in (
            ("error", ("svm", "gradient-boosting", "random-forest", "mlp")),
            ("squared-error", ("svr", "gradient-boosting", "random-forest")),
        )
        for space in spaces
    }
    assert found == set(checks.spaces())
