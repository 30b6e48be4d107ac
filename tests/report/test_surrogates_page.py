"""What the report says of surrogates, from files as the jobs write them."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis.load import load
from ensemble_search.papers.divbo import surrogates
from ensemble_search.report import build as pages
from ensemble_search.runtime import files
from support import made_results as made

pytestmark = pytest.mark.slow

SECTION = {
    "names": ["lightgbm-pairs", "random-forest"],
    "datasets": ["quake"],
    "repeats": 2,
    "sizes": [25, 250],
    "configurations": 300,
    "held_out": 50,
}
STUDY = made.study() | {"surrogates": SECTION}
#: tau by surrogate, repeat and size.
TAU = {
    ("lightgbm-pairs", 0): (0.30, 0.60),
    ("lightgbm-pairs", 1): (0.40, 0.70),
    ("random-forest", 0): (np.nan, 0.20),
    ("random-forest", 1): (0.10, 0.30),
}


def write(results, surrogate: str, repeat: int, **other) -> None:
    rows = []
    protocols = ["error"] if surrogate == "random-forest" else ["observed", "held-out"]
    for size, tau in zip((25, 250), TAU[surrogate, repeat], strict=True):
        for protocol in protocols:
            row = {"observations": size, "fit_cpu_seconds": size / 25 + repeat}
            row |= {"protocol": protocol, "pairs": 50, "tau": tau - 0.1 * (protocol == "held-out")}
            row |= {"within_1": 0.4 + 0.2 * repeat, "within_2": 0.8, "absolute_error": 0.06}
            rows.append(row | {"spread": 0.02, "predict_cpu_seconds": 0.1})
    job = {"surrogate": surrogate, "repeat": repeat, "sizes": [25, 250], "held_out": 50}
    metadata = {"ensemble_search.job": json.dumps(job | {"seed": 0, "space": "divbo"} | other)}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    files.write_parquet(
        results / f"surrogates/quake/{surrogate}/{repeat}/quality.parquet", columns, metadata
    )


@pytest.fixture
def results(tmp_path):
    for surrogate, repeat in TAU:
        write(tmp_path, surrogate, repeat)
    return tmp_path


def test_means_over_repeats(results):
    quality, missing = surrogates.load(STUDY, results)
    assert missing == []
    taus = surrogates.taus(quality).set_index(["protocol", "surrogate", "observations"])
    assert taus.loc[("observed", "lightgbm-pairs", 250), "mean"] == pytest.approx(0.65)
    assert taus.loc[("observed", "lightgbm-pairs", 250), "std"] == pytest.approx(0.1 / 2**0.5)
    assert taus.loc[("held-out", "lightgbm-pairs", 25), "mean"] == pytest.approx(0.25)
    # A model that predicts the same for all has no tau: it counts as 0, not as nothing.
    assert taus.loc[("error", "random-forest", 25), "mean"] == pytest.approx(0.05)
    last = surrogates.calibration(quality).set_index(["protocol", "surrogate"])
    assert last.loc[("observed", "lightgbm-pairs"), "within_1"] == pytest.approx(0.5)
    assert last.loc[("observed", "lightgbm-pairs"), "ratio"] == pytest.approx(3)
    assert set(last["observations"]) == {250}
    assert surrogates.seconds(quality).loc["lightgbm-pairs"].tolist() == [1.5, 10.5]


def test_files_of_other_settings_and_lost_ones_are_listed(results):
    write(results, "lightgbm-pairs", 1, space="divbo-small", seed=3)
    (results / "surrogates/quake/random-forest/0/quality.parquet").unlink()
    (results / "surrogates/quake/random-forest/1/quality.parquet").unlink()
    quality, missing = surrogates.load(STUDY, results)
    assert set(zip(quality["surrogate"], quality["repeat"], strict=True)) == {("lightgbm-pairs", 0)}
    assert [re.sub(r"^.*parquet: ", "", line) for line in missing] == [
        "made with other settings (seed, space)",
        "not there",
        "not there",
    ]


def test_page(results, tmp_path):
    page = pages.make("ensemble_search.papers.divbo.surrogates", load(STUDY, results), tmp_path)
    assert (page.error, page.reason) == ("", "")
    csv = pd.read_csv(tmp_path / "tables/surrogates-tau.csv")
    at = csv.set_index(["protocol", "surrogate", "observations"])["mean"]
    assert at["observed", "lightgbm-pairs", 250] == pytest.approx(0.65)
    table = next(p for p in page.sections[0].parts if getattr(p, "name", "") == "surrogates-tau")
    last = {(row[1].text, row[2].text): [c.text for c in row[3:]] for row in table.rows}
    assert last["an observed and a held-out configuration", "lightgbm-pairs"] == [
        "0.35 ± 0.07", "0.65 ± 0.07", "0.65",
    ]  # fmt: skip
    assert last["error of a held-out configuration", "random-forest"][-1] == "0.26"
    assert {path.stem for path in (tmp_path / "figures").glob("*.svg")} == {
        "surrogates-quake-observed",
        "surrogates-quake-held-out",
    }


def test_page_of_another_metric(results, tmp_path):
    study = STUDY | {"metric": "log-loss"}
    page = pages.make("ensemble_search.papers.divbo.surrogates", load(study, results), tmp_path)
    assert (page.error, page.reason) == ("", "")
    about, *rest = page.sections[0].parts
    assert "A performance surrogate predicts the log loss of the held-out ones" in about
    table = next(p for p in rest if getattr(p, "name", "") == "surrogates-tau")
    assert table.columns[-1] == "250"  # what the paper prints is about errors
    assert not any("Printed" in note for note in table.notes)
    last = {(row[1].text, row[2].text): [c.text for c in row[3:]] for row in table.rows}
    assert last["log loss of a held-out configuration", "random-forest"][-1] == "0.25 ± 0.07"


def test_page_without_evaluations(tmp_path):
    for section, reason in ((None, "evaluates no surrogates"), (SECTION, "has finished")):
        study = made.study() | {"surrogates": section}
        page = pages.make(
            "ensemble_search.papers.divbo.surrogates", load(study, tmp_path), tmp_path
        )
        assert reason in page.reason
