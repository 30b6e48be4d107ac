"""The tables and Figure 3 of the BOASF paper, from synthetic results."""

import pandas as pd
import pytest

from ensemble_search.analysis.load import load
from ensemble_search.report import build as pages
from ensemble_search.report.section import Panels
from ensemble_search.report.tables import Table
from support import made_results as made

pytestmark = pytest.mark.slow

ACCURACY = "ensemble_search.papers.boasf.balanced_accuracy"
GRID = "ensemble_search.papers.boasf.rounds_and_exploration"
SETTINGS = {"c2": (2.0, 2), "c3": (3.0, 2), "r3": (2.0, 3)}
#: Losses by method on quake and wind; validation 0.1 lower.
LOSSES = {"c2": (0.3, 0.4), "c3": (0.2, 0.3), "r3": (0.25, 0.5)}
LOSSES |= {"TPE": (0.25, 0.3), "RS": (0.4, 0.4)}
METHODS = tuple(LOSSES)
LOSSES |= {"Hyperopt": (0.35, 0.3)}  # as in the paper


def study(methods=METHODS, **more):
    content = made.study(methods, repeats=2, budget=3) | {"metric": "balanced-error"} | more
    for name in {*SETTINGS, "TPE"} & set(methods):
        search = content["methods"][name]["search"]
        content["searches"][search] = {"optimizer": "tpe"}
        if name in SETTINGS:
            c, r = SETTINGS[name]
            content["searches"][search] = {"optimizer": "boasf", "exploration": c, "rounds": r}
    return content


def make(module, folder, content):
    def losses(method, dataset, repeat):
        level = LOSSES[method][dataset == "wind"] + (0.02 * repeat - 0.01) * (method == "RS")
        return [level - 0.1] * 3, [level] * 3

    made.write(folder, content, losses)
    page = pages.make(module, load(content, folder), folder / "report")
    assert page.error == ""
    return page


def cells(part):
    return [[f"*{c.text}*" if c.best else c.text for c in row] for row in part.rows]


def test_accuracies_by_hand(tmp_path):
    page = make(ACCURACY, tmp_path, study(("c3", "TPE", "RS")))
    validation, test = (next(p for p in s.parts if isinstance(p, Table)) for s in page.sections)
    assert cells(test) == [
        ["quake", "*0.800 ± 0.000*", "0.750 ± 0.000", "0.600 ± 0.014"],
        ["wind", "*0.700 ± 0.000*", "*0.700 ± 0.000*", "0.600 ± 0.014"],
        ["average rank", "1.25", "1.75", "3.00"],
    ]
    # Best observed so far: the mean of 0.89 and 0.91 less 0.2 and 0.3.
    assert [c.text for c in validation.rows[0]][:3] == ["quake", "0.900 ± 0.000", "0.850 ± 0.000"]
    assert len(page.sections) == 2
    csv = pd.read_csv(tmp_path / "report/tables/balanced-accuracy-test.csv")
    assert csv["mean"].tolist() == pytest.approx([0.8, 0.75, 0.6, 0.7, 0.7, 0.6])


def test_the_papers_rows_of_the_same_data_sets_stand_below(tmp_path):
    sources = {"quake": {"openml": 37}, "wind": {"openml": 847}}
    more = {"space": "random-forest-hpo", "sources": sources}
    section = make(ACCURACY, tmp_path, study(("c3", "Hyperopt"), **more)).sections[-1]
    text, table = section.parts
    assert section.title == "Table 3 of the paper, on the same data sets"
    assert "are implausible. Tables 2 and 3: four cells " in text
    assert "an accuracy of 0 on openml_279" in text
    assert table.columns == [
        "data set", "in the paper", "BOASF", "Hyperopt (Hyperopt-full)", "BOHB",
    ]  # fmt: skip
    # Hyperopt's validation loss is 0.35 - 0.1; the study has no method BOASF.
    assert cells(table) == [
        ["quake", "openml_37", "– (0.765, 0.775)", "0.750 (0.755, 0.762)", "– (0.761, 0.762)"]
    ]
    csv = pd.read_csv(tmp_path / "report/tables/balanced-accuracy-published.csv")
    assert csv.iloc[1, :3].tolist() == ["quake", "openml_37", "Hyperopt-full"]
    assert csv.iloc[1, 3:].tolist() == pytest.approx([0.75, 0.755, 0.762])


def test_of_table_1_the_test_rows_stand_beside_the_papers(tmp_path, monkeypatch):
    """The paper names these data sets; here they have other sources."""
    sources = {"quake": {"sklearn": "wine"}, "wind": {"openml": 1590}}
    content = study(("c3", "RS"), space="boasf", sources=sources)
    content["methods"] = {"BO": content["methods"]["c3"], "RS": content["methods"]["RS"]}
    monkeypatch.setitem(LOSSES, "BO", LOSSES["c3"])
    table = make(ACCURACY, tmp_path, content).sections[-1].parts[1]
    place = table.columns.index("BO (AutoSklearn)")
    assert [[row[1].text, row[place].text] for row in table.rows] == [
        ["wine", "0.800 (0.993, 0.993)"],
        ["adult", "0.700 (0.831, 0.829)"],
    ]


def test_accuracies_need_the_metric_and_the_search(tmp_path):
    assert "balanced accuracy" in make(ACCURACY, tmp_path / "a", study(metric="error")).reason
    assert "boasf" in make(ACCURACY, tmp_path / "b", study(("TPE", "RS"))).reason
    reason = pages.make(ACCURACY, load(study(), tmp_path / "x"), tmp_path).reason
    assert reason == "no method has finished on a data set"


def test_figure_3_by_hand(tmp_path):
    page = make(GRID, tmp_path, study())
    (section,) = page.sections
    validation, test = (p for p in section.parts if isinstance(p, Table))
    # Best of the others: 0.25 on quake, 0.3 on wind. c3 wins and ties, r3 ties and loses.
    assert test.columns == ["c", "r", "against all", "against TPE", "against RS"]
    assert cells(test) == [
        ["2", "2", "0", "0", "100"],
        ["2", "3", "50", "50", "50"],
        ["3", "2", "100", "100", "100"],
        ["mean", "", "50", "50", "83"],
    ]
    assert cells(validation)[2][2:] == ["100", "100", "100"]
    (panels,) = (p for p in section.parts if isinstance(p, Panels))
    assert "100 % with c = 3, r = 2" in panels.drawings[1][1].alt
    assert (tmp_path / "report/figures/rounds-and-exploration-test.svg").exists()
    assert "Figure 3 of the paper is about hyperparameters of a logistic" in section.parts[2]
    assert section.parts[3] == "Figure 3 of the paper compares with Hyperopt (TPE) alone."


def test_figure_3_is_of_a_logistic_regression_against_hyperopt(tmp_path):
    content = study(("c2", "c3", "r3", "TPE"), space="logistic-regression-hpo")
    (section,) = make(GRID, tmp_path, content).sections
    assert not any("Figure 3" in p for p in section.parts if isinstance(p, str))
    assert next(p for p in section.parts if isinstance(p, Table)).columns[2:] == [
        "against all",
        "against TPE",
    ]


def test_figure_3_needs_settings_and_others(tmp_path):
    assert "differ in boasf's" in make(GRID, tmp_path / "a", study(("c2", "TPE"))).reason
    assert "fewer than two" in make(GRID, tmp_path / "b", study(("c2", "c3"))).reason
