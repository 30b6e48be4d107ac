"""The page on parts of the training rows."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import load
from ensemble_search.report import write
from ensemble_search.report.pages import learning_curves
from ensemble_search.runtime.files import read_json, write_json
from support import made_results as made
from support.html_page import text_of

pytestmark = pytest.mark.slow

SHARES = (0.1, 0.5)
KINDS = {
    "uniform": {"by": "uniform"},
    "product": {"by": "k-dpp", "kernel": "product"},
}
NAMES = [f"quake-{share}-{kind}" for share in SHARES for kind in KINDS]


def errors(method: str, dataset: str, repeat: int):
    """0.4 at a tenth, 0.2 at a half, less 0.05 for the k-DPP, and 0.01 more in each repeat."""
    level = {"0.1": 0.4, "0.5": 0.2}.get(dataset.split("-")[-2], 0.1) if "-" in dataset else 0.1
    if dataset.endswith("product"):
        level -= 0.05 + 0.02 * repeat
    return [level] * 8, [level + 0.01 * repeat] * 8


@pytest.fixture
def study(tmp_path):
    content = made.study(("RS", "RS-ES"), ["quake", *NAMES, "wind"], repeats=2)
    content["sources"] = {name: {"openml": 772} for name in content["datasets"]}
    content["sources"]["wind"] = {"openml": 847}
    parts = [{"share": share, **kind} for share in SHARES for kind in KINDS.values()]
    content["train_rows"] = dict(zip(NAMES, parts, strict=True))
    made.write(tmp_path, content, errors)
    for name, part in content["train_rows"].items():
        set_part(tmp_path, name, part)
    return content, tmp_path


def set_part(results, name: str, part: dict) -> None:
    """Write that a split has this part of the training rows, and as many as its share."""
    made.write_split(results, name)
    path = results / f"splits/{name}/fixed/split.json"
    split = read_json(path)
    split["settings"]["train_rows"] = part
    counts = split["classes"]["train"]
    split["classes"]["train"] = {c: round(n * part["share"]) for c, n in counts.items()}
    write_json(path, split)


def page(content, results) -> str:
    assert write.write(content, results, results / "report") == []
    return text_of(results / "report/pages/learning-curves.html")


def test_the_table_and_the_figures(study):
    content, results = study
    text = page(content, results)
    for name in ("index.html", "pages/over-data-sets.html"):
        whole = text_of(results / "report" / name)
        assert (
            f"6 data sets come from only 2 sources, with the same test rows (quake, {NAMES[0]}"
            in whole
        )
    table = pd.read_csv(results / "report/tables/learning-curves-learning-curves.csv")
    assert set(table["source"]) == {"quake"}
    assert len(table) == 2 * 5
    rs = table[table["method"] == "RS"].set_index(["chosen", "share"])
    dpp = "k-DPP, product"
    assert rs.loc[("uniform", 0.1), "mean"] == pytest.approx(0.405)
    assert rs.loc[("all rows", 1.0), "mean"] == pytest.approx(0.105)
    assert rs.loc[(dpp, 0.5), "mean"] == pytest.approx(0.145)
    # -0.05 and -0.07: the mean, and their standard deviation over the square root of 2
    assert rs.loc[(dpp, 0.5), "difference"] == pytest.approx(-0.06)
    assert rs.loc[(dpp, 0.5), "se"] == pytest.approx(0.01)
    assert np.isnan(rs.loc[("uniform", 0.1), "difference"])
    assert "−6.00 ± 1.00" in text
    figures = {path.name for path in (results / "report/figures").glob("learning-curves-*.svg")}
    assert figures == {"learning-curves-quake-RS.svg", "learning-curves-quake-RS-ES.svg"}


def test_points_of_a_single_share_stand_side_by_side(study):
    content, results = study
    names = [name for name in NAMES if "0.1" in name]
    content = {**content, "train_rows": {n: content["train_rows"][n] for n in names}}
    found = learning_curves.summary(learning_curves.curves(load.load(content, results)))
    found = found[found["method"] == "RS"]
    look = {name: {} for name in found["chosen"].unique() if name != learning_curves.ALL}
    losses = load.load(content, results).losses
    (axes,) = learning_curves._lines(found, look, losses).axes
    points = [container.lines[0].get_xydata()[0] for container in axes.containers]
    assert [y for _, y in points] == pytest.approx([40.5, 34.5])
    rows = found.loc[found["chosen"] != learning_curves.ALL, "rows"].unique()
    assert points[0][0] < rows[0] < points[1][0]
    # Another size in the same panel moves neither.
    other = found.iloc[[1]].assign(chosen="stratified", rows=10 * rows[0], share=0.7)
    found = pd.concat([other, found])
    (axes,) = learning_curves._lines(found, {"stratified": {}, **look}, losses).axes
    moved = [container.lines[0].get_xydata()[0] for container in axes.containers]
    assert np.array(moved[1:]) == pytest.approx(np.array(points))
    assert moved[0][0] == pytest.approx(10 * rows[0])


def test_the_same_part_twice_is_one_and_differences_are_of_equal_rows(study):
    content, results = study
    parts = content["train_rows"]
    product = NAMES[1]
    parts[product] = {"share": 0.1001, "by": "k-dpp"}
    parts[NAMES[3]] = {**parts[product], "kernel": "product"}
    for name in (product, NAMES[3]):
        set_part(results, name, parts[name])
    found = learning_curves.summary(learning_curves.curves(load.load(content, results)))
    found = found[(found["method"] == "RS") & (found["share"] == 0.1001)]
    # The default kernel is product, so that both are the same; 0.1001 of the rows are as many.
    assert found["chosen"].tolist() == ["k-DPP, product"]
    assert found["repeats"].tolist() == [2]
    assert found["mean"].tolist() == pytest.approx([0.345])
    assert found["difference"].tolist() == pytest.approx([-0.06])
    assert learning_curves.described(parts[product], "regression") == "k-DPP, features"


def test_studies_without_parts_have_no_such_page(study):
    content, results = study
    for parts, reason in (
        ({}, "uses all"),
        ({NAMES[0]: content["train_rows"][NAMES[0]]}, "no two"),
    ):
        content["train_rows"] = parts
        assert reason in learning_curves.build(load.load(content, results), None)
