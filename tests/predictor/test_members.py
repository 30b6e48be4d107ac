"""Fitted pipelines as files: what is read back predicts the same."""

import importlib
import io
import json
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

from ensemble_search.learners.operators import Data
from ensemble_search.predictor import ensemble, members, stored
from ensemble_search.predictor.fields import Fields
from ensemble_search.predictor.transformers import Groups
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from support.fitted_pipelines import pipeline, predictions

pytestmark = pytest.mark.slow

X, Y = load_iris(return_X_y=True)
X = np.hstack([X, Y[:, None] > 0])
CATEGORICAL = np.array([False] * 4 + [True])
TARGET = X[:, 3] + np.random.default_rng(0).normal(size=len(X)) / 9


def again(fitted, folder: Path, width: int = X.shape[1], n_classes: int | None = 3):
    """Store and load."""
    members.save(fitted, folder)
    return stored.load(folder, width, n_classes if hasattr(fitted, "classes_") else None)


def configurations(space):
    """Some that have every choice of a space at least once."""
    rng, seen = np.random.default_rng(0), set()
    for configuration in space.sample(300, rng):
        names = [k for k in configuration if isinstance(configuration[k], str) or "whiten" in k]
        chosen = {(k, configuration[k]) for k in names}
        if not chosen <= seen:
            seen |= chosen
            yield dict(configuration)


def data(kind):
    """Rows with two binary columns."""
    A, y = (load_breast_cancer if kind == "two classes" else load_iris)(return_X_y=True)
    A = np.hstack([A, np.random.default_rng(0).integers(0, 2, (len(A), 2))])
    if kind == "regression":
        y, A = (A[:, 0] - A[:, 0].mean()) / A[:, 0].std(), A[:, 1:]
    return A, y, np.arange(A.shape[1]) >= A.shape[1] - 2


@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression"])
@pytest.mark.parametrize("name", ["tabular", "boasf"])
def test_every_operator_is_stored_and_predicts_the_same(name, kind, tmp_path):
    """To 1e-9; XGBoost's sums and exponentials are of single precision. Few trees are quick."""
    task = "regression" if kind == "regression" else "classification"
    kinds = plugins.load("spaces", name)
    if task not in kinds.tasks:
        return
    space, (A, y, categorical), left = kinds().for_task(task), data(kind), set()
    for number, values in enumerate(configurations(space)):
        quick = {k: 5 for k in values if k.endswith(("n_estimators", "n_components"))}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = space.pipeline(values | quick, categorical, 1).fit(A[::3].copy(), y[::3])
                expected = predictions(made, A)
            except Exception:  # not every pipeline suits these data
                continue
        found = again(made, tmp_path / str(number), A.shape[1], y.max() + 1)
        near = 2e-7 if values["algorithm"] == "xgboost" else 1e-9
        np.testing.assert_allclose(predictions(found, A), expected, 0, near, err_msg=str(values))
        left.update(values[stage] for stage in space.stages)
    assert {operator.name for stage in space.stages.values() for operator in stage} == left


@pytest.mark.parametrize(
    "name",
    ["mlp", "neural-hard", "svm", "svr", "gradient-boosting", "logistic-regression-hpo"],
)
def test_spaces_of_one_learner_are_stored(name, tmp_path):
    kinds = plugins.load("spaces", name)
    for task in kinds.tasks:
        space, y = kinds().for_task(task), Y if task == "classification" else TARGET
        values = dict(space.sample(1, np.random.default_rng(1))[0]) | {"learning_rate": 0.01}
        values = {k: v for k, v in values.items() if k in space.configspace}
        made = space.pipeline(values, CATEGORICAL, 1).fit(X[::2], y[::2])
        found = again(made, tmp_path / task)
        np.testing.assert_allclose(predictions(found, X), predictions(made, X), 0, 1e-9)


