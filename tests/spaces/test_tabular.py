"""The space of `make ensemble`: its networks, which `divbo` lacks, and its booster."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1, make_moons
from sklearn.metrics import log_loss

from ensemble_search.runtime import plugins
from ensemble_search.study import short

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning"),
]

TASKS = "classification", "regression"


def space_of(task):
    return plugins.load("spaces", "tabular")().for_task(task)


def data(task):
    """400 rows to train on, 200 others; the last two features are noise with large values."""
    if task == "classification":
        X, y = make_moons(600, noise=0.15, random_state=0)
    else:
        X, y = make_friedman1(600, 5, random_state=0)
        y = (y - y.mean()) / y.std()
    X = np.hstack([X, 1000 * np.random.default_rng(0).normal(size=(600, 2))])
    return X[:400], y[:400], X[400:], y[400:]


def default(space, algorithm):
    """The default configuration of an algorithm."""
    alone = space.restricted({"algorithm": algorithm})
    (row,) = alone.at(alone.compose(lambda i: space.columns[i].default)[None])
    return dict(row)


def network(task, **changed):
    """A pipeline with a network."""
    space = space_of(task)
    values = default(space, "mlp") | {f"mlp:{key}": value for key, value in changed.items()}
    return space.pipeline(values, np.zeros(data(task)[0].shape[1], dtype=bool), 1)


@pytest.mark.parametrize("task", TASKS)
def test_it_is_divbo_with_networks(task):
    ours, paper = space_of(task), plugins.load("spaces", "divbo")().for_task(task)
    assert [*ours.algorithms] == [*paper.algorithms, "mlp"]
    for stage in ("rescaler", "preprocessor"):
        assert {o.name for o in ours.stages[stage]} == {o.name for o in paper.stages[stage]}
    assert default(ours, "knn")["rescaler"] == "robust"
    assert short.ALGORITHMS[task] == len(ours.algorithms)
    assert ours.name == short.SPACE


@pytest.mark.parametrize("stops_by", ["validation", "training"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("task", TASKS)
def test_networks_learn_from_columns_of_different_scales(task, activation, stops_by):
    X, y, others, right = data(task)
    settings = {"activation": activation, "stops_by": stops_by, "layers": 2, "learning_rate": 0.01}
    fitted = network(task, **settings).fit(X, y)
    if task == "classification":
        assert np.mean(fitted.predict_proba(others).argmax(axis=1) == right) > 0.85
    else:
        assert np.mean((fitted.predict(others) - right) ** 2) < 0.3


@pytest.mark.parametrize("task", TASKS)
def test_the_scale_of_the_features_changes_nothing(task):
    X, y, others, _ = data(task)
    method = "predict" if task == "regression" else "predict_proba"
    one = getattr(network(task).fit(X, y), method)(others)
    other = getattr(network(task).fit(1024 * X, y), method)(1024 * others)
    np.testing.assert_array_equal(one, other)


def test_the_booster_begins_with_fewer_leaves_than_the_papers():
    """On labels a quarter of which are noise, the paper's default is far too sure."""
    X, y = make_classification(800, flip_y=0.5, random_state=0)
    losses = {}
    for name in ("tabular", "divbo"):
        space = plugins.load("spaces", name)()
        made = space.pipeline(default(space, "lightgbm"), np.zeros(20, dtype=bool), 1)
        fitted = made.fit(X[:400], y[:400])
        losses[name] = log_loss(y[400:], fitted.predict_proba(X[400:]))
    assert losses["tabular"] < 0.8 * losses["divbo"]


def test_a_rare_class_does_not_prevent_the_fit():
    X, y, *_ = data("classification")
    y = y.copy()
    y[0] = 2  # no stratified division has it in both parts
    assert network("classification").fit(X, y).predict_proba(X).shape == (len(X), 3)


def test_weights_reach_the_network():
    X, y, others, _ = data("classification")
    weights = np.where(y == 1, 5.0, 1.0)
    plain = network("classification").fit(X, y).predict_proba(others)[:, 1]
    assert network("classification").fit(X, y, weights).predict_proba(others)[:, 1].mean() > (
        plain.mean() + 0.02
    )
