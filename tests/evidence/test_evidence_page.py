"""The page of a study's evidence: its numbers by hand, and the committed pages."""

import json
import sys
from pathlib import Path

import pytest

from ensemble_search.evidence import measured
from ensemble_search.evidence import page as evidence_page
from ensemble_search.evidence import rows as evidence
from ensemble_search.jobs import Jobs
from ensemble_search.optimizers.ask_tell import AskTell
from support import ALL_STUDIES, ROOT
from support import STUDIES as STUDIES_BY_NAME
from support import made_results as made

pytestmark = pytest.mark.slow

STUDIES = sorted(path.parent for path in (ROOT / "evidence").glob("*/study.json"))
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
    assert text.startswith("**4 of 4 repeats** of the study `made`")
    assert "| d | 2 | 1 | 31.00 | 20.00 | 50.00 |" in text
    assert "| e | 2 | 1 | 12.00 | 10.00 | 50.00 |" in text
    # Differences 11 and 2: mean 6.5, sd 6.36, half width 12.706 * 6.364 / sqrt(2) = 57.18.
    # Within data sets: variances 2 and 8 of one degree of freedom each, mean 5. Between their means
    # 40.5, of which 5 / 2 comes from the runs.
    assert "| RS | +6.50 | [-50.68, +63.68] | 2/0/0 | 6.36 | 73.50 | 6.16 | 2.24 |" in text
    assert "Of 1 comparison without any true effect, about 0.05 would have an interval" in text
    assert "older code" not in text


def test_differences_on_one_data_set_are_over_its_repeats():
    """10 and 12: mean 11, sd 1.41, half width 12.706 * 1."""
    study = {**STUDY, "datasets": ["d"]}
    own = {key: test for key, test in TESTS.items() if key[0] == "d"}
    text = evidence_page.page(study, rows(own))
    assert "minus DivBO's, over 2 repeats; above 0: worse." in text
    assert "| RS | +11.00 | [-1.71, +23.71] | 2/0/0 | 1.41 | 16.33 |\n" in text
    assert "All repeats have the same rows: these intervals are about repeated searches" in text
    once = {key: test for key, test in own.items() if key[1] == 0}
    assert "Differences" not in evidence_page.page({**study, "repeats": 1}, rows(once))


def test_differences_on_one_data_set_with_several_splits_are_over_these():
    """As above, but each split has two repeats, with the differences 9 and 11, and 10 and 14."""
    study = {**STUDY, "datasets": ["d"], "repeats": 4}
    study["split"] = {**STUDY["split"], "resample": 2}
    higher = [0.09, 0.10, 0.11, 0.14]
    own = {("d", r, "RS"): 0.2 + gap for r, gap in enumerate(higher)}
    own |= {("d", r, "DivBO"): 0.2 for r in range(4)}
    made = [{**row, "split": f"split-{int(row['repeat']) % 2}"} for row in rows(own)]
    text = evidence_page.page(study, made)
    assert "minus DivBO's, over 2 splits, each counting with its mean over its repeats;" in text
    # Variances of repeats: 2 and 8, mean 5. Between splits 2, of which 5 / 2 comes from repeats.
    assert "| RS | +11.00 | [-1.71, +23.71] | 2/0/0 | 1.41 | 16.33 | 0.00 | 2.24 |\n" in text
    assert "Splits of a data set share rows, so these intervals are too narrow." in text


def test_the_design_is_that_of_the_study():
    study = {
        **STUDY,
        "split": {**STUDY["split"], "resample": "per-repeat"},
        "train_rows": {"e": {"share": 0.5, "by": "stratified"}},
        "searches": {
            "search-rs": {"optimizer": "random"},
            "search-divbo": {"optimizer": "divbo", "beta": 0.05, "interleave": 0.0},
            "other": {"optimizer": "divbo", "beta": 0.2, "interleave": 0.0},
        },
    }
    _, _, text = evidence_page.page(study, rows(TESTS)).partition("## Design")
    for line in (
        "- **Data sets (2)**: d, e",
        "- **Split**: 60 % training, 20 % validation and 20 % test rows; drawn anew for each "
        "repeat",
        "- **Part of the training rows that is used**: e 50 %",
        "- **Repeats**: 2 per data set, each with all methods",
        "- **Budget**: 10 evaluations per search",
        "- **Limits per evaluation**: 300 CPU seconds per thread, 4096 MiB",
        "| RS | [random](../../docs/reference.md#random) | [best](../../docs/reference.md#best) |",
        # Not the default, and different from the other search.
        "| DivBO | [divbo](../../docs/reference.md#divbo): beta 0.05, interleave 0.0 "
        "| [best](../../docs/reference.md#best) |",
    ):
        assert f"\n{line}\n" in text
    assert "## Design" not in evidence_page.page(STUDY, [])


