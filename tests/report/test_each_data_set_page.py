"""The pages on each data set and on the time to predict, from synthetic results."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import deliverables, wall_clock
from ensemble_search.analysis.load import load
from ensemble_search.report import build as pages
from support import made_results as made

pytestmark = pytest.mark.slow

EACH, TIMES = (
    f"ensemble_search.report.pages.{name}" for name in ("each_data_set", "inference_time")
)
SECONDS = {"RS": 2.0, "DivBO": 0.5}


def errors(method: str, dataset: str, repeat: int):
    """The first two evaluations fail, and the first three in the second repeat."""
    failed = [np.nan] * (2 + repeat)
    level = 0.3 if method == "RS" else 0.2 + 0.01 * repeat
    values = [*failed, *[level] * (8 - len(failed))]
    return values, values


@pytest.fixture
def study(tmp_path):
    """Two methods that evaluate at different speed."""
    content = made.study(("RS", "DivBO"), ["quake", "wind"], repeats=2)
    made.write(tmp_path, content, errors)
    for method, seconds in SECONDS.items():
        search = content["methods"][method]["search"]
        for dataset in content["datasets"]:
            for repeat in range(2):
                validation, _ = errors(method, dataset, repeat)
                more = {"made_with": made.made_with(content, search), "fit": seconds}
                made.write_search(tmp_path, dataset, search, repeat, validation, **more)
    return content, tmp_path


def test_what_is_delivered(study):
    found = deliverables.deliverables(load(*study)).set_index(["dataset", "method"])
    line = found.loc["wind", "DivBO"]
    assert line["test"] == pytest.approx(0.205)
    assert line["std"] == pytest.approx(0.01 / np.sqrt(2))
    assert line["validation"] == pytest.approx(0.205)
    assert line["members"] == 3
    assert line["milliseconds"] == pytest.approx(1e6 * 0.3 / 200)  # 100 + 100 rows
    assert found["seconds"].unstack().loc["quake"].to_dict() == {"DivBO": 4, "RS": 16}


def test_curves_over_fitting_time(study):
    """RS has models after 3 and 4 evaluations of 2 s, DivBO of 0.5 s; it has ended after 4 s."""
    results = load(*study)
    done = wall_clock.fitted(results.observations)
    assert done["quake", "search-divbo", 1].tolist() == np.arange(0.5, 4.1, 0.5).tolist()
    page = pages.make(EACH, results, study[1] / "report")
    assert page.error == ""
    curve = pd.read_csv(study[1] / "report/figures/each-data-set-seconds-quake.csv")
    starts = curve.groupby("method")["seconds"].min()
    assert 2 <= starts["DivBO"] < 2.3
    assert 8 <= starts["RS"] < 8.6
    assert set(curve["mean"]) == {0.205, 0.3}
    assert curve.query("method == 'DivBO'")["std"].iloc[-1] == pytest.approx(0.00707107)
    assert curve["seconds"].max() == 16


def test_each_data_set_has_a_table_and_three_figures(study):
    page = pages.make(EACH, load(*study), study[1] / "report")
    _, quake, wind = page.sections
    assert (quake.title, wind.title) == ("quake", "wind")
    table, panels = quake.parts
    assert [c.text for c in table.rows[1]] == [
        "DivBO", "20.50 ± 0.71", "20.50", "3.0", "1500.0", "4.0 s",
    ]  # fmt: skip
    assert table.rows[1][1].best and not table.rows[0][1].best
    assert [caption for caption, _ in panels.drawings] == [
        "Test error over iterations",
        "Validation error over iterations",
        "Test error over fitting time",
    ]


def test_ranks_over_the_time_to_predict(study):
    page = pages.make(TIMES, load(*study), study[1] / "report")
    data = pd.read_csv(study[1] / "report/figures/inference-time.csv").set_index("method")
    assert data.loc["DivBO"].to_dict() == pytest.approx(
        {"milliseconds": 1500, "rank": 1, "error": 0.205}
    )
    (section,) = page.sections
    assert [c.text for c in section.parts[-1].rows[0]][1:3] == ["1500.0", "1.0×"]
    assert (
        "on the 200 validation and test rows of a data set, measured once after each fit, and "
        "scaled to 1000 rows. The fixed cost of a call is scaled, too"
    ) in section.parts[0]
    (note,) = pages.make(EACH, load(*study), study[1] / "report").sections[1].parts[0].notes
    assert note.startswith("Time to predict: the sum over the members on the 200 validation and ")


def test_rows_that_times_to_predict_come_from():
    text = deliverables.measured_on(pd.Series([1200.0, 3000.0]), "recorded")
    assert text == (
        "on the 1,200 to 3,000 validation and test rows of a data set, recorded when the table was "
        "made, and scaled to 1000 rows"
    )


def test_without_seconds_there_are_no_curves_over_them(study):
    """As of predictions that were made elsewhere."""
    results = load(*study)
    results.observations["fit_seconds"] = np.nan
    page = pages.make(EACH, results, study[1] / "report")
    assert page.error == ""
    assert len(page.sections[1].parts[1].drawings) == 2


def test_without_times_to_predict_there_is_no_such_page(tmp_path):
    content = made.study(("RS", "DivBO"), ["quake"], repeats=1)
    made.write(tmp_path, content, lambda m, d, r: ([np.nan] * 8, [np.nan] * 8))
    results = load(content, tmp_path)
    assert "is the time to predict known" in pages.make(TIMES, results, tmp_path / "x").reason
    assert pages.make(EACH, results, tmp_path / "x").error == ""
