"""The learners of the ESMBO paper: what they are given, on data of all kinds."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor

from ensemble_search.learners import esmbo
from ensemble_search.learners.huber_boosting import HuberBoosting
from ensemble_search.learners.operators import Data
from ensemble_search.runtime import plugins

pytestmark = pytest.mark.slow

FORMS = [
    (name, task)
    for name in ("svm", "svr", "random-forest", "gradient-boosting", "mlp")
    for task in plugins.load("spaces", name).tasks
]
CLASSIFICATION = [name for name, task in FORMS if task == "classification"]


def form(name, task):
    return plugins.load("spaces", name)().for_task(task)


def rows(task, n_classes=2):
    """120 rows to train on, 60 others; labels do not start at 0, columns have any scale."""
    if task == "regression":
        X, y = load_diabetes(return_X_y=True)
        y = (y - y.mean()) / y.std()
    else:
        X, y = (load_breast_cancer if n_classes == 2 else load_wine)(return_X_y=True)
        y = 2 * y + 5
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    return X[:120], y[:120], X[120:178], y[120:178]


def fitted(space, values, X, y, threads=1):
    categorical = np.zeros(X.shape[1], dtype=bool)
    return space.pipeline(values, categorical, threads).fit(X, y)


def defaults(space, **changed):
    return space.configuration(dict(space.configspace.get_default_configuration()) | changed)


def given(space, X=None, **changed):
    """The estimator of the default values, some of them changed."""
    X = np.zeros((50, 20)) if X is None else X
    data = Data(X, np.arange(len(X)) % 3, np.zeros(X.shape[1], bool), threads=2)
    return space.operator.build(defaults(space, **changed), data)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classifiers_fit(name, n_classes):
    X, y, others, labels = rows("classification", n_classes)
    space = form(name, "classification")
    model = fitted(space, defaults(space), X, y)
    assert model.classes_.tolist() == [5, 7, 9][:n_classes]
    predicted = model.classes_[model.predict_proba(others).argmax(axis=1)]
    assert np.mean(predicted == labels) > 0.85
    for c in space.sample(6, np.random.default_rng(0)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            warnings.simplefilter("error", FutureWarning)
            probabilities = fitted(space, c, X, y).predict_proba(others)
        assert probabilities.shape == (58, n_classes)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("name", [name for name, task in FORMS if task == "regression"])
def test_regressors_fit(name):
    X, y, others, targets = rows("regression")
    space = form(name, "regression")
    predicted = fitted(space, defaults(space), X, y).predict(others)
    assert 1 - np.mean((predicted - targets) ** 2) / np.var(targets) > 0.2
    for c in space.sample(6, np.random.default_rng(0)):
        predicted = fitted(space, c, X, y).predict(others)
        assert predicted.shape == (58,)
        assert np.isfinite(predicted).all()


@pytest.mark.parametrize(("name", "task"), FORMS)
def test_fits_depend_on_the_configuration_alone(name, task):
    X, y, others, _ = rows(task)
    space = form(name, task)
    ratio = {"max_features": 0.3} if "max_features" in space.index else {}
    made = set()
    for threads in (1, 1, 2):
        np.random.seed(len(made) + threads)
        before = np.random.get_state()[1].tobytes()
        model = fitted(space, defaults(space, **ratio), X, y, threads)
        assert np.random.get_state()[1].tobytes() == before
        method = model.predict if task == "regression" else model.predict_proba
        made.add(method(others).tobytes())
    assert len(made) == 1


@pytest.mark.parametrize(("name", "task"), FORMS)
def test_only_trees_see_the_features_as_they_are(name, task):
    """Others standardise them by the training rows."""
    X, y, others, _ = rows(task)
    space = form(name, task)
    values = defaults(space)
    scales = 2.0 ** np.arange(X.shape[1])  # the order of the values stays, and so do all splits
    method = "predict" if task == "regression" else "predict_proba"
    one, two = (getattr(fitted(space, values, X * s, y), method)(others * s) for s in (1.0, scales))
    np.testing.assert_allclose(one, two, atol=1e-4)
    trees = name in ("random-forest", "gradient-boosting")
    model = fitted(space, values, X, y)
    assert [step for step, _ in model.transformers_] == ([] if trees else ["standard"])
    for _, scaler in model.transformers_:
        np.testing.assert_allclose(scaler.mean_, X.mean(axis=0))


def test_forests():
    for task, kind in (("classification", "Classifier"), ("regression", "Regressor")):
        space = form("random-forest", task)
        for trees, name in (("random_forest", "RandomForest"), ("extra_trees", "ExtraTrees")):
            for bootstrap in (True, False):
                model = given(space, trees=trees, bootstrap=bootstrap, max_features=0.33)
                assert type(model).__name__ == name + kind
                assert (model.n_estimators, model.bootstrap) == (100, bootstrap)
                assert (model.max_features, model.n_jobs) == (7, 2)  # 6.6 of 20


@pytest.mark.parametrize(
    ("ratio", "n_features", "expected"),
    [(1e-4, 1, 1), (1e-4, 100, 1), (1.0, 1, 1), (1.0, 7, 7), (0.51, 3, 2), (0.25, 30, 8)],
)
def test_a_split_tries_at_least_one_feature(ratio, n_features, expected):
    assert esmbo.number_of_features(ratio, n_features) == expected


@pytest.mark.parametrize(("name", "task"), FORMS)
def test_data_of_one_column(name, task):
    X, y, others, _ = rows(task)
    space = form(name, task)
    least = {n: h.lower for n, h in space.configspace.items() if n == "max_features"}
    model = fitted(space, defaults(space, **least), X[:, 2:3], y)
    method = model.predict if task == "regression" else model.predict_proba
    assert np.ptp(method(others[:, 2:3]), axis=0).min() > 0.3


def test_boosting_for_classification():
    space = form("gradient-boosting", "classification")
    model = given(space, max_depth=15, learning_rate=0.02, max_features=0.001)
    assert (model.n_estimators, model.max_depth, model.max_features) == (100, 15, 1)
    assert (model.learning_rate, model.loss) == (0.02, "log_loss")


def test_boosting_for_regression():
    space = form("gradient-boosting", "regression")
    model = given(space, max_depth=15, learning_rate=0.02, alpha=0.7)
    assert (model.n_estimators, model.max_depth, model.max_features) == (100, 15, None)
    assert (model.learning_rate, model.loss, model.alpha) == (0.02, "huber", 0.7)


@pytest.mark.parametrize("weights", [None, np.ones(120), np.arange(120) % 3])
@pytest.mark.parametrize("alpha", [0.01, 0.9])
@pytest.mark.parametrize("depth", [1, 4, 15])
def test_boosting_with_the_huber_loss_equals_scikit_learns(depth, alpha, weights):
    """Also with leaves of one row or of equal targets, and with weights, some of them 0."""
    X, y, others, _ = rows("regression")
    y = y.round(1)
    settings = {"max_depth": depth, "learning_rate": 0.3, "alpha": alpha, "random_state": 1}
    ours = HuberBoosting(loss="huber", **settings).fit(X, y, weights)
    theirs = GradientBoostingRegressor(loss="huber", **settings).fit(X, y, weights)
    for one, other in zip(ours.estimators_.ravel(), theirs.estimators_.ravel(), strict=True):
        np.testing.assert_array_equal(one.tree_.value, other.tree_.value)
    np.testing.assert_array_equal(ours.predict(others), theirs.predict(others))


@pytest.mark.parametrize("depth", [1, 15])
def test_trees_reach_their_depth(depth):
    """One row apart from all others at every split."""
    X = 2.0 ** np.arange(40)[:, None]
    y = X[:, 0]
    space = form("gradient-boosting", "regression")
    model = fitted(space, defaults(space, max_depth=depth, alpha=1.0), X, y).learner_
    assert max(tree.get_depth() for tree in model.estimators_.ravel()) == depth


@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_bounds_of_alpha(alpha):
    X, y, others, _ = rows("regression")
    space = form("gradient-boosting", "regression")
    model = fitted(space, defaults(space, alpha=alpha), X, y)
    assert np.ptp(model.predict(others)) > 0.3


def test_support_vector_machines():
    machine = given(form("svm", "classification"), C=30.0, gamma=0.002).estimator
    assert (machine.kernel, machine.C, machine.gamma) == ("rbf", 30.0, 0.002)
    assert (machine.max_iter, machine.random_state) == (10_000, 1)
    regression = given(form("svr", "regression"), C=30.0, gamma=0.002, epsilon=0.3)
    assert (regression.kernel, regression.C, regression.gamma) == ("rbf", 30.0, 0.002)
    assert (regression.epsilon, regression.max_iter) == (0.3, 10_000)


def test_the_perceptron():
    units = {"units_1": 7, "units_2": 9}
    penalties = {"penalty_1": 1e-4, "penalty_2": 2.0, "penalty_3": 0.3}
    model = given(form("mlp", "classification"), **units, **penalties)
    assert (model.units, model.penalties) == ((7, 9), (1e-4, 2.0, 0.3))
    assert (model.max_iter, model.random_state) == (200, 1)
