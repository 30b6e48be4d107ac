"""The space of AutoGluon's learners: its domains, its learners, and how boosters stop."""

import warnings
from importlib.metadata import version

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification, make_friedman1

from ensemble_search.learners import autogluon, autogluon_regressors
from ensemble_search.learners.autogluon import EarlyStopping, held_out
from ensemble_search.learners.operators import Data
from ensemble_search.runtime import provenance
from ensemble_search.spaces.autogluon_like import AutogluonLike

pytestmark = pytest.mark.slow

SPACE = AutogluonLike()
REGRESSION = SPACE.for_task("regression")
LEARNERS = {o.name: o for o in autogluon.LEARNERS}
REGRESSORS = {o.name: o for o in autogluon_regressors.LEARNERS}
# lower, upper, default (logarithmic where there is a fourth), or the choices, the default first
DOMAINS = {
    "lightgbm:learning_rate": (5e-3, 0.2, 0.05, "log"),
    "lightgbm:feature_fraction": (0.75, 1.0, 1.0),
    "lightgbm:min_data_in_leaf": (2, 60, 20),
    "lightgbm:num_leaves": (16, 96, 31),
    "lightgbm:extra_trees": [False, True],
    "xgboost:learning_rate": (5e-3, 0.2, 0.03, "log"),
    "xgboost:max_depth": (3, 10, 3),
    "xgboost:min_child_weight": (1, 5, 1),
    "xgboost:gamma": (0.0, 5.0, 0.01),
    "xgboost:subsample": (0.5, 1.0, 1.0),
    "xgboost:colsample_bytree": (0.5, 1.0, 1.0),
    "xgboost:reg_alpha": (0.0, 10.0, 0.0),
    "xgboost:reg_lambda": (0.0, 10.0, 1.0),
    "catboost:learning_rate": (5e-3, 0.2, 0.05, "log"),
    "catboost:depth": (5, 8, 6),
    "catboost:l2_leaf_reg": (1.0, 5.0, 3.0),
    "random_forest:criterion": ["gini", "entropy"],
    "extra_trees:criterion": ["gini", "entropy"],
    "knn:weights": ["uniform", "distance"],
}


def defaults(learner, **changed):
    return dict(learner.space().get_default_configuration()) | changed


def parameters(learner, values):
    """All parameters of a learner, those of what it wraps included."""
    X = np.zeros((100, 3))
    made = learner.build(values, Data(X, np.arange(100) % 3, np.zeros(3, bool)))
    wrapped = made.booster.get_params() if isinstance(made, EarlyStopping) else {}
    both = {**made.get_params(), **wrapped}
    plain = (bool, int, float, str)
    own = {k: repr(v) for k, v in both.items() if isinstance(v, plain)}
    return {k: v for k, v in own.items() if not k.startswith("booster__")}


@pytest.mark.parametrize("space", [SPACE, REGRESSION], ids=lambda space: space.task)
def test_domains(space):
    found = {}
    for name, h in space.configspace.items():
        if hasattr(h, "choices"):
            found[name] = [h.default_value, *(c for c in h.choices if c != h.default_value)]
        else:
            found[name] = (h.lower, h.upper, h.default_value, *["log"] * h.log)
    assert found.pop("algorithm") == list(LEARNERS)
    criterion = "criterion" if space is REGRESSION else None
    assert found == {k: v for k, v in DOMAINS.items() if k.split(":")[1] != criterion}