@pytest.mark.parametrize("name", ["xgboost", "catboost", "lightgbm"])
@pytest.mark.parametrize("task", ["classification", "two", "regression"])
def test_boosters_that_stopped_early_keep_the_best_trees(name, task, tmp_path):
    module = "autogluon_regressors" if task == "regression" else "autogluon"
    operator = getattr(importlib.import_module(f"ensemble_search.learners.{module}"), name)
    values = {h.name: h.default_value for h in operator.hyperparameters} | {"learning_rate": 0.2}
    y = {"regression": TARGET, "two": (Y > 1).astype(int), "classification": Y}[task]
    made = operator.build(values, Data(X, y, CATEGORICAL, 1))
    key = "iterations" if name == "catboost" else "n_estimators"
    made.booster.set_params(**{key: 60})
    fitted = pipeline(made.fit(X, y))
    found = again(fitted, tmp_path, n_classes=3 if task == "classification" else 2)
    near = 2e-7 if name == "xgboost" else 1e-12
    np.testing.assert_allclose(predictions(found, X), predictions(fitted, X), 0, near)
    if name == "lightgbm":
        scores = made.booster.predict(X, raw_score=True)
        np.testing.assert_array_equal(found.learner(X), scores.reshape(len(X), -1))
        # Of classes the exponentials are numpy's, not the C library's: the last bit may differ,
        # twice in a ratio, and in its rounding.
        near = 0 if task == "regression" else 4 * np.finfo(float).eps
        np.testing.assert_allclose(predictions(found, X), predictions(fitted, X), near, 0)


def on_thresholds(trees, rng):
    """Rows whose values are thresholds, and the numbers next to them in both precisions."""
    inner = trees.inner
    rows = rng.normal(size=(400, trees.width))
    for column in range(trees.width):
        own = trees.threshold[inner & (trees.feature == column)]
        if len(own):
            single = own.astype(np.float32)
            near = np.concatenate([
                own, np.nextafter(own, -np.inf), np.nextafter(own, np.inf),
                np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf)),
            ])  # fmt: skip
            rows[:, column] = rng.choice(near, 400)
    return rows


@pytest.mark.parametrize("make", [
    lambda: LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
    lambda: XGBClassifier(n_estimators=5, n_jobs=1),
    lambda: RandomForestClassifier(5, random_state=0),
    lambda: GradientBoostingClassifier(n_estimators=5),
])  # fmt: skip
def test_rows_on_thresholds_go_to_the_side_that_the_library_takes(make, tmp_path):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 3)) * [1, 1e-3, 1e6]
    made = pipeline(make().fit(A, (A[:, 0] + 1e3 * A[:, 1] + 1e-6 * A[:, 2] > 0).astype(int)))
    found = again(made, tmp_path, 3, 2)
    rows = on_thresholds(found.learner.trees, rng)
    np.testing.assert_allclose(predictions(found, rows), predictions(made, rows), 0, 2e-7)


def test_what_a_sum_of_trees_cannot_say_is_rejected(tmp_path):
    """Categories, zeros as missing values, linear leaves, averages, other objectives."""
    A, y = np.abs(np.round(X * 3)), (Y > 0).astype(int)
    quiet = {"n_estimators": 3, "verbose": -1, "min_child_samples": 2, "n_jobs": 1}
    bad = [
        LGBMClassifier(**quiet, min_data_per_group=1, cat_smooth=0).fit(
            A, y, categorical_feature=[0, 1, 2, 3, 4]
        ),
        LGBMClassifier(**quiet, zero_as_missing=True).fit(A - 12, y),
        LGBMClassifier(**quiet, linear_tree=True).fit(A, y),
        LGBMClassifier(**quiet, boosting_type="rf", subsample=0.5, subsample_freq=1).fit(A, y),
        LGBMClassifier(**quiet, sigmoid=2).fit(A, y),
        LGBMRegressor(**quiet, objective="poisson").fit(A, y),
        XGBRegressor(n_estimators=3, objective="count:poisson").fit(A, y),
        XGBClassifier(n_estimators=3, booster="gblinear").fit(A, y),
    ]
    for number, learner in enumerate(bad):
        with pytest.raises(UserError, match="cannot be delivered: a booster "):
            members.save(pipeline(learner), tmp_path / str(number))