@pytest.mark.parametrize(
    ("split", "text"),
    [
        (
            {"train": 800, "validation": 900, "resample": "never"},
            "800 training and 900 validation rows; all others are test rows; the same in all "
            "repeats",
        ),
        (
            {"test": 0.2, "folds": 3, "resample": 2},
            "20 % test rows, 3-fold cross-validation on the others; 2 splits, used in turn",
        ),
    ],
)
def test_the_design_describes_the_split(split, text):
    page = evidence_page.page({**STUDY, "split": split}, rows(TESTS))
    assert f"\n- **Split**: {text}\n" in page


def test_repeats_that_are_not_whole_and_stale_rows_do_not_count():
    some = rows({key: value for key, value in TESTS.items() if key != ("e", 1, "RS")})
    old = rows({("d", 0, "gone"): 0.9}, stale="yes")
    text = evidence_page.page(STUDY, some + old)
    assert text.startswith("**3 of 4 repeats**")
    assert "1 stale rows of older code are left out here." in text.partition("\n")[0]
    assert "| e | 1 | 1 | 10.00 | 10.00 | 50.00 |" in text
    assert "No repeat has finished." in evidence_page.page(STUDY, old)


def test_divisions_have_a_table_of_their_own():
    """Three divisions, whose mean differences are 2 points on d and 0 on e."""
    study = {**STUDY, "divisions": 3, "repeats": 1}
    made = rows({key: value for key, value in TESTS.items() if key[1] == 0})
    shifts = {("d", "RS"): (0.01, 0.02, 0.03), ("e", "RS"): (-0.01, 0.0, 0.01)}
    for row in made:
        losses = shifts.get((row["dataset"], row["method"]), (0, 0, 0))
        row[evidence.DIVISIONS] = " ".join(str(0.5 + loss) for loss in losses)
    text = evidence_page.page(study, made)
    assert "## Differences from DivBO, on 3 divisions of the held-out rows" in text
    # Means 2 and 0: sd 1.41, half width 12.706 * 1. Between divisions 1, data sets 2 - 1 / 3.
    assert "| RS | +1.00 | [-11.71, +13.71] | 1/1/0 | 1.41 | 16.33 | 1.29 | 1.00 |" in text
    assert "between data sets, between divisions" in text


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_committed_pages_show_their_data(folder):
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    page = evidence_page.page(study, evidence.read(folder), measured.read(folder))
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
    found = measured.read(folder)
    assert evidence.merge(found, [], measured.numbers(study, recorded)) == found


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_committed_rows_are_those_that_their_study_asks_for(folder, monkeypatch):
    monkeypatch.chdir(ROOT)
    # Environments of other libraries are made by `make peers`.
    monkeypatch.setattr(AskTell, "_python", Path(sys.executable))
    if folder.name in ALL_STUDIES and folder.name not in STUDIES_BY_NAME:
        pytest.skip("its data files are not in torgo/")
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    now = json.loads(Jobs.load(str(STUDIES_BY_NAME[folder.name])).report())
    recorded = json.loads((ROOT / "tests/recorded/numbers.json").read_text(encoding="utf-8"))
    now["budget"]["later"] = None  # as a key that a later version adds
    for numbers in (evidence.numbers, measured.numbers):
        assert numbers(now, recorded) == numbers(study, recorded)
    found, current = evidence.read(folder), evidence.numbers(now, recorded)
    assert evidence.merge(found, [], current, evidence.data(now)) == found


