"""The page on the diversity of ensembles' members, from numbers that a test gives."""

import json
import shutil

import pandas as pd
import pytest

from ensemble_search.analysis import load
from ensemble_search.problems.member_diversity import DECOMPOSITIONS, MEASURES
from ensemble_search.report import build
from ensemble_search.report.pages import ensemble_diversity
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import write_json
from support import made_results as made

pytestmark = pytest.mark.slow

LEVELS = {"RS": 0.6, "RS-ES": 0.4, "DivBO": 0.2}


def values(method: str, part: str, regression: bool) -> dict:
    """Each measure of DivBO is half of that of RS-ES, and less on the test rows; RS votes."""
    level = LEVELS[method] - (0.1 if part == "test" else 0)
    names = () if regression else MEASURES
    found = {name: level + place / 1000 for place, name in enumerate(names)}
    if method != "RS":
        found |= {name: level / 2 + place / 1000 for place, name in enumerate(DECOMPOSITIONS)}
    return found


def write_measures(folder, method, regression=False, iteration=8, **more):
    parts = {p: values(method, p, regression) | more for p in ("validation", "test")}
    about = {"settings": {}, "search": {}, "diversity": {"iteration": iteration, **parts}}
    write_json(folder / "ensemble.json", about)


def folders(results, content, method):
    parts = content["methods"][method]
    pattern = f"ensembles/*/{parts['search']}/{parts['ensemble']}/*"
    return sorted(results.glob(pattern))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    content = made.study(repeats=2)
    made.write(folder, content, lambda method, *_: ([LEVELS[method]] * 8,) * 2)
    for method in LEVELS:
        for ensemble in folders(folder, content, method):
            write_measures(ensemble, method)
    return content, folder


@pytest.fixture
def study(finished, tmp_path):
    content, folder = finished
    return content, shutil.copytree(folder, tmp_path / "made")


def page(content: dict, results) -> str:
    """Make the page alone; its paragraphs, or why there is none."""
    made = build.make(ensemble_diversity.__name__, load.load(content, results), results / "report")
    assert not made.error
    parts = [part for section in made.sections for part in section.parts]
    return made.reason or " ".join(part for part in parts if isinstance(part, str))


def rows(results, name: str) -> dict[str, list[str]]:
    """Cells of a table in LaTeX, by the first one."""
    text = (results / f"report/tables/ensemble-diversity-{name}.tex").read_text()
    lines = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if " & " in line]
    return {first.strip(): rest for first, *rest in lines}


def test_the_titles_are_those_of_all_measures():
    assert tuple(ensemble_diversity.MEASURES) == MEASURES
    assert set(ensemble_diversity.TERMS) == set(DECOMPOSITIONS)


def test_the_tables(study):
    content, results = study
    text = page(content, results)
    found = rows(results, "measures-test")
    assert found["disagreement"] == ["higher", r"\textbf{0.500}", "0.300", "0.100"]
    assert found["Q statistic"] == ["lower", "0.501", "0.301", r"\textbf{0.101}"]
    assert found["coincident failure diversity"][1] == r"\textbf{0.510}"
    assert rows(results, "measures-validation")["disagreement"][2] == "0.400"
    found = rows(results, "terms-test")
    assert found["DivBO"] == [
        *("0.0510", "0.0520", r"\textbf{0.0500}", "0.0530", "0.0540", "0.0550")
    ]
    assert "RS" not in found, "it votes"
    assert rows(results, "ambiguity-by-data-set")["quake"] == ["0.152", "0.052"]
    assert rows(results, "disagreement-by-data-set")["wind"] == ["0.500", "0.300", "0.100"]
    data = pd.read_csv(results / "report/tables/ensemble-diversity-measures-validation.csv")
    assert len(data) == 3 * 2 * 2 and set(data["part"]) == {"validation"}
    assert data.loc[data["method"] == "RS-ES", "kw_variance"].tolist() == [0.405] * 4
    assert "vote or feed another model have none" in text
    assert "ensembles are left out:" not in text


def test_ensembles_of_single_members_do_not_count(study):
    content, results = study
    nothing = dict.fromkeys(MEASURES)
    write_measures(folders(results, content, "DivBO")[0], "DivBO", **nothing)
    page(content, results)
    assert rows(results, "measures-test")["disagreement"][3] == "0.100"
    data = pd.read_csv(results / "report/tables/ensemble-diversity-measures-test.csv")
    assert data["kappa"].isna().sum() == 1 and "loss" not in data
    data = pd.read_csv(results / "report/tables/ensemble-diversity-terms-test.csv")
    assert data["loss"].isna().sum() == 4 and "kappa" not in data


@pytest.mark.parametrize("older", [True, False])
def test_ensembles_without_measures_are_counted(study, older):
    content, results = study
    first, second, *_ = folders(results, content, "DivBO")
    (first / "ensemble.json").unlink()
    if older:
        write_json(second / "ensemble.json", {"settings": {}, "search": {}})
    else:
        write_measures(second, "DivBO", iteration=9, disagreement=0.9)
    text = page(content, results)
    assert "2 of 12 ensembles are left out:" in text
    assert rows(results, "measures-test")["disagreement"][3] == "0.100"


def test_runs_without_a_model_are_not_left_out_as_older(tmp_path):
    content = made.study(repeats=2)
    nothing = [float("nan")] * 8
    made.write(tmp_path, content, lambda m, d, r: (nothing if r else [LEVELS[m]] * 8,) * 2)
    assert "left out" not in page(content, tmp_path).replace("and are left out", "")
    results = load.load(content, tmp_path)
    found = ensemble_diversity.table(results, results.compared)
    assert set(found["repeat"]) == {0} and found["measured"].all()


def test_results_of_older_versions_have_no_page(study):
    content, results = study
    for path in results.glob("ensembles/*/*/*/*/ensemble.json"):
        path.unlink()
    assert page(content, results).startswith("the ensembles were built by an older version, which")
    assert not (results / "report/tables").exists()


def test_a_regression_has_decompositions_only(tmp_path):
    content = made.study(repeats=1, datasets=["quake"]) | {"metric": "squared-error"}
    made.write(tmp_path, content, lambda method, *_: ([LEVELS[method]] * 8,) * 2)
    for method in LEVELS:
        for folder in folders(tmp_path, content, method):
            write_measures(folder, method, regression=True)
    text = page(content, tmp_path)
    assert "The squared error of a weighted mean" in text and "Kuncheva" not in text
    assert rows(tmp_path, "terms-validation")["RS-ES"][2] == "0.2000"
    names = {path.stem for path in (tmp_path / "report/tables").glob("ensemble-diversity-*.csv")}
    assert names == {
        f"ensemble-diversity-{name}"
        for name in ("terms-test", "terms-validation", "ambiguity-by-data-set")
    }


def test_a_damaged_file_ends_the_report(study):
    content, results = study
    path = folders(results, content, "DivBO")[0] / "ensemble.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["diversity"]["test"]["kappa"] = "high"
    write_json(path, manifest)
    with pytest.raises(UserError, match=rf"cannot read '{path}': diversity.test.kappa") as caught:
        page(content, results)
    assert "\n" not in str(caught.value)
