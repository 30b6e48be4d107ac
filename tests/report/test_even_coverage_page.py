"""Figure 1 of Dodge et al. (2017) from files as the jobs write them."""

import json

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis.load import load
from ensemble_search.dpp.coverage import SAMPLERS
from ensemble_search.papers.dodge import even_coverage
from ensemble_search.report import build as pages
from ensemble_search.runtime import files
from ensemble_search.runtime.files import Unusable
from support import made_results as made

pytestmark = pytest.mark.slow

SIZES = [1, 10, 100]
STUDY = made.study() | {"spread": {"sizes": SIZES, "samples": 4}}
PAGE = "ensemble_search.papers.dodge.even_coverage"


def write(results, sampler: str, power: float, **other) -> None:
    """Samples that measure 1, 2, 3 and 6 times k^power / 10."""
    rows = [
        {"size": k, "sample": i, **dict.fromkeys(even_coverage.MEASURES, factor * k**power / 10)}
        for k in SIZES
        for i, factor in enumerate((1, 2, 3, 6))
    ]
    job = {**STUDY["spread"], "sampler": sampler, "seed": 0, **other}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    path = results / f"spread/{sampler}/spread.parquet"
    files.write_parquet(path, columns, {"ensemble_search.job": json.dumps(job)})


@pytest.fixture
def results(tmp_path):
    for sampler, power in zip(SAMPLERS, (-0.5, -1.0, -2.0, 0.0), strict=True):
        write(tmp_path, sampler, power)
    return tmp_path


def test_medians_quartiles_and_slopes(results):
    designs, missing = even_coverage.load(STUDY, results)
    assert missing == [] and len(designs) == 4 * 3 * 4
    summary = even_coverage.summary(designs)
    at = summary.set_index(["measure", "sampler", "size"])
    assert at.loc[("origin", "sobol", 10)].tolist() == pytest.approx([0.0175, 0.025, 0.0375])
    slopes = even_coverage.slopes(summary)
    assert [slopes["centre", s] for s in SAMPLERS] == pytest.approx([-0.5, -1, -2, 0], abs=1e-9)
    only = summary[summary["size"] == 100]
    assert even_coverage.slopes(only).isna().all()


def test_exact_medians_of_uniform_points():
    """By hand for one point, of |x - 1/2| + 1/2, (x - 1/2)^2 and x^2; by simulation for 20."""
    exact = even_coverage.uniform_medians(np.array([1, 20]))
    assert exact.loc[1].tolist() == pytest.approx([0.75, 1 / 16, 1 / 4])
    points = np.sort(np.random.default_rng(0).random((20_000, 20)))
    found = {
        "discrepancy": 1 / 40 + np.abs(points - (np.arange(20) + 0.5) / 20).max(axis=1),
        "centre": np.square(points - 0.5).min(axis=1),
        "origin": points[:, 0] ** 2,
    }
    for measure, values in found.items():
        assert (values <= exact.loc[20, measure]).mean() == pytest.approx(0.5, abs=0.012)


def test_page(results, tmp_path):
    (results / "spread/k-dpp/spread.parquet").unlink()
    page = pages.make(PAGE, load(STUDY, results), tmp_path)
    assert (page.error, page.reason) == ("", "")
    table = next(p for p in page.sections[0].parts if getattr(p, "name", "").endswith("medians"))
    rows = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in table.rows}
    assert "Missing: spread/k-dpp/spread.parquet: not there." in page.sections[0].parts
    assert table.columns[2:] == ["k = 1", "k = 10", "k = 100", "slope"]
    assert rows["star discrepancy", "uniform"] == ["0.25", "0.079", "0.025", "−0.50"]
    assert rows["squared distance to the origin", "seq-pv"] == [
        "0.25", "0.0025", "2.5e-05", "−2.00",
    ]  # fmt: skip
    assert rows["squared distance to the centre", "uniform, by formula"][0] == "0.062"
    for measure in even_coverage.MEASURES:
        csv = pd.read_csv(tmp_path / f"figures/even-coverage-{measure}.csv")
        at = csv.set_index(["sampler", "size"])
        assert at.loc[("sobol", 10), ["lower", "median", "upper"]].tolist() == pytest.approx(
            [0.0175, 0.025, 0.0375]
        )
        assert (tmp_path / f"figures/even-coverage-{measure}.svg").exists()


def test_files_of_other_settings_and_lost_ones_are_left_out(results):
    write(results, "sobol", 0.0, samples=5, seed=1)
    (results / "spread/k-dpp/spread.parquet").unlink()
    designs, missing = even_coverage.load(STUDY, results)
    assert set(designs["sampler"]) == {"uniform", "seq-pv"}
    assert missing == [
        "spread/sobol/spread.parquet: made with other settings (samples, seed)",
        "spread/k-dpp/spread.parquet: not there",
    ]


def test_a_measure_out_of_range(results):
    write(results, "sobol", 1.0)
    with pytest.raises(Unusable, match="measures from 0 to 1"):
        even_coverage.load(STUDY, results)


def test_page_without_designs(tmp_path):
    for study, reason in ((made.study(), "measures no designs"), (STUDY, "has finished")):
        assert reason in pages.make(PAGE, load(study, tmp_path), tmp_path).reason