@pytest.mark.parametrize(
    "learner", [KMeans(2, n_init=1), SVC(kernel="linear"), type("Own", (SVC,), {})()]
)
def test_what_no_space_has_is_not_stored(learner, tmp_path):
    with pytest.raises(UserError, match=r"cannot be delivered: there is no way to store a "):
        members.save(pipeline(learner.fit(X, Y)), tmp_path)


def test_the_same_pipeline_has_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        members.save(pipeline(DecisionTreeClassifier(random_state=1).fit(X, Y)), tmp_path / name)
    for file in (stored.MEMBER, stored.ARRAYS):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_rows_are_taken_in_parts_of_what_fits_into_memory(tmp_path, monkeypatch):
    made = pipeline(RandomForestClassifier(20, random_state=0).fit(X, Y))
    whole = predictions(again(made, tmp_path), X)
    monkeypatch.setattr(stored, "ENTRIES", 70)  # three rows
    found = stored.load(tmp_path, X.shape[1], 3)
    assert found.rows == 3
    np.testing.assert_array_equal(predictions(found, X), whole)


def test_what_is_in_between_needs_a_gigabyte(monkeypatch):
    scale = stored.ENTRIES // 2**16
    monkeypatch.setattr(stored, "ENTRIES", 2**16)
    width = 2**12
    arrays = {
        "t0.columns": np.zeros(width, int),
        "t1.factor": np.ones(width), "t1.offset": np.ones(width),
        "learner.weights": np.zeros((width, 3)), "learner.offset": np.zeros(3),
        "learner.classes": np.arange(3),
    }  # fmt: skip
    kinds = {"transformers": [{"kind": "columns"}, {"kind": "stretch"}],
             "learner": {"kind": "linear", "link": "softmax"}}  # fmt: skip
    found = stored.StoredPipeline(kinds, arrays, X.shape[1], 3)
    tracemalloc.start()
    found.predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak * scale <= 2**30


@pytest.mark.parametrize("pool", ["mean", "median", "max"])
def test_groups_of_columns_are_found_once(pool):
    labels = np.random.default_rng(0).permutation(np.arange(300) % 40)
    fields = Fields("t0", {"pool": pool}, {"t0.labels": labels})
    found = Groups(fields, len(labels))
    found.labels = found.labels.view(_Counted)
    rows = np.random.default_rng(1).normal(size=(5, len(labels)))
    reduce = {"mean": np.mean, "median": np.median, "max": np.max}[pool]
    expected = np.stack([reduce(rows[:, labels == group], axis=1) for group in range(40)], axis=1)
    np.testing.assert_allclose(found(rows), expected, rtol=1e-12)
    assert _Counted.compared == 0, "each group looks at all columns"


class _Counted(np.ndarray):
    """Counts comparisons of all its numbers with one."""

    compared = 0

    def __eq__(self, other):
        _Counted.compared += 1
        return np.asarray(self) == other

    __hash__ = None


def test_numbers_that_are_not_finite_are_no_prediction(tmp_path):
    found = again(pipeline(LogisticRegression().fit(X, Y)), tmp_path)
    with pytest.raises(ValueError, match="not finite"):
        found.predict_proba(np.full((1, 5), np.nan))
    found = again(pipeline(DecisionTreeClassifier().fit(X, Y)), tmp_path / "tree")
    with pytest.raises(ValueError, match="too large for single precision"):
        found.predict_proba(np.full((1, 5), 1e300))


@pytest.fixture
def tree(tmp_path):
    """The folder, settings and arrays of a stored tree of three leaves."""
    members.save(pipeline(DecisionTreeClassifier(max_depth=2).fit(X, Y)), tmp_path)
    described = json.loads((tmp_path / stored.MEMBER).read_text(encoding="utf-8"))
    with np.load(tmp_path / stored.ARRAYS) as arrays:
        return tmp_path, described, dict(arrays)


