"""Pipelines for regression: every operator predicts, with the same bits each time."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.feature_selection import SelectPercentile, f_regression
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemble_search.learners.regressors import lightgbm_regressor
from ensemble_search.spaces.divbo import Divbo
from ensemble_search.spaces.divbo_small import DivboSmall

SPACE = Divbo().for_task("regression")
SMALL = DivboSmall().for_task("regression")
OPERATORS = [(stage, o.name) for stage in SPACE.stages for o in SPACE.stages[stage]]
CATEGORICAL = np.arange(11) >= 9

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning"),
]


def friedman():
    """150 rows to train on, 100 others; nine numbers, five of which matter, and two flags."""
    X, y = make_friedman1(250, 9, noise=0.5, random_state=0)
    flags = np.random.default_rng(0).integers(0, 2, (250, 2))
    y += 3 * flags[:, 0]
    y = (y - y[:150].mean()) / y[:150].std()
    X = np.hstack([X, flags])
    return X[:150], y[:150], X[150:], y[150:]


def standard(**changed):
    """Values by name: standardised columns and a ridge regression; of all others the defaults."""
    chosen = {"rescaler": "standard", "preprocessor": "none", "algorithm": "ridge"} | changed
    values = {}
    for stage, operators in SPACE.stages.items():
        o = next(o for o in operators if o.name == chosen[stage])
        own = o.space().get_default_configuration()
        values |= {f"{o.name}:{name}": value for name, value in own.items()}
    return values | chosen


def predictions(values, space=SPACE, threads=1):
    X, y, others, _ = friedman()
    predicted = space.pipeline(values, CATEGORICAL, threads).fit(X, y).predict(others)
    assert (predicted.shape, predicted.dtype) == ((100,), np.float64)
    return predicted


def explained(predicted):
    """Share of the variance that predictions explain."""
    *_, y = friedman()
    return 1 - np.mean((predicted - y) ** 2) / np.var(y)


@pytest.mark.parametrize(("stage", "name"), OPERATORS)
def test_every_operator_predicts_at_its_defaults(stage, name):
    values = standard(**{stage: name})
    if name in ("kernel_pca", "kitchen_sinks"):  # gamma is 1 by default, too much for 11 columns
        values[f"{name}:gamma"] = 0.01
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning):  # nothing deprecated is used
            warnings.simplefilter("error", category)
        predicted = predictions(SPACE.configuration(values))
    assert explained(predicted) > (0.2 if name == "knn" else 0.5)


@pytest.mark.parametrize(("stage", "name"), OPERATORS)
def test_every_operator_predicts_at_random_values(stage, name):
    fixed = {stage: name} if stage == "algorithm" else {stage: name, "algorithm": "ridge"}
    fixed = {"rescaler": "standard", "preprocessor": "none"} | fixed
    for c in SPACE.sample(4, np.random.default_rng(0), fixed):
        assert np.isfinite(predictions(c)).all(), c


def test_random_configurations_finish():
    drawn = SMALL.sample(100, np.random.default_rng(0))
    assert all(np.isfinite(predictions(c, SMALL)).all() for c in drawn)


@pytest.mark.parametrize("name", [n for s, n in OPERATORS if s == "algorithm" and n != "lightgbm"])
def test_results_depend_on_the_configuration_alone(name):
    selection = "extra_trees_selector" if name == "random_forest" else "select_percentile"
    values = standard(preprocessor=selection, algorithm=name)
    if selection == "select_percentile":
        values["select_percentile:score_func"] = "mutual_info"
    made = set()
    for threads in (1, 1, 2):
        np.random.seed(len(made) + threads)
        made.add(predictions(values, threads=threads).tobytes())
    assert len(made) == 1


def test_lightgbm_does_not_depend_on_threads():
    """Few trees, because its threads spin on a busy machine."""
    X, y = make_friedman1(2000, 20, noise=1.0, random_state=0)
    arguments = {"n_estimators": 10, "subsample": 0.7, "subsample_freq": 1}
    one, two = (lightgbm_regressor(n, **arguments).fit(X, y).predict(X) for n in (1, 2))
    assert one.tobytes() == two.tobytes()
    assert np.var(y - one) < 0.5 * np.var(y)
    # Sums by rows would depend on them, if only on many rows.
    promised = {"deterministic": True, "force_col_wise": True}
    assert promised.items() <= lightgbm_regressor(2).get_params().items()


@pytest.mark.parametrize("name", ["random_forest", "extra_trees"])
def test_forests_add_up_their_trees_in_order(name):
    X, y, *_ = friedman()
    pipeline = SPACE.pipeline(standard(algorithm=name), CATEGORICAL, threads=2)
    assert pipeline.fit(X, y).learner_.n_jobs == 1


def test_a_pipeline_by_hand():
    X, y, others, _ = friedman()
    values = {
        "rescaler": "standard",
        "preprocessor": "select_percentile",
        "select_percentile:percentile": 40.0,
        "select_percentile:score_func": "f_regression",
        "algorithm": "ridge",
        "ridge:alpha": 0.3,
    }
    pipeline = SMALL.pipeline(SMALL.configuration(values), CATEGORICAL, 1).fit(X, y)
    theirs = make_pipeline(
        StandardScaler(), SelectPercentile(f_regression, percentile=40.0), Ridge(alpha=0.3)
    ).fit(X, y)
    np.testing.assert_allclose(pipeline.predict(others), theirs.predict(others), rtol=1e-10)
    assert not hasattr(pipeline, "classes_")
    assert not hasattr(pipeline.learner_, "predict_proba")


def test_the_number_of_neighbours_is_clipped_to_the_data():
    X, y, others, _ = friedman()
    values = standard(algorithm="knn") | {"knn:n_neighbors": 100}
    pipeline = SPACE.pipeline(values, CATEGORICAL, 1).fit(X[:20], y[:20])
    np.testing.assert_allclose(pipeline.predict(others), y[:20].mean())
