"""Losses over wall-clock time with a worker for every suggestion of a batch."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import load, wall_clock
from ensemble_search.report import write
from ensemble_search.report.pages import wall_clock as page
from support import made_results as made
from support.html_page import text_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({"optimizer": "random"}, [10]),
        ({"optimizer": "sobol"}, [10]),
        ({"optimizer": "k-dpp", "batch": 4}, [4, 4, 2]),
        ({"optimizer": "bo"}, [5, 1, 1, 1, 1, 1]),
        ({"optimizer": "bo", "initial": 3, "batch": 4}, [3, 4, 3]),
        ({"optimizer": "bo", "initial": 20}, [10]),
        ({"optimizer": "neural-ensemble-search", "population": 9}, [9, 1]),
    ],
)
def test_batches(settings, sizes):
    assert wall_clock.batches(settings, 10) == sizes


def test_given_evaluations_replace_the_initial_design():
    """Of a design of 5, the rest; of a k-DPP's draws, nothing."""
    settings = {"optimizer": "bo", "batch": 4}
    assert wall_clock.batches(settings, 10, given=2) == [3, 4, 3]
    assert wall_clock.batches(settings, 10, given=5) == [4, 4, 2]
    assert wall_clock.batches({"optimizer": "k-dpp", "batch": 4}, 10, given=5) == [4, 4, 2]


def test_batches_of_rounds_and_brackets():
    """Batches of BOASF end with the round, after 24, 47 and 70; a rung of 27, 9, 3 and 1."""
    boasf = {"optimizer": "boasf", "budget": 70, "initial": 3, "batch": 8}
    rounds = [3, 8, 8, 5, 8, 8, 7, 8, 8, 7]
    assert wall_clock.batches(boasf, 70) == rounds
    seconds = {"optimizer": "boasf", "seconds": 9.0}
    assert wall_clock.batches(seconds, 3) == [1] * 3
    # The first rung of the next bracket, of 12, waits for nothing.
    assert wall_clock.batches({"optimizer": "hyperband"}, 69) == [27, 9, 3, 13, 4, 7, 6]


def test_ends_by_hand():
    """Two batches of 2: suggestions one after the other, fits at once; then a single one."""
    suggest, fit = np.array([1.0, 1, 2, 0, 1]), np.array([5.0, 1, 1, 4, 2])
    # Ends 6 and 3, so both are done at 6; then 9 and 12; then 12 + 1 + 2.
    assert wall_clock.ends(suggest, fit, [2, 2, 1]).tolist() == [6, 6, 9, 12, 15]
    assert wall_clock.ends(suggest, fit, [5]).tolist() == [6, 6, 6, 8, 8]
    assert wall_clock.ends(suggest, fit, [1] * 5).tolist() == [6, 8, 11, 15, 18]


def errors(method: str, dataset: str, repeat: int):
    levels = np.linspace(0.5, 0.3 if method == "DivBO" else 0.4, 8)
    return levels.tolist(), (levels + 0.01 * repeat).tolist()


@pytest.fixture
def study(tmp_path):
    content = made.study(("RS", "DivBO"), ["quake"], repeats=2)
    content["searches"]["search-divbo"] = {"optimizer": "k-dpp", "batch": 4}
    made.write(tmp_path, content, errors)
    return content, tmp_path


def test_the_page(study):
    content, results = study
    assert write.write(content, results, results / "report") == []
    text = text_of(results / "report/pages/wall-clock.html")
    table = pd.read_csv(results / "report/tables/wall-clock-seconds.csv").set_index("method")
    assert table["workers"].to_dict() == {"RS": 8, "DivBO": 4}
    assert table["mean"].to_dict() == pytest.approx({"RS": 0.405, "DivBO": 0.305})
    runs = load.load(content, results).observations
    runs = runs[(runs.search == "search-divbo") & (runs.repeat == 0)].sort_values("iteration")
    expected = wall_clock.ends(
        runs.suggest_seconds.to_numpy(), runs.fit_seconds.to_numpy(), [4, 4]
    )[-1]
    assert table.loc["DivBO", "end"] == pytest.approx(expected)
    assert "30.50 ± 0.71" in text
    curve = pd.read_csv(results / "report/figures/wall-clock-quake.csv")
    assert curve.groupby("method")["mean"].last().to_dict() == pytest.approx(
        table["mean"].to_dict()
    )
    assert (curve.groupby("method")["mean"].first() >= 0.5).all()


def test_no_model_yet_is_worse_than_any_in_a_regression(tmp_path):
    """Losses above 1: until a run has a model, it counts as 1 % more than the largest."""
    content = made.study(("RS", "DivBO"), ["quake"], repeats=2) | {"metric": "squared-error"}
    content["searches"]["search-divbo"] = {"optimizer": "k-dpp", "batch": 4}

    def above(method: str, dataset: str, repeat: int):
        levels = [np.nan if method == "DivBO" else 3.0, *np.linspace(2.5, 2, 7)]
        return levels, levels

    made.write(tmp_path, content, above)
    curve = wall_clock.curves(load.load(content, tmp_path))
    assert curve.groupby("method")["mean"].first().to_dict() == pytest.approx(
        {"DivBO": 3.03, "RS": 3.0}
    )


def test_other_studies_have_no_such_page(study):
    content, results = study
    content["searches"]["search-divbo"] = {"optimizer": "bo"}
    assert "no search suggests a design" in page.build(load.load(content, results), None)
    content["budget"] = {"seconds": 60}
    assert "not in evaluations" in page.build(load.load(content, results), None)