@pytest.mark.parametrize(("metric", "majority"), [("squared-error", ""), ("balanced-error", "0.5")])
def test_only_errors_stand_beside_that_of_the_majority_class(metric, majority):
    """Of other losses, the rows do not have the majority class's."""
    text = evidence_page.page({**STUDY, "metric": metric}, rows(TESTS, majority=majority))
    assert "| data set | repeats | test rows | RS | DivBO |\n" in text
    assert "nan" not in text.split("## Searches")[0]


def test_the_first_line_says_what_the_data_sets_can_detect():
    first = evidence_page.page(STUDY, rows(TESTS)).split("\n")[0]
    assert first == (
        "**4 of 4 repeats** of the study `made`, on 2 of 2 data sets, are in `runs.csv` (2 of each "
        "data set, each with all methods). With 80 % power, they can detect differences from DivBO "
        "in the mean test error of at least 73.50 percentage points, if these vary between data "
        "sets as so far."
    )
    methods = {"RS": 0.2, "BO": 0.21, "DivBO": 0.2}
    study = made.study(tuple(methods), ("d", "e"), repeats=1, budget=10)
    tests = {(d, 0, m): loss for m, loss in methods.items() for d in "de"}
    # Deviations of the differences: sqrt(2) / 2 points for BO. RS is equal on both data sets.
    text = evidence_page.page(study, rows(tests | {("e", 0, "BO"): 0.2}))
    assert "of at least 8.17 percentage points, if" in text
    text = evidence_page.page(study, rows(tests | {("e", 0, "BO"): 0.2, ("e", 0, "RS"): 0.22}))
    assert "of at least 8.17 to 16.33 percentage points, if" in text


@pytest.mark.parametrize(
    ("tests", "text"),
    [
        (dict.fromkeys(TESTS, 0.1), "On these data sets, all methods have the same mean"),
        ({key: float(key[0] + key[2] == "dRS") for key in TESTS}, "They are too few to detect"),
        ({k: v for k, v in TESTS.items() if k[0] == "d"}, "From one data set, nothing follows"),
    ],
)
def test_the_first_line_says_what_the_data_sets_cannot_detect(tests, text):
    first = evidence_page.page(STUDY, rows(tests)).split("\n")[0]
    assert f" each with all methods). {text}" in first


def test_a_difference_of_exactly_0_has_no_interval():
    tests = {key: 0.2 if key[2] == "RS" else test for key, test in TESTS.items()}
    tests |= {(d, r, "DivBO"): 0.2 for d in "de" for r in (0, 1)}
    text = evidence_page.page(STUDY, rows(tests))
    assert "| RS | +0.00 | – | 0/2/0 | 0.00 | – | 0.00 | 0.00 |" in text
    assert text.count("\nWithout an interval: equal on all data sets.\n") == 1
    assert "equal on all data sets" not in evidence_page.page(STUDY, rows(TESTS))


def test_validation_losses_are_shown_if_they_decide_a_claim():
    """The committed study decides a claim by validation losses; the differences are by hand."""
    study = {**STUDY, "study": "verdict-weights"}
    shifted = rows(TESTS)
    for row in shifted:
        higher = 0.06 if row["dataset"] == "d" else 0.02
        row["validation"] = str(0.1 + higher * (row["method"] == "DivBO"))
    text = evidence_page.page(study, shifted)
    _, _, text = text.partition("## Validation errors in percent")
    assert "In Appendix A.5 (Figure 7), the paper has validation errors, not test errors." in text
    assert "| data set | repeats | RS | DivBO |\n" in text
    assert "| d | 2 | 10.00 | 16.00 |" in text
    # Differences -6 and -2: mean -4, sd 2.83, half width 12.706 * 2.
    assert "## Differences from DivBO in the validation loss" in text
    assert "| RS | -4.00 | [-29.41, +21.41] | 0/0/2 | 2.83 |" in text
    assert "Mean validation error of each method minus DivBO's" in text
    assert "Validation" not in evidence_page.page(STUDY, shifted)


def test_a_page_says_how_many_claims_its_study_tests():
    page = evidence_page.page({**STUDY, "study": "esmbo-bootstraps"}, rows(TESTS))
    assert "\nIt tests 1 claim of a paper: see the [ledger](../README.md).\n\n## Design" in page
    assert "It tests" not in evidence_page.page(STUDY, rows(TESTS))
