"""Fitted pipelines as files: what is read back predicts the same, and forged files are refused."""

import importlib
import json
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ensemble_search.predictor import members
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from support.fitted_pipelines import pipeline, predictions

X, Y = load_iris(return_X_y=True)
X = np.hstack([X, Y[:, None] > 0])
CATEGORICAL = np.array([False] * 4 + [True])
TARGET = X[:, 3] + np.random.default_rng(0).normal(size=len(X)) / 9


def every_operator(space):
    """Configurations that have every choice of a space at least once."""
    rng, seen = np.random.default_rng(0), set()
    for configuration in space.sample(300, rng):
        chosen = {(k, v) for k, v in configuration.items() if ":" not in k and isinstance(v, str)}
        if not chosen <= seen:
            seen |= chosen
            yield dict(configuration)


def test_every_operator_of_divbo_is_stored(tmp_path):
    """The learners that take long have few trees."""
    left = {}
    for task, y in (("classification", Y), ("regression", TARGET)):
        space = plugins.load("spaces", "divbo")().for_task(task)
        for number, values in enumerate(every_operator(space)):
            quick = {k: 5 for k in values if k.endswith(("n_estimators", "n_components"))}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    made = space.pipeline(values | quick, CATEGORICAL, 1).fit(X[::2].copy(), y[::2])
                except Exception:  # not every pipeline suits these data
                    continue
            folder = tmp_path / f"{task}-{number}"
            members.save(made, folder)
            again = members.load(folder)
            np.testing.assert_array_equal(predictions(again, X), predictions(made, X), str(values))
            left.setdefault(task, set()).update(values[k] for k in ("algorithm", "preprocessor"))
    for task, found in left.items():
        space = plugins.load("spaces", "divbo")().for_task(task)
        stages = space.stages["algorithm"] + space.stages["preprocessor"]
        assert {operator.name for operator in stages} == found, task


@pytest.mark.parametrize("name", ["xgboost", "catboost", "lightgbm"])
@pytest.mark.parametrize(
    ("task", "y"), [("classification", Y), ("two", Y > 0), ("regression", TARGET)]
)
def test_boosters_that_stopped_early_are_stored_in_their_own_format(name, task, y, tmp_path):
    module = "autogluon_regressors" if task == "regression" else "autogluon"
    operators = importlib.import_module(f"ensemble_search.learners.{module}")
    operator = getattr(operators, name)
    from ensemble_search.learners.operators import Data

    values = {h.name: h.default_value for h in operator.hyperparameters}
    values["learning_rate"] = 0.2
    y = y if task == "regression" else y.astype(int)
    learner = operator.build(values, Data(X, y, CATEGORICAL, 1)).fit(X, y)
    made = pipeline(learner)
    members.save(made, tmp_path)
    files = {"xgboost": "learner.json", "catboost": "learner.cbm", "lightgbm": "learner.txt"}
    assert (tmp_path / files[name]).is_file()
    np.testing.assert_array_equal(predictions(members.load(tmp_path), X), predictions(made, X))