def load(tree):
    folder, described, arrays = tree
    (folder / stored.MEMBER).write_text(json.dumps(described), encoding="utf-8")
    np.savez(folder / stored.ARRAYS, **arrays)
    return stored.load(folder, X.shape[1], 3)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("feature", lambda a: a + 10**8, "outside of -1 to 4"),
        ("feature", lambda a: np.full_like(a, -1), "do not fit|shape"),
        ("feature", np.zeros_like, "do not fit|shape"),
        ("feature", lambda a: a[::-1], "do not fit together"),  # children before parents
        ("feature", lambda a: a.astype(float), "no numbers 'learner.feature'"),
        ("sizes", lambda a: a + 1, "shape"),
        ("sizes", lambda a: a * 0, "outside of 1"),
        ("sizes", lambda a: -a, "outside of 1"),
        ("threshold", lambda a: a * np.nan, "outside of"),
        ("threshold", lambda a: a + np.inf, "outside of"),
        ("threshold", lambda a: a[:-1], "shape"),
        ("value", lambda a: a[:, :2], "shape"),
        ("value", lambda a: a.astype("U9"), "no numbers"),
        ("value", lambda a: a.astype(complex), "no numbers"),
        ("start", lambda a: a[:1], "shape"),
        ("classes", lambda a: a + 1, "outside of 0 to 2"),
        ("classes", lambda a: a[::-1], "in order"),
        ("classes", lambda a: a[:1], "at least two"),
        ("classes", lambda a: a[:2], "shape"),
    ],
)
def test_arrays_that_do_not_fit_are_rejected(tree, name, change, says):
    load(tree)
    arrays = tree[2]
    arrays[f"learner.{name}"] = change(arrays[f"learner.{name}"])
    with pytest.raises(UserError, match=says):
        load(tree)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "sklearn.cluster.KMeans"),
        ("kind", ["tree sum"]),
        ("link", "exec"),
        ("link", "logistic"),  # two classes only
        ("divisor", 0),
        ("divisor", "nan"),
        ("divisor", True),
        ("single", 1),
    ],
)
def test_settings_that_no_part_has_are_rejected(tree, key, value):
    tree[1]["learner"][key] = value
    with pytest.raises(UserError, match=r"learner|link"):
        load(tree)


def test_a_file_holds_its_arrays_only(tree):
    folder, described, arrays = tree
    for change in ({"transformers": None}, {"transformers": [{"kind": "unit"}] * 21},
                   {"transformers": ["unit"]}, {"learner": "tree sum"}):  # fmt: skip
        with pytest.raises(UserError, match="cannot read"):
            load((folder, described | change, arrays))
    with pytest.raises(UserError, match="'more', which no part has"):
        load((folder, described, arrays | {"more": np.zeros(2)}))
    np.savez_compressed(folder / stored.ARRAYS, **arrays | {"more": np.zeros(10**6)})  # a zip bomb
    with pytest.raises(UserError, match="its arrays are larger than the file"):
        stored.load(folder, X.shape[1], 3)
    np.savez_compressed(folder / stored.ARRAYS, **arrays)
    with pytest.raises(UserError, match=r"its arrays are compressed|larger than the file"):
        stored.load(folder, X.shape[1], 3)
    np.savez(folder / stored.ARRAYS, **arrays)
    with zipfile.ZipFile(folder / stored.ARRAYS, "a") as archive:
        first = archive.namelist()[0]
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(first, archive.read(first))
    with pytest.raises(UserError, match="an array is in it twice"):
        stored.load(folder, X.shape[1], 3)
    np.savez(folder / stored.ARRAYS, **arrays | {"more": np.array([print])})
    with pytest.raises(UserError, match="cannot read"):
        stored.load(folder, X.shape[1], 3)


