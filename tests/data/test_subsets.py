"""Parts of the training rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from ensemble_search.data import normalise, prepare
from ensemble_search.data.sources import Raw
from ensemble_search.data.subsets import choose, fourier_features
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model

pytestmark = pytest.mark.slow

CLASSES = np.array(["common", "rare"])


def data(n=200, seed=0):
    """Two columns; one row in five is of the second class."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n) % 5 == 0, 1, 0)
    return rng.normal(size=(n, 2)) * [1, 50], labels


def k_dpp(**settings):
    return {"share": 0.2, "by": "k-dpp", **settings}


ALL = [
    {"share": 0.2, "by": "uniform"},
    {"share": 0.2, "by": "stratified"},
    k_dpp(kernel="features"),
    k_dpp(kernel="product"),
]


@pytest.mark.parametrize("settings", ALL, ids=str)
def test_so_many_different_rows(settings):
    X, labels = data()
    rows = choose(X, labels, CLASSES, settings, 1)
    assert len(set(rows.tolist())) == len(rows) == round(settings["share"] * 200)
    assert rows.tolist() == choose(X, labels, CLASSES, settings, 1).tolist()
    assert rows.tolist() != choose(X, labels, CLASSES, settings, 2).tolist()
    assert rows.tolist() != sorted(rows)


@pytest.mark.parametrize("kernel", ["features", "product"])
def test_near_rows_repel_each_other(kernel):
    X, labels = data()
    distances = squareform(pdist((X - X.mean(axis=0)) / X.std(axis=0)))

    def nearest(settings):
        """Mean distance to the nearest chosen row (of the own class)."""
        means = []
        for seed in range(6):
            rows = choose(X, labels, CLASSES, settings, seed)
            part = distances[np.ix_(rows, rows)] + 1e9 * np.eye(len(rows))
            if kernel == "product":
                part = part + 1e9 * (labels[rows][:, None] != labels[rows])
            means.append(np.median(part.min(axis=1)))
        return np.mean(means)

    assert nearest(k_dpp(kernel=kernel)) > 1.1 * nearest({"share": 0.2, "by": "uniform"})


def test_fourier_features_approximate_the_kernel():
    X, _ = data(60)
    features = np.concatenate(
        [fourier_features(X, np.random.default_rng(s)) for s in range(30)], axis=1
    ) / np.sqrt(30)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    distances = pdist(scaled)
    expected = np.exp(-0.5 * squareform(distances / np.median(distances)) ** 2)
    assert features @ features.T == pytest.approx(expected, abs=0.06)
    assert np.linalg.norm(features, axis=1) == pytest.approx(np.ones(60))
    constant = np.ones((5, 2))
    assert np.isfinite(fourier_features(constant, np.random.default_rng(0))).all()


def test_a_split_with_a_part_of_its_training_rows():
    """The other rows, and the columns, stay the same."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice(list("abc"), 300)})
    frame["y"] = rng.choice(["no", "yes"], 300, p=[0.8, 0.2])
    frame, described = normalise.normalise(Raw(frame, "y", "set", {"sklearn": "set"}))
    whole = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    all_rows, labels, _ = prepare.make_split(frame, described, whole)
    part, test_labels, about = prepare.make_split(
        frame, described, {**whole, "train_rows": k_dpp(share=0.3)}
    )
    assert about["sizes"] == {"train": 54, "validation": 60, "test": 60}
    assert sum(about["classes"]["train"].values()) == 54
    for name in ("X_validation", "X_test", "y_validation", "features", "categorical"):
        assert np.array_equal(getattr(part, name), getattr(all_rows, name))
    assert np.array_equal(labels, test_labels)
    known = {(*row, y) for row, y in zip(all_rows.X_train.tolist(), all_rows.y_train, strict=True)}
    assert {(*row, y) for row, y in zip(part.X_train.tolist(), part.y_train, strict=True)} < known
    folds = {"folds": 3, "test": 0.2, "seed": 1, "train_rows": {"share": 0.5, "by": "stratified"}}
    inputs, _, about = prepare.make_split(frame, described, folds)
    assert about["sizes"] == {"train": 120, "validation": 120, "test": 60}
    assert np.array_equal(inputs.X_train, inputs.X_validation)
    assert len(inputs.folds) == 120


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 0.005, "by": "uniform"}, "share: 0.005 of the training rows, 1, leave class"),
    ],
)
def test_parts_that_cannot_be(settings, message):
    X, labels = data()
    with pytest.raises(UserError, match=rf"^train_rows.*{message}") as caught:
        choose(X, labels, CLASSES, settings, 1)
    assert "\n" not in str(caught.value)


def test_folds_need_two_rows_of_a_class():
    """The only row of a class would be predicted by models that have not seen the class."""
    X, labels = data()
    rare = {"share": 0.01, "by": "stratified"}
    assert np.bincount(labels[choose(X, labels, CLASSES, rare, 1)]).tolist() == [1, 1]
    with pytest.raises(UserError, match=r"01 of the training rows, 2, are fewer than split\.folds"):
        choose(X, labels, CLASSES, rare, 1, folds=3)
    rare["share"] = 0.015
    message = (
        "015 of the training rows, 3, leave class '.*' with one, and folds need two; raise it$"
    )
    with pytest.raises(UserError, match=message):
        choose(X, labels, CLASSES, rare, 1, folds=3)


def test_a_regression_has_features_only():
    X, _ = data()
    numbers, none = X[:, 0], np.empty(0, dtype=str)
    assert len(choose(X, numbers, none, k_dpp(), 1)) == 40
    uniform = choose(X, numbers, none, {"share": 0.2, "by": "uniform"}, 1)
    stratified = choose(X, numbers, none, {"share": 0.2, "by": "stratified"}, 1)
    assert len(uniform) == 40 and stratified.tolist() == uniform.tolist()
    with pytest.raises(UserError, match="'product' needs classes, and this is a regression"):
        choose(X, numbers, none, k_dpp(kernel="product"), 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 1.0}, r"split\.train_rows\.share: input should be less than 1"),
        ({"share": 0}, r"split\.train_rows\.share"),
        ({}, r"split\.train_rows\.share"),
        ({"share": 0.5, "by": "diverse"}, r"train_rows\.by"),
        ({"share": 0.5, "kernel": "product"}, "'kernel' is a setting of by: k-dpp; remove it"),
        ({**k_dpp(), "kernel": "cells"}, r"train_rows\.kernel: .*'features' or 'product'"),
        ({**k_dpp(), "alpha": 0.9}, r"split\.train_rows\.alpha: unknown key"),
        (
            {**k_dpp(kernel="product"), "metric": "squared-error"},
            r"study: split\.train_rows\.kernel: 'product' needs classes, .* take features",
        ),
    ],
)
def test_bad_settings(settings, message):
    content = {
        "study": "s",
        "metric": settings.pop("metric", "error"),
        "split": {"train_rows": settings},
        "datasets": {"digits": {"sklearn": "digits"}},
        "searches": {"a": {"optimizer": "random"}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"A": {"search": "a", "ensemble": "best"}},
    }
    with pytest.raises(UserError, match=message) as caught:
        model.check(content)
    assert "\n" not in str(caught.value)
