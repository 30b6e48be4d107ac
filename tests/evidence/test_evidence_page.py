"""The page of a study's evidence: its numbers by hand, and the committed pages."""

import json

import numpy as np
import pandas as pd
import pytest

from ensemble_search.evidence import page as evidence_page
from ensemble_search.evidence import rows as evidence
from support import ROOT
from support import made_results as made

STUDIES = sorted(path.parent for path in (ROOT / "evidence").glob("*/runs.csv"))
STUDY = made.study(("RS", "DivBO"), ("d", "e"), repeats=2, budget=10)


def rows(tests: dict, **changes) -> list[dict[str, str]]:
    """Rows of all runs; ``tests`` are losses by (dataset, repeat, method)."""
    blank = dict.fromkeys(evidence.COLUMNS, "1") | {"stale": "", "commit": "abc", "majority": "0.5"}
    return [
        {**blank, "dataset": d, "repeat": str(r), "method": m, "test": str(test), **changes}
        for (d, r, m), test in tests.items()
    ]


TESTS = {
    ("d", 0, "RS"): 0.30, ("d", 1, "RS"): 0.32, ("d", 0, "DivBO"): 0.20, ("d", 1, "DivBO"): 0.20,
    ("e", 0, "RS"): 0.10, ("e", 1, "RS"): 0.14, ("e", 0, "DivBO"): 0.10, ("e", 1, "DivBO"): 0.10,
}  # fmt: skip


def test_numbers_by_hand():
    text = evidence_page.page(STUDY, rows(TESTS))
    assert text.startswith("**4 of 4 runs** of the study `made`")
    assert "| d | 2 | 31.00 | 20.00 | 50.00 |" in text
    assert "| e | 2 | 12.00 | 10.00 | 50.00 |" in text
    # Differences 11 and 2: mean 6.5, sd 6.36, half width 12.706 * 6.364 / sqrt(2) = 57.18.
    # Between runs: variances 2 and 8 of one degree of freedom each.
    assert "| RS | +6.50 | [-50.68, +63.68] | 2/0/0 | 6.36 | 2.24 |" in text
    assert "older code" not in text


def test_runs_that_are_not_whole_and_stale_rows_do_not_count():
    some = rows({key: value for key, value in TESTS.items() if key != ("e", 1, "RS")})
    old = rows({("d", 0, "gone"): 0.9}, stale="yes")
    text = evidence_page.page(STUDY, some + old)
    assert text.startswith("**3 of 4 runs**")
    assert "1 rows of older code are stale, and left out here." in text.partition("\n")[0]
    assert "| e | 1 | 10.00 | 10.00 | 50.00 |" in text
    assert "No run is finished." in evidence_page.page(STUDY, old)


def test_the_detectable_difference_is_found_in_four_of_five_cases():
    differences = np.array([0.3, -0.3, 0.1, 0.2, -0.2, 0.1, 0.4])
    n, sd = len(differences), differences.std(ddof=1)
    shift = evidence_page.detectable(differences)
    samples = np.random.default_rng(0).normal(shift, sd, size=(40000, n))
    t = samples.mean(axis=1) / (samples.std(axis=1, ddof=1) / np.sqrt(n))
    assert np.mean(np.abs(t) > 2.4469) == pytest.approx(0.8, abs=0.01)  # t(6) at 97.5 %


def test_one_run_per_data_set_has_no_deviation_between_runs():
    table = pd.DataFrame(rows({key: value for key, value in TESTS.items() if key[1] == 0}))
    table["test"] = table["test"].astype(float)
    assert np.isnan(evidence_page.between_runs(table, "RS", "DivBO"))


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_committed_pages_show_their_data(folder):
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    page = evidence_page.page(study, evidence.read(folder))
    assert (folder / "README.md").read_text(encoding="utf-8") == page, (
        "run: make evidence MINUTES=0"
    )


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_committed_rows_are_marked_by_the_recorded_numbers(folder):
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    recorded = json.loads((ROOT / "tests/recorded/numbers.json").read_text(encoding="utf-8"))
    found = evidence.read(folder)
    assert evidence.merge(found, [], evidence.numbers(study, recorded)) == found, (
        "numbers have moved; run: make evidence MINUTES=0"
    )