def _in_directory(offset, form, value):
    def change(content):
        content = bytearray(content)
        struct.pack_into(form, content, content.index(b"PK\1\2") + offset, value)
        return bytes(content)

    return change


def _at_start(offset, form, value):
    def change(content):
        content = bytearray(content)
        struct.pack_into(form, content, offset, value)
        return bytes(content)

    return change


@pytest.mark.parametrize(
    "change",
    [
        _in_directory(20, "<I", 10**6),  # the compressed size
        _in_directory(20, "<I", 1),
        _in_directory(8, "<H", 8),  # flags
        _in_directory(42, "<I", 4),  # where the entry is
        _at_start(14, "<I", 7),  # the checksum beside the entry itself
        _at_start(18, "<I", 7),  # and its size
        _at_start(8, "<H", 8),  # compressed
        _at_start(30, "<B", 65),  # its name
        lambda content: b"#!/bin/sh\n" + content,
        lambda content: content + b"more",
        lambda content: content[:-2] + b"\4\0more",  # a comment
        lambda content: b"",
    ],
)
def test_an_archive_is_what_its_directory_says(tree, change):
    """Of entries that are not compressed, readers ignore most of what the directory says."""
    load(tree)
    file = tree[0] / stored.ARRAYS
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(UserError, match="cannot read"):
        stored.load(tree[0], X.shape[1], 3)


def test_an_array_is_no_longer_than_its_header_says(tree):
    load(tree)
    with zipfile.ZipFile(tree[0] / stored.ARRAYS, "w") as archive:
        for name, array in tree[2].items():
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(f"{name}.npy", content.getvalue() + b"more")
    with pytest.raises(UserError, match="continues after the"):
        stored.load(tree[0], X.shape[1], 3)


def test_a_huge_description_is_not_read(tree):
    load(tree)
    with (tree[0] / stored.MEMBER).open("ab") as file:
        file.truncate(2**40)
    with pytest.raises(UserError, match="it has more than 1 MiB"):
        stored.load(tree[0], X.shape[1], 3)


def test_probabilities_are_not_negative(tree):
    tree[2]["learner.value"] *= -1  # with sum 1 after the division by their sum
    with pytest.raises(ValueError, match="below 0"):
        load(tree).predict_proba(X)


def test_deep_trees_are_rejected(tree):
    """A chain of 10 000 nodes would take as many steps for every row."""
    folder, described, arrays = tree
    n = 10_000
    arrays["learner.sizes"] = np.array([2 * n + 1])
    arrays["learner.feature"] = np.array([0, *[-1, 0] * (n - 1), -1, -1])  # level by level
    arrays["learner.threshold"] = np.zeros(n)
    arrays["learner.value"] = np.ones((n + 1, 3))
    with pytest.raises(UserError, match="more than 2000 levels"):
        load((folder, described, arrays))


def test_more_trees_than_a_model_has_are_rejected(tree):
    """Two million single leaves took half a minute to load."""
    folder, described, arrays = tree
    n = 2**18 + 1
    arrays["learner.sizes"] = np.ones(n, dtype=int)
    arrays["learner.feature"] = np.full(n, -1)
    arrays["learner.threshold"] = np.zeros(0)
    arrays["learner.value"] = np.ones((n, 3))
    with pytest.raises(UserError, match="has 262145 trees, more than 262144"):
        load((folder, described, arrays))


def test_rows_that_a_member_cannot_predict_cost_a_line():
    class Broken:
        def predict(self, X):
            raise ValueError("overflow")

    manifest = {"task": "regression", "members": [{"evaluation": 3}]}
    own = SimpleNamespace(manifest=manifest, members_=[Broken()], _n_outputs=1)
    said = "the member of evaluation 3 cannot .* the training rows: predictions are .*: overflow"
    with pytest.raises(ensemble.InvalidRows, match=f"^{said}$"):
        ensemble.DeliveredRegressor.member_predictions(own, np.zeros((1, 2)))