def test_the_same_pipeline_has_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        members.save(pipeline(DecisionTreeClassifier(random_state=1).fit(X, Y)), tmp_path / name)
    first, second = (tmp_path / name / members.PIPELINE for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


class Surprise:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return print, ("attacked",)


def test_an_unknown_type_is_not_stored(tmp_path):
    learner = DecisionTreeClassifier().fit(X, Y)
    learner.extra = Surprise
    with pytest.raises(UserError, match="not known to be safe to load"):
        members.save(pipeline(learner), tmp_path)


@pytest.fixture
def stored(tmp_path):
    members.save(pipeline(DecisionTreeClassifier(max_depth=2).fit(X, Y)), tmp_path / "m")
    return tmp_path / "m"


def rewrite(folder, change) -> None:
    """Change the schema of a skops file."""
    path = folder / members.PIPELINE
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content["schema.json"] = change(content["schema.json"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def test_forged_files_are_refused_and_nothing_runs(stored, capsys):
    attacks = {
        "another class": lambda s: s.replace(b"DecisionTreeClassifier", b"SystemExit"),
        "a shell": lambda s: s.replace(b'"sklearn.tree._classes"', b'"subprocess"').replace(
            b'"DecisionTreeClassifier"', b'"Popen"'
        ),
        "a function": lambda s: s.replace(b'"sklearn.tree._classes"', b'"os"').replace(
            b'"DecisionTreeClassifier"', b'"system"'
        ),
        "no schema": lambda s: b"{}",
        "another loader": lambda s: s.replace(b'"ObjectNode"', b'"JsonNode"'),
        "no JSON": lambda s: s[:-7],
    }
    whole = (stored / members.PIPELINE).read_bytes()
    for name, attack in attacks.items():
        rewrite(stored, attack)
        assert (stored / members.PIPELINE).read_bytes() != whole, name
        with pytest.raises(UserError) as error:
            members.load(stored)
        assert "\n" not in str(error.value), name
        (stored / members.PIPELINE).write_bytes(whole)
    for content in (pickle.dumps(Surprise()), b"", whole[: len(whole) // 2], b"PK\3\4" + bytes(99)):
        (stored / members.PIPELINE).write_bytes(content)
        with pytest.raises(UserError, match="cannot read"):
            members.load(stored)
    assert "attacked" not in capsys.readouterr().out


def _tree(column, row, value):
    def forge(fitted):
        state = fitted.learner_.tree_.__getstate__()
        state["nodes"][column][row] = value
        fitted.learner_.tree_.__setstate__(state)

    return forge


@pytest.mark.parametrize(
    "forge",
    [
        _tree("left_child", 0, 10**6),
        _tree("right_child", 0, -7),
        _tree("left_child", 0, 0),  # a circle
        _tree("feature", 0, 99),
        _tree("feature", 0, -5),
    ],
)
def test_trees_that_would_read_outside_of_their_arrays_are_refused(forge, tmp_path):
    fitted = pipeline(DecisionTreeClassifier(max_depth=2).fit(X, Y))
    forge(fitted)
    members.save(fitted, tmp_path)
    with pytest.raises(UserError, match="nodes or features that are not there"):
        members.load(tmp_path)


def test_machines_that_would_read_outside_of_their_arrays_are_refused(tmp_path):
    for number, name in enumerate(("_dual_coef_", "_intercept_", "support_vectors_", "_n_support")):
        learner = SVC().fit(X, Y)
        setattr(learner, name, getattr(learner, name)[:1])
        members.save(pipeline(learner), tmp_path / str(number))
        with pytest.raises(UserError, match="vectors that are not there"):
            members.load(tmp_path / str(number))
    members.save(pipeline(SVC().fit(X, Y)), tmp_path / "fine")
    members.load(tmp_path / "fine")


def test_neighbours_that_are_not_there_are_refused(tmp_path):
    learner = KNeighborsClassifier(algorithm="kd_tree").fit(X, Y)
    members.save(pipeline(learner), tmp_path / "fine")
    members.load(tmp_path / "fine")
    state = list(learner._tree.__getstate__())
    state[1] = np.asarray(state[1]) + 10**6
    learner._tree.__setstate__(tuple(state))
    members.save(pipeline(learner), tmp_path / "forged")
    with pytest.raises(UserError, match="rows or nodes that are not there"):
        members.load(tmp_path / "forged")


@pytest.mark.parametrize(
    "described",
    [{}, {"transformers": ["t"], "booster": None},
     {"transformers": [], "booster": {"library": "os"}},
     {"transformers": [], "booster": {"library": "lightgbm", "classes": ["a"]}},
     {"transformers": [], "booster": {"library": "lightgbm", "classes": [0, 1]}}],
)  # fmt: skip
def test_a_forged_description_is_refused(stored, described):
    (stored / members.MEMBER).write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(UserError, match="cannot read"):
        members.load(stored)
