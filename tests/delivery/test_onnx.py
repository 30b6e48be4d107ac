"""Members in the format ONNX: they predict as the pipelines do, or are rejected."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import QuantileTransformer
from sklearn.tree import DecisionTreeClassifier

from ensemble_search.delivery import onnx_export
from ensemble_search.metrics.error import ERROR
from ensemble_search.predictor import members, stored
from ensemble_search.problems.classification import Classification
from ensemble_search.runtime import plugins
from support.fitted_pipelines import pipeline, predictions

pytestmark = pytest.mark.slow


def export(fitted, folder, width, n_classes):
    """Store a pipeline, and convert what is loaded."""
    members.save(fitted, folder)
    return onnx_export.export(stored.load(folder, width, n_classes), width, n_classes)


def data(kind):
    """Rows with two binary columns; the third part is for tests."""
    X, y = (load_breast_cancer if kind == "two classes" else load_wine)(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).integers(0, 2, (len(X), 2))])
    if kind == "regression":
        y = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
        X = X[:, 1:]
    test = np.arange(len(X)) % 3 == 0
    categorical = np.arange(X.shape[1]) >= X.shape[1] - 2
    return X[~test], y[~test], X[test], categorical


#: Hyperparameters that need other conversions.
FORMS = ("kernel", "whiten", "output_distribution", "pooling_func", "weights")


def every_operator(space):
    """Configurations that have every operator, and each of its forms, at least once."""
    seen = set()
    for configuration in space.sample(400, np.random.default_rng(1)):
        names = [k for k in configuration if ":" not in k or k.endswith(FORMS)]
        chosen = {(k, configuration[k]) for k in names}
        if not chosen <= seen:
            seen |= chosen
            yield dict(configuration)


@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression"])
def test_every_operator_of_divbo_predicts_the_same(kind, tmp_path):
    X, y, test, categorical = data(kind)
    task = "regression" if kind == "regression" else "classification"
    space = plugins.load("spaces", "divbo")().for_task(task)
    converted = set()
    for number, values in enumerate(every_operator(space)):
        quick = {k: 5 for k in values if k.endswith(("n_estimators", "n_components"))}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = space.pipeline(values | quick, categorical, 1).fit(X, y)
            expected = predictions(fitted, test)
        except Exception:  # not every pipeline suits these data
            continue
        n_classes = len(np.unique(y)) if task == "classification" else None
        model = export(fitted, tmp_path / str(number), X.shape[1], n_classes)
        found = onnx_export.predict(model, test)
        if values["algorithm"] == "knn" and values["preprocessor"] != "none":
            # Equally far neighbours may be in another order, of some rows.
            same = np.isclose(found, expected, atol=1e-5).all(axis=1)
            assert same.mean() > 0.9, values
        else:
            np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=str(values))
        converted |= {values[stage] for stage in space.stages}
    operators = {operator.name for stage in space.stages.values() for operator in stage}
    assert converted == operators


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression"])
def test_networks_predict_the_same(kind, activation, tmp_path):
    X, y, test, categorical = data(kind)
    task = "regression" if kind == "regression" else "classification"
    space = plugins.load("spaces", "tabular")().for_task(task)
    values = next(v for v in every_operator(space) if v["algorithm"] == "mlp")
    values = values | {"preprocessor": "none", "mlp:activation": activation, "mlp:layers": 2}
    fitted = space.pipeline(values, categorical, 1).fit(X, y)
    n_classes = len(np.unique(y)) if task == "classification" else None
    model = export(fitted, tmp_path, X.shape[1], n_classes)
    found = onnx_export.predict(model, test)
    np.testing.assert_allclose(found, predictions(fitted, test), atol=1e-5)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_at_distance_zero_decide_alone(weights, tmp_path):
    X, y, test, _ = data("three classes")
    rows = np.vstack([X[:5], test])
    for kind in (KNeighborsClassifier, KNeighborsRegressor):
        made = pipeline(kind(7, weights=weights).fit(X, y))
        classes = 3 if kind is KNeighborsClassifier else None
        model = export(made, tmp_path / kind.__name__, X.shape[1], classes)
        found = onnx_export.predict(model, rows)
        np.testing.assert_allclose(found, predictions(made, rows), atol=1e-9)


@pytest.mark.parametrize("output", ["uniform", "normal"])
def test_quantiles_with_repeated_values_and_rows_outside(output, tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 300), rng.normal(size=300), np.full(300, 2.0)])
    step = QuantileTransformer(n_quantiles=40, output_distribution=output).fit(X)
    wide = np.vstack([X, X - 3, X + 3, step.quantiles_, step.quantiles_ + 5e-8])
    learner = Ridge().fit(wide, wide[:, 0])
    learner.coef_, learner.intercept_ = np.array([1.0, 10.0, 100.0]), np.zeros(1)
    made = pipeline(learner, step)
    found = onnx_export.predict(export(made, tmp_path, 3, None), wide)
    np.testing.assert_allclose(found[:, 0], step.transform(wide) @ [1, 10, 100], atol=1e-8)


def test_what_cannot_be_converted_is_rejected(tmp_path):
    X, y, _, _ = data("three classes")
    with pytest.raises(onnx_export.NotConvertible, match="has not seen all classes"):
        export(pipeline(GaussianNB().fit(X, np.minimum(y, 1))), tmp_path, X.shape[1], 3)
    with pytest.raises(onnx_export.NotConvertible, match="Manhattan"):
        export(pipeline(KNeighborsClassifier(p=1).fit(X, y)), tmp_path, X.shape[1], 3)


def test_a_model_that_differs_is_rejected(tmp_path):
    X, y, test, _ = data("three classes")
    problem, made = Classification(ERROR), pipeline(DecisionTreeClassifier().fit(X, y))
    model = export(made, tmp_path, X.shape[1], 3)
    expected = problem.compress(predictions(made, test))
    assert onnx_export.check(model, test, expected, problem) < 1e-7
    expected[3, 0] += 2e-5
    with pytest.raises(onnx_export.NotConvertible, match="differ by up to 2e-05"):
        onnx_export.check(model, test, expected, problem)
    expected[3, 0] = np.nan
    with pytest.raises(onnx_export.NotConvertible, match="nan"):
        onnx_export.check(model, test, expected, problem)
    with pytest.raises(onnx_export.NotConvertible):
        onnx_export.check(b"no model", test, expected, problem)
