"""The graph of a whole ensemble: raw rows in, labels, probabilities or numbers out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_search.data.preparation import DATE_PARTS, Categories, Numbers, Preparation, Texts
from ensemble_search.delivery import onnx_ensemble, onnx_export
from ensemble_search.predictor import members, stored
from ensemble_search.predictor.ensemble import DeliveredClassifier, DeliveredRegressor
from support import ROOT, markdown
from support.fitted_pipelines import pipeline

pytestmark = pytest.mark.slow

PREPARATION = Preparation(
    [
        Numbers("size (cm)", "numeric", {"size (cm)": 1.5}),
        Numbers("new", "boolean", {"new": 1.0}),
        Categories("colour", ["blue", "red", "NA"], ["green", "null"], "red"),
        Categories("label", ["x", "y"], ["z"], "z"),
        Categories("code", ["1", "2", "30"], ["7"], "1"),
        Numbers("day", "date", {f"day.{part}": 2.0 for part in DATE_PARTS}),
    ],
    ["day", "code", "label", "colour", "new", "size (cm)"],
)
EXAMPLE = next(
    block
    for block in markdown.blocks((ROOT / "docs/deliver.md").read_text("utf-8"), "python")
    if "onnxruntime" in block
)


def frame(n=300):
    """Rows as a user has them, with missing and unknown values."""
    rng = np.random.default_rng(0)
    days = pd.to_datetime(rng.integers(-3e18, 3e18, n)).astype("datetime64[us]").to_series()
    odd = [None, "2000-02-29T23:59:59.999999", "1900-03-01", "1600-12-31"]
    days.iloc[:4] = np.array(odd, "M8[us]")
    return pd.DataFrame({
        "size (cm)": rng.choice([1.0, 2.5, np.nan, 1e39, np.inf, -3.0], n),
        "new": rng.choice([True, False], n),
        "colour": rng.choice(["red", "blue", "green", "NA", "other", None, "null", "?"], n),
        "label": rng.choice(["x", "y", "z", ""], n),
        "code": rng.choice([1, 2, 30, 7, 99, np.nan], n),  # of floats, as pandas reads them
        "day": days.to_numpy(),
    })  # fmt: skip


def ensemble(kind, folder):
    """Two members of raw rows."""
    X = PREPARATION.transform(frame())[0]
    n = {"two": 2, "three": 3, "votes": 3}.get(kind)
    rng = np.random.default_rng(1)
    target = X[:, 0] + X[:, 2] + (X[:, -3] > 3) + 0.1 * rng.normal(size=len(X))
    y = target if n is None else np.argsort(np.argsort(target)) * n // len(target)
    kinds = (DecisionTreeRegressor(max_depth=4), Ridge())
    if n:
        kinds = (DecisionTreeClassifier(max_depth=4), GaussianNB())
    loaded, models = [], []
    for number, learner in enumerate(kinds):
        members.save(pipeline(learner.fit(X, y)), folder / str(number))
        loaded.append(stored.load(folder / str(number), X.shape[1], n))
        models.append(onnx_export.export(loaded[-1], X.shape[1], n))
    weights = [0.4, 0.6]
    manifest = {
        "task": "regression" if n is None else "classification", "target": "t",
        "combination": "votes" if kind == "votes" else "mean",
        "members": [{"evaluation": 1}, {"evaluation": 2}],
    }  # fmt: skip
    if n is None:
        manifest |= {"mean": 100.0, "std": 5.0}
        return DeliveredRegressor(manifest, PREPARATION, loaded, weights), models
    manifest |= {"classes": ["p", "q", "r"][:n], "temperature": 1.0 if kind == "votes" else 1.7}
    return DeliveredClassifier(manifest, PREPARATION, loaded, weights), models


@pytest.mark.parametrize("kind", ["two", "three", "votes", "regression"])
def test_raw_rows_are_predicted_as_by_the_ensemble(kind, tmp_path, monkeypatch):
    made, models = ensemble(kind, tmp_path)
    model = onnx_ensemble.export(made, models)
    X = PREPARATION.transform(frame())[0]
    assert onnx_ensemble.check(model, made, X) < 1e-6
    (tmp_path / "ensemble.onnx").write_bytes(model)
    monkeypatch.chdir(tmp_path)
    # As the documentation does it.
    rows = frame()
    if kind == "regression":  # the line predicts more than 1024 standard deviations there
        rows.loc[5:6, "size (cm)"] = [1e6, -1e9]
    names = {"frame": rows}
    exec(EXAMPLE.replace('"folder/', '"'), names)
    found = names["found"]
    if kind == "regression":
        assert list(found) == ["value"]
        predicted = made.predict(rows)
        assert predicted[5] == pytest.approx(100 + 5 * 0.6 * 1024, abs=20)
        np.testing.assert_allclose(found["value"][:, 0], predicted, rtol=1e-6)
    else:
        assert list(found) == ["label_", "probabilities"]  # a column is called label
        np.testing.assert_allclose(found["probabilities"], made.predict_proba(frame()), atol=1e-6)
        assert found["label_"].tolist() == made.predict(frame()).tolist()


def test_what_has_no_counterpart_is_listed(tmp_path):
    odd = [
        Texts("note", ["a"], [1.0]),
        Numbers("/x", "numeric", {"/x": 0.0}),
        PREPARATION.columns[0],
    ]
    text, name = onnx_ensemble.impossible(Preparation(odd, ["note", "/x", "size (cm)"]))
    assert text.startswith("column 'note' is text") and "{drop: [note]}" in text
    assert "'/x'" in name
    made, models = ensemble("two", tmp_path)
    made.preparation = Preparation(odd, ["note", "/x", "size (cm)"])
    with pytest.raises(onnx_export.NotConvertible, match=r"column 'note' is text.*; .*'/x'"):
        onnx_ensemble.export(made, models)


def test_a_graph_that_differs_is_rejected(tmp_path):
    made, models = ensemble("two", tmp_path)
    model, X = onnx_ensemble.export(made, models), PREPARATION.transform(frame())[0]
    made._temperature = 1.3
    with pytest.raises(onnx_export.NotConvertible, match="differ by up to"):
        onnx_ensemble.check(model, made, X)
    with pytest.raises(onnx_export.NotConvertible):
        onnx_ensemble.check(b"no model", made, X)
