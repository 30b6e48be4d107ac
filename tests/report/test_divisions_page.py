"""The page on rules for ensembles, on many divisions of the held-out rows."""

import json

import pandas as pd
import pytest

from ensemble_search.analysis.load import load
from ensemble_search.report import build as pages
from ensemble_search.report.pages import divisions
from ensemble_search.runtime import files
from support import made_results as made

pytestmark = pytest.mark.slow

PAGE = "ensemble_search.report.pages.divisions"
#: Test errors on three divisions of two data sets.
LOSSES = {
    ("d", "ES"): (0.2, 0.2, 0.2),
    ("d", "brier"): (0.21, 0.22, 0.23),
    ("e", "ES"): (0.3, 0.3, 0.3),
    ("e", "brier"): (0.29, 0.3, 0.31),
}


@pytest.fixture
def study(tmp_path):
    content = made.study(("ES", "brier"), ("d", "e"), repeats=1) | {"divisions": 3}
    content["report"] = {"reference": "ES"}
    content["methods"] = {m: {"search": "random", "ensemble": m} for m in ("ES", "brier")}
    content["searches"] = {"random": {"optimizer": "random"}}
    content["ensembles"] = {"ES": {"type": "best"}, "brier": {"type": "selection"}}
    made.write(tmp_path, content, lambda m, d, r: ([0.3] * 8, [0.3] * 8))
    for dataset in "de":
        write(tmp_path, content, dataset)
    return content, tmp_path


def write(results, content, dataset, **other):
    job = {"divisions": 3, "ensembles": content["ensembles"], **other}
    columns = {"ensemble": [], "division": [], "validation_error": [], "test_error": []}
    for (own, ensemble), losses in LOSSES.items():
        for division, loss in enumerate(losses, start=1):
            if own == dataset:
                row = (ensemble, division, loss, loss)
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
    path = results / f"divisions/{dataset}/random/0/divisions.parquet"
    files.write_parquet(path, columns, {"ensemble_search.job": json.dumps(job)})


def test_the_table(study, tmp_path):
    content, results = study
    page = pages.make(PAGE, load(content, results), tmp_path)
    assert not page.error and not page.reason
    text, table = page.sections[0].parts
    assert "not searches: the path of a search depends on its validation rows" in text
    # Means 2 and 0 points: half width 12.706 * 1; between divisions 1, data sets 2 - 1 / 3.
    (row,) = table.rows
    shown = ["brier", "+1.00", "−11.71 to +13.71", "16.33", "1.29", "1.00"]
    assert [cell.text for cell in row] == shown
    assert table.columns[-2:] == ["sd between data sets", "sd between divisions"]
    data = pd.read_csv(tmp_path / "tables/divisions-rules.csv")
    assert data["between_division"].tolist() == pytest.approx([0.01])
    assert "Of 1 comparison without any true effect" in table.notes[0]


def test_differences_that_do_not_vary_have_no_interval(study, tmp_path, monkeypatch):
    content, results = study
    same = {key: (0.2, 0.2, 0.2) if key[1] == "ES" else (0.21, 0.22, 0.23) for key in LOSSES}
    monkeypatch.setitem(globals(), "LOSSES", same)
    for dataset in "de":
        write(results, content, dataset)
    page = pages.make(PAGE, load(content, results), tmp_path)
    (row,) = page.sections[0].parts[1].rows
    assert [cell.text for cell in row][1:4] == ["+2.00", "–", "–"]
    assert page.sections[0].parts[1].notes[0].endswith("not adjusted.")


def test_runs_that_are_missing_or_made_otherwise_are_named(study, tmp_path):
    content, results = study
    write(results, content, "e", divisions=4)
    scores, missing = divisions.load(load(content, results))
    assert missing == [
        "divisions/e/random/0/divisions.parquet: made with other settings (divisions)"
    ]
    assert set(scores["dataset"]) == {"d"} and len(scores) == 6
    (results / "divisions/d/random/0/divisions.parquet").unlink()
    page = pages.make(PAGE, load(content, results), tmp_path)
    assert page.reason == "no run has been scored on divisions"
    page = pages.make(PAGE, load({**content, "divisions": None}, results), tmp_path)
    assert page.reason == "the study has no key 'divisions'"
