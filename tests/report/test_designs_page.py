"""How far designs are from uniform draws, from the reasons that searches store."""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from ensemble_search.analysis.load import load
from ensemble_search.report import build as pages
from ensemble_search.report.pages import designs
from ensemble_search.runtime import files
from ensemble_search.runtime.files import Unusable
from support import made_results as made

pytestmark = pytest.mark.slow

STUDY = made.study(methods=["RS", "k-DPP", "BO"], datasets=["quake"], budget=4)
PAGE = "ensemble_search.report.pages.designs"


def why(log_det: float, spread: float, **more) -> dict:
    return {"origin": "k-dpp", "sigma": 0.5, "similarity": 0.4, "log_det": log_det,
            "uniform_log_det": -10.0, "spread": spread, **more}  # fmt: skip


def write(results, search: str, repeat: int, reasons: list) -> None:
    settings = made.made_with(STUDY, f"search-{search}")
    errors = [0.5, 0.4, 0.3, 0.2]
    made.write_search(results, "quake", f"search-{search}", repeat, errors, made_with=settings)
    path = results / f"searches/quake/search-{search}/{repeat}/observations.parquet"
    table = pq.read_table(path)
    place = table.schema.get_field_index("why")
    texts = [reason if isinstance(reason, str) else json.dumps(reason) for reason in reasons]
    files.write_parquet(path, table.set_column(place, "why", [texts]))


@pytest.fixture
def results(tmp_path):
    for repeat, log_det in enumerate((-8.0, -4.0, -7.0)):
        write(tmp_path, "rs", repeat, 4 * [{}])
        write(tmp_path, "k-dpp", repeat, 4 * [why(log_det, 2.0)])
        first = [why(-9.99 + repeat / 100, 0.05, origin="initial")] * 2
        write(tmp_path, "bo", repeat, [*first, {"origin": "model"}, {}])
    return tmp_path


def test_draws_and_their_distance(results):
    draws = designs.drawn(load(STUDY, results)).set_index(["search", "repeat"])
    assert len(draws) == 6
    assert draws.loc["search-k-dpp", "distance"].tolist() == pytest.approx([1, 3, 1.5])
    assert draws["points"].tolist() == [4, 4, 4, 2, 2, 2]
    table = designs.by_search(draws.reset_index()).set_index("search")
    assert table.loc["search-k-dpp", ["distance", "log_det", "repeats"]].tolist() == [1.5, -7, 3]
    assert table["like_uniform"].tolist() == [False, True]


def test_several_draws_of_a_search(tmp_path):
    """As with batches: each draw counts once, whatever the number of its points."""
    write(tmp_path, "k-dpp", 0, [*3 * [why(-8.0, 2.0)], why(-2.0, 0.0)])
    draws = designs.drawn(load(STUDY, tmp_path))
    assert draws["points"].tolist() == [3, 1]
    assert draws["draw"].tolist() == [1, 2]
    table = designs.by_search(draws)  # sets of other sizes have no common median
    assert table["log_det"].tolist() == [-8, -2]
    assert draws["distance"].tolist() == pytest.approx([1, float("nan")], nan_ok=True)


def test_page(results, tmp_path):
    page = pages.make(PAGE, load(STUDY, results), tmp_path)
    assert (page.error, page.reason) == ("", "")
    table = page.sections[0].parts[1]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["quake", "search-k-dpp", "1", "3", "4", "0.5", "0.4", "−7", "−10", "2", "1.5", "–"],
        ["quake", "search-bo", "1", "3", "2", "0.5", "0.4", "−9.98", "−10", "0.05", "0.4",
         "are not distinguishable from uniform draws"],
    ]  # fmt: skip
    csv = pd.read_csv(tmp_path / "tables/designs-distances.csv")
    assert csv["distance"].tolist() == pytest.approx([1.5, 0.4])


def test_page_without_designs(results, tmp_path):
    study = made.study(methods=["RS"], datasets=["quake"], budget=4)
    assert "has drawn a design" in pages.make(PAGE, load(study, results), tmp_path).reason
    assert "has drawn a design" in pages.make(PAGE, load(study, tmp_path / "x"), tmp_path).reason


@pytest.mark.parametrize("text", ["", "[", '{"log_det": 1}', '{"log_det": "x", "sigma": []}'])
def test_reasons_that_are_none(results, text):
    write(results, "k-dpp", 1, [text, {}, {}, {}])
    with pytest.raises(Unusable, match=r"search-k-dpp/1/observations\.parquet"):
        designs.drawn(load(STUDY, results))