@pytest.mark.parametrize(
    ("learners", "name"),
    [(LEARNERS, name) for name in DOMAINS]
    + [(REGRESSORS, name) for name in DOMAINS if not name.endswith("criterion")],
)
def test_every_hyperparameter_reaches_its_learner(learners, name):
    learner, short = learners[name.split(":")[0]], name.split(":")[1]
    ends = [parameters(learner, defaults(learner, **{short: v})) for v in DOMAINS[name][:2]]
    changed = {key for key in ends[0] if ends[0][key] != ends[1][key]}
    assert len(changed) == 1


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_give_probabilities_of_all_classes_and_write_nothing(
    name, monkeypatch, tmp_path, capfd
):
    """One class has a single row, labels do not start at 0, nothing is deprecated."""
    monkeypatch.setattr(autogluon, "TREES", 60)
    monkeypatch.chdir(tmp_path)
    X, y = load_wine(return_X_y=True)
    X, y = np.vstack([X, 1.5 * X[:1]]), np.append(y + 5, 9)
    fitted, tested = np.append(np.arange(0, 178, 2), 178), np.arange(1, 178, 2)
    values = defaults(LEARNERS[name], **({"learning_rate": 0.2} if name in BOOSTERS else {}))
    given = {"algorithm": name, **{f"{name}:{k}": v for k, v in values.items()}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = SPACE.pipeline(given, np.zeros(13, bool), 1).fit(X[fitted], y[fitted])
        probabilities = pipeline.predict_proba(X[tested])
    assert pipeline.classes_.tolist() == [5, 6, 7, 9]
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    assert np.mean(pipeline.classes_[probabilities.argmax(axis=1)] == y[tested]) > 0.85
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_predict_the_same_with_any_number_of_threads_and_write_nothing(
    name, monkeypatch, tmp_path, capfd
):
    monkeypatch.setattr(autogluon, "TREES", 60)
    monkeypatch.chdir(tmp_path)
    X, y = make_friedman1(400, 8, noise=1.0, random_state=0)
    y = (y - y.mean()) / y.std()
    values = defaults(REGRESSORS[name], **({"learning_rate": 0.2} if name in BOOSTERS else {}))
    given = {"algorithm": name, **{f"{name}:{k}": v for k, v in values.items()}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (
            REGRESSION.pipeline(given, np.zeros(8, bool), n).fit(X[::2], y[::2]).predict(X[1::2])
            for n in (1, 2)
        )
    assert (one.shape, one.dtype) == ((200,), np.float64)
    assert one.tobytes() == two.tobytes()
    assert np.mean((one - y[1::2]) ** 2) < 0.5
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


BOOSTERS = ("lightgbm", "xgboost", "catboost")


@pytest.mark.parametrize("learners", [LEARNERS, REGRESSORS], ids=["classification", "regression"])
@pytest.mark.parametrize("name", BOOSTERS)
def test_boosters_stop_on_noise_and_keep_the_best_trees(learners, name):
    X, y = make_classification(300, 4, flip_y=0.6, random_state=0)
    values = defaults(learners[name], learning_rate=0.2)
    model = learners[name].build(values, Data(X, y, np.zeros(4, bool))).fit(X, y)
    booster = model.booster
    kept = {
        "lightgbm": lambda: booster.best_iteration_,
        "xgboost": lambda: booster.best_iteration + 1,
        "catboost": lambda: booster.tree_count_,
    }[name]()
    assert 1 <= kept < 100
    limit = {"lightgbm": "num_iteration", "xgboost": "iteration_range", "catboost": "ntree_end"}
    for trees, same in ((kept, True), (max(1, kept // 2), False)):
        end = {limit[name]: (0, trees) if name == "xgboost" else trees}
        method = "predict" if learners is REGRESSORS else "predict_proba"
        predicted = getattr(booster, method)(X, **end)
        assert np.array_equal(getattr(model, method)(X), predicted) == (same or trees == kept)


class Recorder:
    """A booster that remembers what it is given."""

    def fit(self, X, y, **arguments):
        self.fitted, self.labels, self.arguments = X, y, arguments


def test_boosters_stop_by_training_rows_that_they_are_not_fitted_to():
    X, y = np.arange(30.0)[:, None], np.repeat([4, 2, 8], [20, 9, 1])
    booster = Recorder()
    EarlyStopping(booster, autogluon.xgboost_rows).fit(X, y)
    ((held, labels),) = booster.arguments["eval_set"]
    rows = np.concatenate([held, booster.fitted]).ravel()
    assert sorted(rows) == X.ravel().tolist()
    codes = np.concatenate([labels, booster.labels])
    assert np.array_equal(np.array([2, 4, 8])[codes], y[rows.astype(int)])
    assert sorted(labels.tolist()) == [0, 1, 1], "2 of 20 rows, 1 of 9, and not the only one"
    with pytest.raises(ValueError, match="no class has a row to spare"):
        EarlyStopping(booster, autogluon.xgboost_rows).fit(X[:2], [0, 1])


def test_regressors_stop_by_a_tenth_of_the_training_rows():
    X, y = np.arange(30.0)[:, None], np.linspace(-1, 1, 30)
    booster = Recorder()
    EarlyStopping(booster, autogluon.xgboost_rows, regression=True).fit(X, y)
    ((held, targets),) = booster.arguments["eval_set"]
    assert len(held) == 3
    rows = np.concatenate([held, booster.fitted]).ravel()
    assert sorted(rows) == X.ravel().tolist()
    assert np.array_equal(np.concatenate([targets, booster.labels]), y[rows.astype(int)])


def test_held_out_rows_depend_on_the_labels_alone():
    codes = np.arange(200) % 2
    assert np.array_equal(held_out(codes), held_out(codes))
    assert held_out(codes).sum() == 20


def test_versions_of_the_libraries_are_those_of_a_space_that_uses_them():
    assert SPACE.libraries == ("catboost", "xgboost")
    made = provenance.versions(SPACE.libraries)
    assert (made["catboost"], made["xgboost"]) == (version("catboost"), version("xgboost-cpu"))
    assert not {"catboost", "xgboost"} & set(provenance.versions())
